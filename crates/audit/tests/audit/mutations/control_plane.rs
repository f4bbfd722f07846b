//! The dataplane generation of 0.7, with one container for mesh-init and health-sync.

pub(super) const TABLE: &str = r#"
[ControlPlane]
consul-mesh-init-missing: consul-ecs-control-plane / = absent
consul-ecs-image: consul-ecs-control-plane / image = "hashicorp/consul:1.15.3"
consul-image-generation: consul-ecs-control-plane / image = "hashicorp/consul-ecs:0.10.1" "hashicorp/consul-ecs:0.6.0"
consul-control-plane-command: consul-ecs-control-plane / command = absent ["mesh-init"]
consul-config-missing: consul-ecs-control-plane / environment = absent
consul-control-plane-health-check: consul-ecs-control-plane / healthCheck = absent
// Without -f, curl succeeds with any answer.
consul-control-plane-health-check: consul-ecs-control-plane / healthCheck.command = ["CMD-SHELL", "curl localhost:10000/consul-ecs/health"]
  or ["CMD-SHELL", "curl -f localhost:10001/consul-ecs/health"]
consul-mesh-init-mounts: consul-ecs-control-plane / mountPoints[consul_data] = absent
consul-mesh-init-mounts: consul-ecs-control-plane / mountPoints[consul_data].readOnly = true
consul-ca-certificates: consul-ecs-control-plane / secrets[CONSUL_HTTPS_CACERT_PEM] = absent
consul-ca-certificates: consul-ecs-control-plane / secrets[CONSUL_GRPC_CACERT_PEM] = absent
// The control plane keeps running: a container that waits for its end never starts.
consul-dataplane-waits-for-control-plane: consul-dataplane / dependsOn = absent
consul-dataplane-waits-for-control-plane: consul-dataplane / dependsOn[consul-ecs-control-plane].condition = "START"
  or "SUCCESS"
// 0.7 has no transparent proxy.
consul-config-version: config.transparentProxy = {"enabled": false}
"#;

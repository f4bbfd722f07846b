//! The controller of consul-ecs.

pub(super) const TABLE: &str = r#"
@acl consul-ecs-controller / image = "hashicorp/consul-ecs:0.6.0"
@acl consul-ecs-controller / secrets = [{"name": "CONSUL_HTTP_TOKEN", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-bootstrap-AbCdEf"}]

[Controller]
consul-ecs-image: consul-ecs-controller / image = "hashicorp/consul:latest"
// A mirror may have any name.
ok: consul-ecs-controller / image = "registry.example.com/mesh/controller:5"
consul-fips-tag: consul-ecs-controller / image = "hashicorp/consul-ecs:0.10.1-fips1402"
// Up to 0.6, the controller has another command.
consul-image-generation: consul-ecs-controller / image = "hashicorp/consul-ecs:0.6.0"
consul-image-generation: consul-ecs-controller / command = ["acl-controller"]
// The ACL controller has flags.
ok: consul-ecs-controller / environment = [{"name": "CONSUL_HTTP_ADDR", "value": "https://consul.example.internal:8501"}]
  given consul-ecs-controller / command = ["acl-controller", "-iam-role-path", "/consul-ecs/"]
  given @acl
consul-controller-settings: consul-ecs-controller / environment = absent [{"name": "CONSUL_HTTP_ADDR", "value": "http://consul.example.internal:8501"}]
  given consul-ecs-controller / command = ["acl-controller"]
  given @acl
consul-controller-settings: consul-ecs-controller / command = ["acl-controller", "-iam-role", "/consul-ecs/"]
  or ["acl-controller", "-partition", "team"] ["acl-controller", "-partitions-enabled=false", "-partition", "team"]
  or ["acl-controller", "-partitions-enabled", "true", "-partition", "team"] ["acl-controller", "-iam-role-path"]
  given consul-ecs-controller / environment = [{"name": "CONSUL_HTTP_ADDR", "value": "https://consul.example.internal:8501"}]
  given @acl
ok: consul-ecs-controller / command = ["acl-controller", "-partition", "team", "-partitions-enabled"] ["acl-controller", "-partition=team", "-partitions-enabled=true"]
  given consul-ecs-controller / environment = [{"name": "CONSUL_HTTP_ADDR", "value": "https://consul.example.internal:8501"}]
  given @acl
consul-controller-settings: consul-ecs-controller / secrets[CONSUL_CACERT_PEM] = {"name": "CONSUL_HTTPS_CACERT_PEM", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-cert-GhIjKl"}
  given consul-ecs-controller / environment = [{"name": "CONSUL_HTTP_ADDR", "value": "https://consul.example.internal:8501"}]
  given consul-ecs-controller / command = ["acl-controller"]
  given @acl
ok: consul-ecs-controller / secrets[CONSUL_CACERT_PEM] = {"name": "CONSUL_CACERT_PEM", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-cert-GhIjKl"}
  given consul-ecs-controller / environment = [{"name": "CONSUL_HTTP_ADDR", "value": "https://consul.example.internal:8501"}]
  given consul-ecs-controller / command = ["acl-controller"]
  given @acl
consul-ecs-entry-point: consul-ecs-controller / entryPoint = ["/bin/bash"] ["/bin/consul_ecs"]
consul-controller-settings: consul-ecs-controller / secrets[CONSUL_HTTP_TOKEN].name = "CONSUL_TOKEN"
consul-controller-settings: config.controller.iamRolePath = "consul-ecs" "/consul-ecs"
ok: config.controller.iamRolePath = "/" "/mesh/tasks/"
consul-controller-settings: config.controller.partition = "team"
ok: config.controller.partition = "default"
consul-controller-role: taskRoleArn = absent
consul-config-missing: consul-ecs-controller / environment = absent
consul-controller-command: consul-ecs-controller / command = absent ["mesh-init"]
ok: consul-ecs-controller / entryPoint = ["/bin/sh", "-c", "consul-ecs controller"]
ok: consul-ecs-controller / command = absent
  given consul-ecs-controller / entryPoint = ["/bin/consul-ecs", "controller"]
// Without the module's name, its configuration and command show what it is.
ok: consul-ecs-controller / name = "controller"
  given consul-ecs-controller / image = "registry.example.com/mesh/controller:5"
consul-credential-in-plain: consul-ecs-controller / environment[CONSUL_HTTP_TOKEN] = { "name": "CONSUL_HTTP_TOKEN", "value": "00000000-0000-0000-0000-00000000beef" }
consul-config-schema: config.consulServers.hosts = absent
consul-config-schema: config.controller.partitionsEnabled = "true"
consul-config-ignored: config.consulServers.http.httpz = true
consul-config-version: config.transparentProxy = {}
  given consul-ecs-controller / image = "hashicorp/consul-ecs:0.7.3"
consul-ca-certificates: consul-ecs-controller / secrets[CONSUL_GRPC_CACERT_PEM] = absent
ok: config.consulServers.grpc.caCertFile = "/etc/ssl/certs/ca.pem"
  given consul-ecs-controller / secrets[CONSUL_GRPC_CACERT_PEM].name = "OTHER"
ecs-secrets-execution-role: executionRoleArn = absent
// It is not a task of the mesh.
ok: networkMode = "host"
  given requiresCompatibilities = ["EC2"]
ecs-essential: consul-ecs-controller / essential = false
ok: consul-ecs-controller / essential = absent
"#;

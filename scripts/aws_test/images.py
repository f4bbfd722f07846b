"""The images of the sandbox: releases that go together (docs/reference/compatibility.md), from public registries.

consul-ecs, Consul Dataplane: https://developer.hashicorp.com/consul/docs/ecs/manual/secure-configuration
Consul: https://developer.hashicorp.com/consul/docs/deploy/server/ecs/fargate
"""

CONSUL = {"ConsulImage": "public.ecr.aws/hashicorp/consul:1.22.6"}
SERVICE = {
    "ConsulEcsImage": "public.ecr.aws/hashicorp/consul-ecs:0.10.1",
    "DataplaneImage": "hashicorp/consul-dataplane:1.9.12",
    "AppImage": "public.ecr.aws/docker/library/busybox:1.37",
}

"""A service of the mesh on EC2, with consul-ecs 0.10 and Consul Dataplane.

Replace: the constants; the container app, with its port and health check; the upstream orders, which the app calls at
127.0.0.1:1234. If Consul's certificate does not name CONSUL_HOSTS, add the name that it has to CONFIGURATION as "tlsServerName" of
"defaults". The controller manages the cluster, and the cluster has container instances.

    pip install aws-cdk-lib                          # 2.275 wrote web.template.json
    npx aws-cdk synth --app "python3 app.py" --quiet
    ecs-mesh check cdk.out
    npx aws-cdk bootstrap                            # once for each account and region
    npx aws-cdk deploy --app "python3 app.py"
"""

import json

from aws_cdk import Annotations, App, Duration, RemovalPolicy, Stack, Tags
from aws_cdk import aws_ec2, aws_ecs, aws_iam, aws_logs, aws_secretsmanager
from constructs import Construct

VPC = {
    "vpc_id": "vpc-0123456789abcdef0",
    "availability_zones": ["us-east-1a", "us-east-1b"],
    # With a route to Consul's servers and to the images' registries.
    "private_subnet_ids": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
}
# It permits port 20000 between tasks of the mesh, and ports 8501 and 8503 of Consul's servers.
SECURITY_GROUP = "sg-0123456789abcdef0"
CLUSTER = "mesh"
SERVICE = "web"
IMAGE = "public.ecr.aws/example/web:1.4.2"  # with curl for the health check; for ECR, ContainerImage.from_ecr_repository
CONSUL_HOSTS = "consul.example.internal"  # the host in ConsulHttpAddr of the controller
CONSUL_CA_CERT = "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-cert-GhIjKl"
ROLE_PATH = "/consul-ecs/"  # IamRolePath of the controller

CONSUL_ECS = "public.ecr.aws/hashicorp/consul-ecs:0.10.1"
CONSUL_DATAPLANE = "hashicorp/consul-dataplane:2.0.4"
CONFIGURATION = {
    "bootstrapDir": "/consul",
    "consulLogin": {"enabled": True},
    "consulServers": {
        "hosts": CONSUL_HOSTS,
        "defaults": {"tls": True},
        "grpc": {"port": 8503},
        "http": {"https": True, "port": 8501},
    },
    "healthSyncContainers": ["app"],
    "service": {"name": SERVICE, "port": 9090},
    "proxy": {"upstreams": [{"destinationName": "orders", "localBindPort": 1234}]},
    "transparentProxy": {"enabled": False},
}


class MeshService(Stack):
    def __init__(self, scope: Construct, name: str) -> None:
        super().__init__(scope, name)
        self.log_group = aws_logs.LogGroup(
            self, "Logs", retention=aws_logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
        )
        self.task_definition = aws_ecs.Ec2TaskDefinition(
            self,
            "TaskDefinition",
            family=SERVICE,
            network_mode=aws_ecs.NetworkMode.AWS_VPC,
            task_role=self.task_role(),
            volumes=[aws_ecs.Volume(name="consul_data"), aws_ecs.Volume(name="consul_binary")],
        )
        tags = Tags.of(self.task_definition)
        only = {"include_resource_types": ["AWS::ECS::TaskDefinition"]}
        tags.add("consul.hashicorp.com/mesh", "true", **only)
        tags.add("consul.hashicorp.com/service-name", SERVICE, **only)
        self.containers()
        vpc = aws_ec2.Vpc.from_vpc_attributes(self, "Vpc", **VPC)
        Annotations.of(vpc).acknowledge_warning("@aws-cdk/aws-ec2:noSubnetRouteTableId", "no route is added")
        aws_ecs.Ec2Service(
            self,
            "Service",
            cluster=aws_ecs.Cluster.from_cluster_attributes(self, "Cluster", cluster_name=CLUSTER, vpc=vpc),
            task_definition=self.task_definition,
            service_name=SERVICE,
            desired_count=2,
            min_healthy_percent=100,
            circuit_breaker=aws_ecs.DeploymentCircuitBreaker(rollback=True),
            propagate_tags=aws_ecs.PropagatedTagSource.TASK_DEFINITION,
            security_groups=[aws_ec2.SecurityGroup.from_security_group_id(self, "SecurityGroup", SECURITY_GROUP)],
        )

    def task_role(self) -> aws_iam.Role:
        """The identity with which the task logs in to Consul: the tag names the service."""
        role = aws_iam.Role(
            self, "TaskRole", path=ROLE_PATH, assumed_by=aws_iam.ServicePrincipal("ecs-tasks.amazonaws.com")
        )
        Tags.of(role).add("consul.hashicorp.com.service-name", SERVICE)
        # The login contains a signed request for the role itself, with which Consul's servers read its tags.
        role.add_to_policy(aws_iam.PolicyStatement(actions=["iam:GetRole"], resources=[role.role_arn]))
        return role

    def containers(self) -> None:
        """The app and the containers of the mesh, in the order in which they start."""
        certificate = aws_ecs.Secret.from_secrets_manager(
            aws_secretsmanager.Secret.from_secret_complete_arn(self, "ConsulCaCert", CONSUL_CA_CERT)
        )
        consul_ecs = {
            "image": aws_ecs.ContainerImage.from_registry(CONSUL_ECS),
            "environment": {"CONSUL_ECS_CONFIG_JSON": json.dumps(CONFIGURATION)},
            "secrets": {"CONSUL_HTTPS_CACERT_PEM": certificate, "CONSUL_GRPC_CACERT_PEM": certificate},
            "memory_reservation_mib": 32,
            "linux_parameters": aws_ecs.LinuxParameters(self, "Init", init_process_enabled=True),
        }
        # It logs in, registers the service and its proxy, and ends.
        mesh_init = self.container("consul-ecs-mesh-init", essential=False, command=["mesh-init"], **consul_ecs)
        dataplane = self.container(
            "consul-dataplane",
            essential=False,
            image=aws_ecs.ContainerImage.from_registry(CONSUL_DATAPLANE),
            user="5995",
            entry_point=["/consul/consul-ecs", "envoy-entrypoint"],
            command=["consul-dataplane", "-config-file", "/consul/consul-dataplane.json"],
            health_check=aws_ecs.HealthCheck(
                command=["CMD", "/consul/consul-ecs", "net-dial", "127.0.0.1:22000"],
                interval=Duration.seconds(5),
                retries=10,
            ),
            memory_reservation_mib=128,
        )
        dataplane.add_ulimits(
            aws_ecs.Ulimit(name=aws_ecs.UlimitName.NOFILE, soft_limit=1048576, hard_limit=1048576)
        )
        # It writes the health of the app and of the proxy to Consul.
        health_sync = self.container(
            "consul-ecs-health-sync", essential=False, user="5996", command=["health-sync"], **consul_ecs
        )
        app = self.container(
            "app",
            image=aws_ecs.ContainerImage.from_registry(IMAGE),
            port_mappings=[aws_ecs.PortMapping(container_port=9090)],
            health_check=aws_ecs.HealthCheck(command=["CMD-SHELL", "curl -sf http://localhost:9090/health || exit 1"]),
            memory_reservation_mib=256,
        )

        for container in (mesh_init, dataplane, health_sync):
            data = aws_ecs.MountPoint(
                source_volume="consul_data", container_path="/consul", read_only=container is not mesh_init
            )
            container.add_mount_points(data)
        mesh_init.add_mount_points(
            aws_ecs.MountPoint(source_volume="consul_binary", container_path="/bin/consul-inject", read_only=True)
        )
        for container in (dataplane, health_sync):
            container.add_container_dependencies(
                aws_ecs.ContainerDependency(
                    container=mesh_init, condition=aws_ecs.ContainerDependencyCondition.SUCCESS
                )
            )
        app.add_container_dependencies(
            aws_ecs.ContainerDependency(container=dataplane, condition=aws_ecs.ContainerDependencyCondition.HEALTHY)
        )

    def container(self, name: str, **properties: object) -> aws_ecs.ContainerDefinition:
        logging = aws_ecs.LogDrivers.aws_logs(log_group=self.log_group, stream_prefix=name)
        return self.task_definition.add_container(name, logging=logging, **properties)


app = App()
MeshService(app, "Web")
app.synth()

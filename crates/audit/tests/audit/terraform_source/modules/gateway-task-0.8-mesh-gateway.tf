module "gateway" {
  source = "git::https://github.com/hashicorp/terraform-aws-consul-ecs.git//modules/gateway-task?ref=v0.8.1"

  kind            = "mesh-gateway"
  family          = "dc1-mesh-gateway"
  ecs_cluster_arn = aws_ecs_cluster.this.arn
  subnets         = var.subnets
  log_configuration = {
    logDriver = "awslogs"
    options = {
      awslogs-group         = "consul"
      awslogs-region        = "us-east-1"
      awslogs-stream-prefix = "app"
    }
  }
  enable_transparent_proxy = false
  consul_server_hosts = "consul.example.internal"
  acls                = true
  tls                 = true
  consul_ca_cert_arn  = "arn:aws:secretsmanager:us-east-1:123456789012:secret:dev-ca-cert-AbCdEf"
  requires_compatibilities = ["FARGATE"]
  wan_address = "gw.example.com"
  enable_mesh_gateway_wan_federation = true
}

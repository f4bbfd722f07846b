module "gateway" {
  source = "git::https://github.com/hashicorp/terraform-aws-consul-ecs.git//modules/gateway-task?ref=v0.5.1"

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
  requires_compatibilities = ["FARGATE"]
  retry_join                = ["consul.example.internal"]
  acls                      = true
  tls                       = true
  gossip_key_secret_arn     = aws_secretsmanager_secret.gossip_key.arn
  consul_server_ca_cert_arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:dev-ca-cert-AbCdEf"
  consul_https_ca_cert_arn  = "arn:aws:secretsmanager:us-east-1:123456789012:secret:dev-https-ca-cert-AbCdEf"
  consul_http_addr          = "https://consul.example.internal:8501"
  wan_address               = "gw.example.com"
  enable_mesh_gateway_wan_federation = true
}

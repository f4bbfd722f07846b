module "controller" {
  source  = "hashicorp/consul-ecs/aws//modules/controller"
  version = "0.9.0"

  name_prefix                       = "dev"
  ecs_cluster_arn                   = aws_ecs_cluster.this.arn
  subnets                           = var.subnets
  region                            = "us-east-1"
  requires_compatibilities          = ["FARGATE"]
  consul_server_hosts               = "consul.example.internal"
  consul_bootstrap_token_secret_arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:dev-bootstrap-token-AbCdEf"
  consul_ca_cert_arn                = "arn:aws:secretsmanager:us-east-1:123456789012:secret:dev-ca-cert-AbCdEf"
  tls                               = true
}

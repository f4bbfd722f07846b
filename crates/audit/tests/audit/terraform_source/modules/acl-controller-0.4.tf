module "acl_controller" {
  source  = "hashicorp/consul-ecs/aws//modules/acl-controller"
  version = "0.4.1"

  name_prefix                       = "dev"
  ecs_cluster_arn                   = aws_ecs_cluster.this.arn
  subnets                           = var.subnets
  region                            = "us-east-1"
  consul_server_http_addr           = "https://consul.example.internal:8501"
  consul_bootstrap_token_secret_arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:dev-bootstrap-token-AbCdEf"
  consul_server_ca_cert_arn         = "arn:aws:secretsmanager:us-east-1:123456789012:secret:dev-ca-cert-AbCdEf"
}

locals {
  log_config = {
    logDriver = "awslogs"
    options = {
      awslogs-group         = "consul"
      awslogs-region        = "us-east-1"
      awslogs-stream-prefix = "app"
    }
  }
}

module "example_client_app" {
  source  = "hashicorp/consul-ecs/aws//modules/mesh-task"
  version = "0.4.1"

  family            = "example_client_app"
  cpu               = 256
  memory            = 512
  log_configuration = local.log_config
  container_definitions = [{
    name             = "example-client-app"
    image            = "docker.mirror.hashicorp.services/nicholasjackson/fake-service:v0.21.0"
    essential        = true
    portMappings     = [{ containerPort = 9090, hostPort = 9090, protocol = "tcp" }]
    logConfiguration = local.log_config
    environment      = [{ name = "NAME", value = "example-client-app" }]
    cpu              = 0
    mountPoints      = []
    volumesFrom      = []
    healthCheck = {
      command  = ["CMD-SHELL", "curl -f http://localhost:9090/health"]
      interval = 30
      retries  = 3
      timeout  = 5
    }
  }]
  retry_join               = ["consul.example.internal"]
  port                     = 9090
  requires_compatibilities = ["FARGATE"]
  acls                     = true
  consul_client_token_secret_arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:dev-consul-client-token-AbCdEf"
  acl_secret_name_prefix   = "dev"
  tls                      = true
  consul_server_ca_cert_arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:dev-ca-cert-AbCdEf"

  upstreams = [{
    destinationName = "example_server_app"
    localBindPort   = 1234
  }]
}

resource "aws_ecs_service" "example_client_app" {
  name            = "example_client_app"
  task_definition = module.example_client_app.task_definition_arn
  launch_type     = var.launch_type
  propagate_tags  = "TASK_DEFINITION"
}

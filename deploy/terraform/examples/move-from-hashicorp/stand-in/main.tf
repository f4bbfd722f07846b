# A stand-in for hashicorp/consul-ecs/aws//modules/controller 0.7 to 0.10, for the test of this example: the same variables, and
# one ECS service.

resource "aws_ecs_task_definition" "controller" {
  family                   = "${var.name_prefix}-consul-ecs-controller"
  requires_compatibilities = var.requires_compatibilities
  network_mode             = "awsvpc"
  cpu                      = 256
  memory                   = 512
  container_definitions = jsonencode([{
    name      = "consul-ecs-controller"
    image     = var.consul_ecs_image
    essential = true
    command   = ["controller"]
    secrets   = [{ name = "CONSUL_HTTP_TOKEN", valueFrom = var.consul_bootstrap_token_secret_arn }]
  }])
}

resource "aws_ecs_service" "controller" {
  name            = "consul-ecs-controller"
  cluster         = var.ecs_cluster_arn
  task_definition = aws_ecs_task_definition.controller.arn
  desired_count   = 1
  launch_type     = var.launch_type

  network_configuration {
    subnets          = var.subnets
    security_groups  = var.security_groups
    assign_public_ip = var.assign_public_ip
  }

  # The emulator of AWS that the test uses does not return it.
  lifecycle {
    ignore_changes = [availability_zone_rebalancing]
  }
}

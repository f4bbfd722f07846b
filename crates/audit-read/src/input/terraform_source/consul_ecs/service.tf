# The service of gateway-task and of the controllers. mesh-task makes none.

resource "aws_ecs_service" "this" {
  task_definition = aws_ecs_task_definition.this.arn
  launch_type     = local.input.launch_type
  propagate_tags  = var.module == "gateway-task" ? "TASK_DEFINITION" : null
}

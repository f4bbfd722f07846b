locals {
  outputs = aws_cloudformation_stack.controller.outputs

  # The policies of docs/how-to/install-sam.md and docs/reference/permissions.md, and docs/how-to/move-from-consul-ecs.md.
  is_enterprise = local.partition != "" || length(var.cluster_partitions) > 0
  acting        = file("${path.module}/policies/${local.is_enterprise ? "enterprise" : "community"}.hcl")
  observing     = local.is_enterprise ? replace(local.acting, "\"write\"", "\"read\"") : file("${path.module}/policies/observe.hcl")
  consul_policy = var.mode == "observe" ? local.observing : local.acting

  advice = var.consul_bootstrap_token_secret_arn == null ? [] : [
    "consul_bootstrap_token_secret_arn may do more in Consul than the controller needs. Create a token with the policy in output consul_policy, store it in a secret, and set consul_http_token_secret_arn to the ARN of that secret instead.",
  ]
}

locals {
  stack_name = "${var.name_prefix}-ecs-mesh-controller"

  # As HashiCorp's module derives them. try: http_config has any of its keys.
  https     = try(tobool(var.http_config.https), var.tls)
  port      = try(tonumber(var.http_config.port), var.tls ? 8501 : 8500)
  host      = try(strcontains(var.consul_server_hosts, ":"), false) ? "[${var.consul_server_hosts}]" : coalesce(var.consul_server_hosts, "none")
  http_addr = coalesce(var.consul_http_addr, "${local.https ? "https" : "http"}://${local.host}:${local.port}")
  # Settings of TLS have no effect on http, as there.
  tls_applies = var.consul_http_addr != null || local.https
  ca_cert_arn = var.consul_https_ca_cert_arn == "" ? var.consul_ca_cert_arn : var.consul_https_ca_cert_arn
  server_name = try(var.http_config.tlsServerName, var.tls_server_name)

  clusters  = var.ecs_cluster_arn == null ? var.ecs_cluster_arns : [var.ecs_cluster_arn]
  partition = var.consul_partitions_enabled ? var.consul_partition : ""

  # A conditional in place of &&, which would make the count unknown if the subnets are.
  needs_default_group = length(var.security_groups) > 0 ? false : length(var.subnets) > 0
  security_groups     = local.needs_default_group ? data.aws_security_group.default[*].id : var.security_groups

  parameters = {
    Mode                      = var.mode
    ConsulHttpAddr            = local.http_addr
    ConsulHttpTokenSecretArn  = var.consul_http_token_secret_arn == null ? var.consul_bootstrap_token_secret_arn : var.consul_http_token_secret_arn
    ConsulCaCertSecretArn     = local.tls_applies ? local.ca_cert_arn : ""
    ConsulTlsServerName       = local.tls_applies ? local.server_name : ""
    ConsulPartition           = local.partition
    Bootstrap                 = var.bootstrap
    IamRolePath               = var.iam_role_path
    CleanupOnDelete           = var.cleanup_on_delete
    EcsClusterArns            = join(",", local.clusters)
    ClusterPartitions         = join(",", var.cluster_partitions)
    TokenMode                 = var.token_mode
    SecretNamePrefix          = var.secret_name_prefix
    ClientTokenSecretName     = var.client_token_secret_name
    SecretKmsKeyId            = var.secret_kms_key_id
    RevocationGraceSeconds    = var.revocation_grace_seconds
    TimeBounds                = var.time_bounds
    PreProvision              = var.pre_provision
    UnusedTokenHours          = var.unused_token_hours
    ReconcileRate             = var.reconcile_rate
    MaxDeletePercent          = var.max_delete_percent
    Repair                    = var.repair
    Audit                     = var.audit
    AuditRate                 = var.audit_rate
    AuditConfiguration        = var.audit_configuration
    VpcSubnetIds              = join(",", var.subnets)
    VpcSecurityGroupIds       = join(",", local.security_groups)
    Architecture              = local.architecture
    MaximumConcurrency        = var.maximum_concurrency
    LogLevel                  = var.log_level
    LogRetentionDays          = var.log_retention_days
    RoutineEvents             = var.routine_events
    AlarmTopicArn             = var.alarm_topic_arn
    RunbookUrl                = var.runbook_url
    LambdaPermissionsBoundary = var.lambda_permissions_boundary
    LambdaRolePath            = var.lambda_role_path
  }
}

data "aws_subnet" "first" {
  count = local.needs_default_group ? 1 : 0

  id = var.subnets[0]
}

data "aws_security_group" "default" {
  count = local.needs_default_group ? 1 : 0

  vpc_id = data.aws_subnet.first[count.index].vpc_id
  name   = "default"
}

resource "aws_cloudformation_stack" "controller" {
  name         = local.stack_name
  template_url = "https://s3.${local.region}.${data.aws_partition.current.dns_suffix}/${local.bucket}/${aws_s3_object.template.key}"
  capabilities = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
  parameters   = merge(local.parameters, { Package = local.content_hash })
  tags         = var.tags

  # Lambda takes up to 40 minutes to detach a deleted function from a VPC.
  timeouts {
    delete = "60m"
  }

  depends_on = [aws_s3_object.zip]

  lifecycle {
    precondition {
      condition     = var.region == null || var.region == local.region
      error_message = "region is ${coalesce(var.region, "null")}, and the AWS provider of this module has the region ${local.region}. Pass the provider of the clusters' region, providers = { aws = aws.NAME }, or remove region."
    }

    precondition {
      condition     = (var.consul_http_addr == null) != (var.consul_server_hosts == null)
      error_message = "Set either consul_http_addr or consul_server_hosts."
    }

    precondition {
      condition     = var.consul_http_addr == null || !var.tls && length(setsubtract(keys(var.http_config), ["tlsServerName"])) == 0
      error_message = "consul_http_addr contains scheme and port. Remove tls and http_config."
    }

    precondition {
      condition     = !startswith(local.http_addr, "ecs://") || local.ca_cert_arn != "" && local.server_name != "" && length(var.subnets) > 0
      error_message = "consul_http_addr = ecs://… needs consul_ca_cert_arn, tls_server_name and subnets."
    }

    precondition {
      condition     = length(regexall("http://", local.http_addr)) == 0 || !local.tls_applies || local.ca_cert_arn == "" && local.server_name == ""
      error_message = "With consul_ca_cert_arn or tls_server_name, every address in consul_http_addr must begin with https://."
    }

    precondition {
      condition     = (var.consul_http_token_secret_arn == null) != (var.consul_bootstrap_token_secret_arn == null)
      error_message = "Set either consul_http_token_secret_arn or, as in HashiCorp's module, consul_bootstrap_token_secret_arn."
    }

    precondition {
      condition     = (var.ecs_cluster_arn == null) != (length(var.ecs_cluster_arns) == 0)
      error_message = "Set either ecs_cluster_arns or ecs_cluster_arn."
    }

    precondition {
      condition     = var.architecture == null || var.architecture == local.architecture
      error_message = "The zips in ${local.package} are for ${local.architecture}. Set package to a folder with zips for ${coalesce(var.architecture, "null")}, or remove architecture."
    }

    precondition {
      condition     = length(var.security_groups) == 0 || length(var.subnets) > 0
      error_message = "security_groups has no effect without subnets. Set both, or neither."
    }
  }
}

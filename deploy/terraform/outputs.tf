output "stack_name" {
  description = "Name of the CloudFormation stack, for ecs-mesh --stack"
  value       = aws_cloudformation_stack.controller.name
}

output "ignored_variables" {
  description = "The variables of HashiCorp's module that are set and have no effect here"
  value       = sort([for name, value in local.ignored : name if value != null])
}

output "consul_policy" {
  description = "The Consul policy that the controller's token needs, with these settings"
  value       = local.consul_policy
}

output "advice" {
  description = "What to improve in the call of this module"
  value       = local.advice
}

# ---- of the template; null if the settings leave out the resource

output "task_events_queue_url" {
  description = "Queue of the task events"
  value       = lookup(local.outputs, "TaskEventsQueueUrl", null)
}

output "task_events_queue_arn" {
  description = "ARN of the queue of the task events"
  value       = lookup(local.outputs, "TaskEventsQueueArn", null)
}

output "failed_events_queue_url" {
  description = "Dead-letter queue of events that the task-events function could not process"
  value       = lookup(local.outputs, "FailedEventsQueueUrl", null)
}

output "undelivered_events_queue_url" {
  description = "Dead-letter queue of events that EventBridge could not deliver"
  value       = lookup(local.outputs, "UndeliveredEventsQueueUrl", null)
}

output "task_events_function_name" {
  description = "Name of the task-events function"
  value       = lookup(local.outputs, "TaskEventsFunctionName", null)
}

output "task_events_function_arn" {
  description = "ARN of the task-events function"
  value       = lookup(local.outputs, "TaskEventsFunctionArn", null)
}

output "task_state_change_rule_name" {
  description = "Name of the EventBridge rule for changes of tasks"
  value       = lookup(local.outputs, "TaskStateChangeRuleName", null)
}

output "task_state_change_rule_arn" {
  description = "ARN of the EventBridge rule for changes of tasks"
  value       = lookup(local.outputs, "TaskStateChangeRuleArn", null)
}

output "task_events_log_group_name" {
  description = "Log group of the task-events function"
  value       = lookup(local.outputs, "TaskEventsLogGroupName", null)
}

output "reconcile_function_name" {
  description = "Name of the reconcile function"
  value       = lookup(local.outputs, "ReconcileFunctionName", null)
}

output "reconcile_function_arn" {
  description = "ARN of the reconcile function"
  value       = lookup(local.outputs, "ReconcileFunctionArn", null)
}

output "reconcile_log_group_name" {
  description = "Log group of the reconcile function"
  value       = lookup(local.outputs, "ReconcileLogGroupName", null)
}

output "dashboard_name" {
  description = "Name of the dashboard in CloudWatch"
  value       = lookup(local.outputs, "DashboardName", null)
}

output "sweep_rule_name" {
  description = "Name of the EventBridge rule for scheduled sweeps"
  value       = lookup(local.outputs, "SweepRuleName", null)
}

output "cluster_deleted_rule_name" {
  description = "Name of the EventBridge rule for deleted clusters"
  value       = lookup(local.outputs, "ClusterDeletedRuleName", null)
}

output "pre_provision_rule_name" {
  description = "Name of the EventBridge rule for pre-provisioning"
  value       = lookup(local.outputs, "PreProvisionRuleName", null)
}

output "audit_function_name" {
  description = "Name of the audit function"
  value       = lookup(local.outputs, "AuditFunctionName", null)
}

output "audit_log_group_name" {
  description = "Log group of the audit function"
  value       = lookup(local.outputs, "AuditLogGroupName", null)
}

output "definition_registered_rule_name" {
  description = "Name of the EventBridge rule for registered task definitions"
  value       = lookup(local.outputs, "DefinitionRegisteredRuleName", null)
}

output "findings_topic_arn" {
  description = "SNS topic to which findings of the audit are announced"
  value       = lookup(local.outputs, "FindingsTopicArn", null)
}

output "reports_bucket_name" {
  description = "Bucket of large reports and of the record of announcements"
  value       = lookup(local.outputs, "ReportsBucketName", null)
}

# Groups and defaults are as in template.yaml. docs/reference/parameters.md says where a name or default differs.

# ---- Module

variable "name_prefix" {
  description = "First part of the name of the CloudFormation stack, NAME_PREFIX-ecs-mesh-controller."
  type        = string

  validation {
    condition     = can(regex("^[A-Za-z][A-Za-z0-9-]{0,107}$", var.name_prefix))
    error_message = "name_prefix must begin with a letter and have at most 108 letters, digits and hyphens, because it names a CloudFormation stack."
  }
}

variable "region" {
  description = "The region of the clusters, which must be the region of the AWS provider; null for the region of the provider."
  type        = string
  default     = null
}

variable "package" {
  description = "Folder with template.yaml and the functions' zips, which make dist writes; null for the folder above this module, as in a release's archive."
  type        = string
  default     = null
}

variable "bucket" {
  description = "Name of a bucket in the region for the template and the zips; null to create one. The name must be known in the plan."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of the stack, its resources and the bucket."
  type        = map(string)
  default     = {}
  nullable    = false
}

# ---- Mode

variable "mode" {
  description = "act: change what differs. observe: read, plan and report, and write nothing to Consul or Secrets Manager."
  type        = string
  default     = "act"
  nullable    = false

  validation {
    condition     = contains(["act", "observe"], var.mode)
    error_message = "mode must be one of act, observe."
  }
}

# ---- Consul

variable "consul_server_hosts" {
  description = "IP address or DNS name of Consul's servers, without scheme and port. Set this with tls and http_config, or consul_http_addr."
  type        = string
  default     = null

  validation {
    condition     = try(!startswith(var.consul_server_hosts, "exec="), true)
    error_message = "consul_server_hosts cannot be exec=…, because a function has no program to run. Write the servers' DNS name instead. For servers that run as ECS tasks, remove consul_server_hosts and set consul_http_addr to ecs://CLUSTER/FAMILY-OR-SERVICE:8501?scheme=https."
  }

  validation {
    condition     = var.consul_server_hosts == null || can(regex("^(exec=.*|[A-Za-z0-9._-]+|[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f.:]*)$", var.consul_server_hosts))
    error_message = "consul_server_hosts must be one IP address or DNS name, without scheme and port. Write the port in http_config.port. For several addresses, remove consul_server_hosts and set consul_http_addr to https://HOST:PORT,https://HOST:PORT."
  }
}

variable "tls" {
  description = "Whether the servers in consul_server_hosts speak HTTPS."
  type        = bool
  default     = false
  nullable    = false
}

variable "http_config" {
  description = "What differs from tls and tls_server_name for Consul's HTTP API: port (8500, with tls 8501), https (as tls), tlsServerName. The key tls has no effect."
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.http_config) : contains(["port", "https", "tls", "tlsServerName"], key)])
    error_message = "http_config may have the keys port, https, tls and tlsServerName."
  }

  validation {
    condition     = try(tonumber(try(var.http_config.port, 8500)) >= 1 && tonumber(try(var.http_config.port, 8500)) <= 65535 && tobool(try(var.http_config.https, true)) != null, false)
    error_message = "http_config.port must be a number from 1 to 65535, and http_config.https must be true or false."
  }
}

variable "consul_http_addr" {
  description = "Address of Consul's HTTP API, for example https://consul.example.com:8501. Separate several addresses with commas for failover. For servers that run as ECS tasks: ecs://cluster/family-or-service:port?scheme=https, which also needs consul_ca_cert_arn and tls_server_name."
  type        = string
  default     = null

  validation {
    condition     = var.consul_http_addr == null ? true : can(regex("^(https?://[][A-Za-z0-9._:-]+(,https?://[][A-Za-z0-9._:-]+)*|ecs://[A-Za-z0-9_-]{1,255}/[A-Za-z0-9_-]{1,255}:[1-9][0-9]{0,4}\\?scheme=https)$", var.consul_http_addr)) && length(var.consul_http_addr) <= 300
    error_message = "consul_http_addr must be http(s)://host:port, or several of them separated by commas, with no path and no spaces; or ecs://cluster/family-or-service:port?scheme=https."
  }
}

variable "consul_http_token_secret_arn" {
  description = "ARN of the secret with the controller's own Consul token, as plain text or as JSON with the key \"token\"."
  type        = string
  default     = null

  validation {
    condition     = var.consul_http_token_secret_arn == null ? true : can(regex("^arn:[a-z0-9-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+-[A-Za-z0-9]{6}$", var.consul_http_token_secret_arn)) && length(var.consul_http_token_secret_arn) <= 256
    error_message = "consul_http_token_secret_arn must be the full ARN of a Secrets Manager secret, including the last six characters."
  }
}

variable "consul_bootstrap_token_secret_arn" {
  description = "ARN of the secret that holds the bootstrap token, as HashiCorp's module takes it. Prefer consul_http_token_secret_arn: output consul_policy is all that the token needs."
  type        = string
  default     = null

  validation {
    condition     = var.consul_bootstrap_token_secret_arn == null ? true : can(regex("^arn:[a-z0-9-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+-[A-Za-z0-9]{6}$", var.consul_bootstrap_token_secret_arn)) && length(var.consul_bootstrap_token_secret_arn) <= 256
    error_message = "consul_bootstrap_token_secret_arn must be the full ARN of a Secrets Manager secret, including the last six characters."
  }
}

variable "consul_ca_cert_arn" {
  description = "ARN of the secret that holds the PEM certificate of Consul's certificate authority; empty for a public authority."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^(arn:[a-z0-9-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+-[A-Za-z0-9]{6})?$", var.consul_ca_cert_arn)) && length(var.consul_ca_cert_arn) <= 256
    error_message = "consul_ca_cert_arn must be empty or the full ARN of a Secrets Manager secret, including the last six characters."
  }
}

variable "consul_https_ca_cert_arn" {
  description = "The same as consul_ca_cert_arn, which it overrides."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^(arn:[a-z0-9-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+-[A-Za-z0-9]{6})?$", var.consul_https_ca_cert_arn)) && length(var.consul_https_ca_cert_arn) <= 256
    error_message = "consul_https_ca_cert_arn must be empty or the full ARN of a Secrets Manager secret, including the last six characters."
  }
}

variable "tls_server_name" {
  description = "Name in Consul's certificate, for example server.dc1.consul; empty if it is the host of consul_http_addr."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9.-]*$", var.tls_server_name)) && length(var.tls_server_name) <= 128
    error_message = "tls_server_name must be empty or a DNS name."
  }
}

variable "consul_partitions_enabled" {
  description = "Consul Enterprise: whether consul_partition is used."
  type        = bool
  default     = false
  nullable    = false
}

variable "consul_partition" {
  description = "Consul Enterprise: the admin partition of tasks that have no Enterprise tags. Used only with consul_partitions_enabled."
  type        = string
  default     = "default"
  nullable    = false

  validation {
    condition     = can(regex("^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)?$", var.consul_partition)) && length(var.consul_partition) <= 63
    error_message = "consul_partition must be empty or a partition name, at most 63 letters, digits and hyphens."
  }
}

variable "bootstrap" {
  description = "What to set up in Consul. dataplane: what tasks of consul-ecs 0.7 and later need to log in. full: also the auth method, policy and role of client agents, for 0.5 and 0.6. none: nothing."
  type        = string
  default     = "dataplane"
  nullable    = false

  validation {
    condition     = contains(["dataplane", "full", "none"], var.bootstrap)
    error_message = "bootstrap must be one of dataplane, full, none."
  }
}

variable "iam_role_path" {
  description = "Path of the IAM roles whose tasks may log in to Consul."
  type        = string
  default     = "/consul-ecs/"
  nullable    = false

  validation {
    condition     = can(regex("^/([A-Za-z0-9+=,.@_-]+/)*$", var.iam_role_path)) && length(var.iam_role_path) <= 128
    error_message = "iam_role_path must begin and end with a slash."
  }
}

variable "cleanup_on_delete" {
  description = "Remove everything that the controller owns in Consul when the stack is deleted, including tokens and services of running tasks."
  type        = bool
  default     = false
  nullable    = false
}

# ---- Amazon ECS

variable "ecs_cluster_arn" {
  description = "The ECS cluster to manage. Set this or ecs_cluster_arns."
  type        = string
  default     = null

  validation {
    condition     = var.ecs_cluster_arn == null || can(regex("^(arn:[a-z0-9-]+:ecs:[a-z0-9-]+:[0-9]{12}:cluster/)?[A-Za-z0-9_*-]+$", var.ecs_cluster_arn))
    error_message = "ecs_cluster_arn must be the ARN, the name or a pattern of an ECS cluster."
  }
}

variable "ecs_cluster_arns" {
  description = "The ECS clusters to manage: ARNs, names, patterns with one * in the name (prod-*), or * for all clusters of the account and region."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for cluster in var.ecs_cluster_arns : can(regex("^(arn:[a-z0-9-]+:ecs:[a-z0-9-]+:[0-9]{12}:cluster/)?[A-Za-z0-9_*-]+$", cluster))]) && length(join(",", var.ecs_cluster_arns)) <= 1000
    error_message = "ecs_cluster_arns must be ARNs, names or patterns of ECS clusters, together at most 1,000 characters; a pattern has one *."
  }
}

variable "cluster_partitions" {
  description = "Consul Enterprise: admin partitions of clusters, each as cluster=partition; cluster is a name or a pattern. Tasks without Enterprise tags use the first partition of their cluster. Other clusters use consul_partition."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for pair in var.cluster_partitions : can(regex("^[A-Za-z0-9_*-]+=[A-Za-z0-9-]+$", pair))]) && length(join(",", var.cluster_partitions)) <= 400
    error_message = "cluster_partitions must be cluster=partition each, without spaces, together at most 400 characters."
  }
}

# ---- Tokens and secrets

variable "token_mode" {
  description = "auto: a task gets each token whose secret its definition reads (consul-ecs 0.2 to 0.4); other tasks log in. secrets-manager: every service except gateways gets a token. auth-method: no service gets one."
  type        = string
  default     = "auth-method"
  nullable    = false

  validation {
    condition     = contains(["auto", "secrets-manager", "auth-method"], var.token_mode)
    error_message = "token_mode must be one of auto, secrets-manager, auth-method."
  }
}

variable "secret_name_prefix" {
  description = "Prefix of the secrets that the controller writes, PREFIX-SERVICE. Its roles allow only such names."
  type        = string
  default     = "consul-ecs"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9/_+=.@-]+$", var.secret_name_prefix)) && length(var.secret_name_prefix) <= 128
    error_message = "secret_name_prefix must be 1 to 128 characters that are allowed in the name of a secret."
  }
}

variable "client_token_secret_name" {
  description = "Name of the secret with the client agents' token; empty for PREFIX-consul-client-token."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9/_+=.@-]*$", var.client_token_secret_name)) && length(var.client_token_secret_name) <= 200
    error_message = "client_token_secret_name must be empty or the name (not the ARN) of a secret, at most 200 characters."
  }
}

variable "secret_kms_key_id" {
  description = "ARN of the KMS key that encrypts new secrets; empty for the account's aws/secretsmanager key. The policy of the key has to delegate to IAM, or to name the functions' roles: otherwise it denies what their policies allow."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^(arn:[a-z0-9-]+:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+)?$", var.secret_kms_key_id)) && length(var.secret_kms_key_id) <= 128
    error_message = "secret_kms_key_id must be empty or the ARN of a KMS key (not of an alias, because the function's role contains the key's ARN)."
  }
}

variable "revocation_grace_seconds" {
  description = "Seconds a service may have no tasks before its token is hidden and then deleted. Set it longer than a deployment of the service takes. The token is hidden no sooner than 45 minutes after it was last shown."
  type        = number
  default     = 300
  nullable    = false

  validation {
    condition     = var.revocation_grace_seconds >= 0 && var.revocation_grace_seconds <= 3000
    error_message = "revocation_grace_seconds must be 0 to 3000."
  }
}

variable "time_bounds" {
  description = "Assumptions about time, in seconds, as name=seconds separated by commas; empty for ecs-lag=300,secrets-lag=10,attempt=30,call=30,clocks=30,shown=2700,health-lag=60."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^((ecs-lag|secrets-lag|attempt|call|clocks|shown|health-lag)=[0-9]+(,(ecs-lag|secrets-lag|attempt|call|clocks|shown|health-lag)=[0-9]+)*)?$", var.time_bounds)) && length(var.time_bounds) <= 100
    error_message = "time_bounds must be empty, or name=seconds, several separated by commas, without spaces."
  }
}

variable "pre_provision" {
  description = "Create a service's token before its first start, when its task definition is registered. Needs a CloudTrail trail in the region."
  type        = bool
  default     = true
  nullable    = false
}

variable "unused_token_hours" {
  description = "Hours after which an unused pre-provisioned token is revoked."
  type        = number
  default     = 24
  nullable    = false

  validation {
    condition     = var.unused_token_hours >= 1 && var.unused_token_hours <= 720
    error_message = "unused_token_hours must be 1 to 720."
  }
}

# ---- Sweep

variable "reconcile_rate" {
  description = "How often to sweep whole clusters for what events missed; at most two days."
  type        = string
  default     = "rate(5 minutes)"
  nullable    = false

  validation {
    condition     = can(regex("^rate\\(([2-9]|[1-9][0-9]+) (minutes|hours|days)\\)$|^rate\\(1 (minute|hour|day)\\)$", var.reconcile_rate)) && length(var.reconcile_rate) <= 20
    error_message = "reconcile_rate must be a rate, for example rate(5 minutes)."
  }
}

variable "max_delete_percent" {
  description = "Largest share, in percent, that a sweep changes without force: tasks that ECS does not know while its list may be incomplete, passing instances of a service that corrections take out of rotation, and services that lose their token. It applies to groups of ten or more."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = var.max_delete_percent >= 0 && var.max_delete_percent <= 100
    error_message = "max_delete_percent must be 0 to 100."
  }
}

variable "repair" {
  description = "on: register running tasks again that Consul has lost, and correct their checks. report: only report them. off: neither."
  type        = string
  default     = "on"
  nullable    = false

  validation {
    condition     = contains(["on", "report", "off"], var.repair)
    error_message = "repair must be one of on, report, off."
  }
}

# ---- Audit

variable "audit" {
  description = "Check task definitions by schedule, and when they are registered. The latter needs a CloudTrail trail in the region."
  type        = bool
  default     = true
  nullable    = false
}

variable "audit_rate" {
  description = "How often the task definitions that the clusters run are audited."
  type        = string
  default     = "rate(1 day)"
  nullable    = false

  validation {
    condition     = can(regex("^rate\\(([2-9]|[1-9][0-9]+) (minutes|hours|days)\\)$|^rate\\(1 (minute|hour|day)\\)$", var.audit_rate))
    error_message = "audit_rate must be a rate, for example rate(1 day)."
  }
}

variable "audit_configuration" {
  description = "Content of an ecs-mesh.toml: severities and accepted findings; empty for none."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^[\\t\\n\\r -~]*$", var.audit_configuration)) && length(var.audit_configuration) <= 780
    error_message = "audit_configuration must be ASCII, at most 780 characters."
  }
}

# ---- Network

variable "subnets" {
  description = "Subnets for task-events and reconcile; empty to run them outside a VPC. They need a route to ECS, Secrets Manager, SQS, EventBridge and S3."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for subnet in var.subnets : can(regex("^subnet-[0-9a-z]+$", subnet))])
    error_message = "subnets must be subnet IDs."
  }
}

variable "security_groups" {
  description = "Security groups of these functions; empty for the default group of the subnets' VPC."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for group in var.security_groups : can(regex("^sg-[0-9a-z]+$", group))])
    error_message = "security_groups must be security group IDs."
  }
}

variable "assign_public_ip" {
  description = "Must be false: a function in a VPC has no public address."
  type        = bool
  default     = false
  nullable    = false

  validation {
    condition     = !var.assign_public_ip
    error_message = "assign_public_ip cannot be true, because a Lambda function in a VPC has no public address. Remove it, and set subnets to private subnets with a route to a NAT gateway, or with VPC endpoints for ecs, secretsmanager, sqs, events and s3."
  }
}

# ---- Function

variable "architecture" {
  description = "Processor architecture of the functions; null for the architecture of the zips in package."
  type        = string
  default     = null

  validation {
    condition     = var.architecture == null ? true : contains(["arm64", "x86_64"], var.architecture)
    error_message = "architecture must be one of arm64, x86_64."
  }
}

variable "maximum_concurrency" {
  description = "Largest number of event batches processed at once; this limits the load on Consul."
  type        = number
  default     = 10
  nullable    = false

  validation {
    condition     = var.maximum_concurrency >= 2 && var.maximum_concurrency <= 1000
    error_message = "maximum_concurrency must be 2 to 1000."
  }
}

variable "log_level" {
  description = "Lowest level that the functions log."
  type        = string
  default     = "info"
  nullable    = false

  validation {
    condition     = contains(["error", "warn", "info", "debug"], var.log_level)
    error_message = "log_level must be one of error, warn, info, debug."
  }
}

variable "log_retention_days" {
  description = "Days to keep the functions' logs."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    error_message = "log_retention_days must be one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653."
  }
}

variable "routine_events" {
  description = "Also send events about the end of every task: drained and deregistered instances, and deleted login tokens."
  type        = string
  default     = "off"
  nullable    = false

  validation {
    condition     = contains(["on", "off"], var.routine_events)
    error_message = "routine_events must be one of on, off."
  }
}

variable "alarm_topic_arn" {
  description = "ARN of the SNS topic that the alarms notify; empty for alarms without notification."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^(arn:[a-z0-9-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_.-]+)?$", var.alarm_topic_arn))
    error_message = "alarm_topic_arn must be empty or the ARN of an SNS topic."
  }
}

variable "runbook_url" {
  description = "Address of the page \"Answer an alarm\", to which each alarm's text adds the anchor of its section."
  type        = string
  default     = "https://github.com/OWNER/ecs-mesh-controller/blob/main/docs/how-to/alarms.md"
  nullable    = false

  validation {
    condition     = can(regex("^https?://[A-Za-z0-9/._~%:?=&+-]+$", var.runbook_url)) && length(var.runbook_url) <= 200
    error_message = "runbook_url must be a URL without an anchor, at most 200 characters."
  }
}

variable "lambda_permissions_boundary" {
  description = "ARN of the IAM policy that bounds the permissions of the functions' roles; empty for none."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^(arn:[a-z0-9-]+:iam::([0-9]{12}|aws):policy/[A-Za-z0-9/+=,.@_-]+)?$", var.lambda_permissions_boundary)) && length(var.lambda_permissions_boundary) <= 700
    error_message = "lambda_permissions_boundary must be empty or the ARN of an IAM policy."
  }
}

variable "lambda_role_path" {
  description = "Path of the functions' IAM roles and policies, not of tasks. Changing it replaces them."
  type        = string
  default     = "/"
  nullable    = false

  validation {
    condition     = can(regex("^/([A-Za-z0-9+=,.@_-]+/)*$", var.lambda_role_path)) && length(var.lambda_role_path) <= 512
    error_message = "lambda_role_path must begin and end with a slash."
  }
}

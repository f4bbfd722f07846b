# Variables of HashiCorp's module consul-ecs/aws//modules/controller (0.7 to 0.10) that mean nothing here: a function has no
# launch type, image or execution role, and the controller does not use gRPC. They are accepted so that a call of that module
# needs a new source only.

variable "launch_type" {
  description = "Ignored."
  type        = any
  default     = null
}

variable "requires_compatibilities" {
  description = "Ignored."
  type        = any
  default     = null
}

variable "consul_ecs_image" {
  description = "Ignored."
  type        = any
  default     = null
}

variable "log_configuration" {
  description = "Ignored. The functions log to CloudWatch Logs; see log_level and log_retention_days."
  type        = any
  default     = null
}

variable "additional_execution_role_policies" {
  description = "Ignored. If they permit to decrypt the secrets, set secret_kms_key_id to the key."
  type        = any
  default     = null
}

variable "skip_server_watch" {
  description = "Ignored."
  type        = any
  default     = null
}

variable "grpc_config" {
  description = "Ignored."
  type        = any
  default     = null
}

variable "consul_grpc_ca_cert_arn" {
  description = "Ignored."
  type        = any
  default     = null
}

locals {
  ignored = {
    launch_type                        = var.launch_type
    requires_compatibilities           = var.requires_compatibilities
    consul_ecs_image                   = var.consul_ecs_image
    log_configuration                  = var.log_configuration
    additional_execution_role_policies = var.additional_execution_role_policies
    skip_server_watch                  = var.skip_server_watch
    grpc_config                        = var.grpc_config
    consul_grpc_ca_cert_arn            = var.consul_grpc_ca_cert_arn
  }
}

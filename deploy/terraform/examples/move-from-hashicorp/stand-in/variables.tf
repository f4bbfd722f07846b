variable "name_prefix" {
  type = string
}

variable "ecs_cluster_arn" {
  type = string
}

variable "region" {
  type = string
}

variable "subnets" {
  type = list(string)
}

variable "security_groups" {
  type    = list(string)
  default = []
}

variable "assign_public_ip" {
  type    = bool
  default = false
}

variable "launch_type" {
  type    = string
  default = "FARGATE"
}

variable "requires_compatibilities" {
  type    = list(string)
  default = ["EC2", "FARGATE"]
}

variable "consul_ecs_image" {
  type    = string
  default = "hashicorp/consul-ecs:0.10.0"
}

variable "log_configuration" {
  type    = any
  default = null
}

variable "additional_execution_role_policies" {
  type    = list(string)
  default = []
}

variable "consul_bootstrap_token_secret_arn" {
  type = string
}

variable "consul_server_hosts" {
  type = string
}

variable "tls" {
  type    = bool
  default = false
}

variable "tls_server_name" {
  type    = string
  default = ""
}

variable "http_config" {
  type    = any
  default = {}
}

variable "grpc_config" {
  type    = any
  default = {}
}

variable "consul_ca_cert_arn" {
  type    = string
  default = ""
}

variable "consul_https_ca_cert_arn" {
  type    = string
  default = ""
}

variable "consul_grpc_ca_cert_arn" {
  type    = string
  default = ""
}

variable "skip_server_watch" {
  type    = bool
  default = false
}

variable "iam_role_path" {
  type    = string
  default = "/consul-ecs/"
}

variable "consul_partitions_enabled" {
  type    = bool
  default = false
}

variable "consul_partition" {
  type    = string
  default = "default"
}

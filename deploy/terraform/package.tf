# The template is larger than the 51,200 bytes that CloudFormation takes inline, and functions need their code in a bucket.

locals {
  package   = coalesce(var.package, "${path.module}/..")
  functions = ["task-events", "reconcile", "audit"]
  zips      = [for function in local.functions : "${function}.zip"]
  files     = concat(["template.yaml"], local.zips)

  # The keys change with the content: that is how CloudFormation learns of new code.
  content_hash = sha256(join("", [for file in local.files : try(filesha256("${local.package}/${file}"), "")]))
  key_prefix   = "${data.aws_caller_identity.current.account_id}/${local.stack_name}/${substr(local.content_hash, 0, 16)}"
  bucket       = var.bucket == null ? one(aws_s3_bucket.package[*].bucket) : var.bucket

  # make dist writes the architecture of the zips into the template.
  architecture = try(regex("\n  Architecture:\n    Type: String\n    Default: (\\w+)", local.source)[0], "an unknown architecture")

  relative_code = "CodeUri: (?:\\./)?([a-z-]+\\.zip)"
  source        = try(file("${local.package}/template.yaml"), "")
  with_code     = replace(local.source, "/${local.relative_code}/", "CodeUri: s3://${local.bucket}/${local.key_prefix}/$1")

  # After an update that CloudFormation rolled back, the state of Terraform has the new template_url. The provider reads
  # parameters back: this one shows that the stack has the old package, so that the next apply updates it again.
  package_parameter = "\nParameters:\n  Package:\n    Type: String\n    Description: Version of the template and the code\n"
  template          = replace(local.with_code, "\nParameters:\n", local.package_parameter)
}

resource "aws_s3_bucket" "package" {
  count = var.bucket == null ? 1 : 0

  bucket_prefix = "${lower(substr(local.stack_name, 0, 36))}-"
  force_destroy = true
  tags          = var.tags
}

resource "aws_s3_bucket_public_access_block" "package" {
  count = length(aws_s3_bucket.package)

  bucket                  = aws_s3_bucket.package[count.index].bucket
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_policy" "package" {
  count = length(aws_s3_bucket.package)

  bucket = aws_s3_bucket.package[count.index].bucket
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "OnlyOverTls"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [aws_s3_bucket.package[count.index].arn, "${aws_s3_bucket.package[count.index].arn}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
}

resource "aws_s3_object" "zip" {
  for_each = toset(local.zips)

  bucket = local.bucket
  key    = "${local.key_prefix}/${each.key}"
  source = "${local.package}/${each.key}"

  # An update that CloudFormation rolls back needs the old objects.
  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "template" {
  bucket       = local.bucket
  key          = "${local.key_prefix}/template.yaml"
  content      = local.template
  content_type = "application/yaml"

  lifecycle {
    create_before_destroy = true

    precondition {
      condition     = alltrue([for file in local.files : fileexists("${local.package}/${file}")])
      error_message = "The folder ${local.package} does not contain ${join(", ", local.files)}. Set package to the folder that make dist wrote, or to an unpacked archive of a release."
    }

    precondition {
      condition     = local.source == "" || sort([for match in regexall(local.relative_code, local.source) : match[0]]) == sort(local.zips)
      error_message = "${local.package}/template.yaml does not name the zips of the three functions once each, so make dist did not write it."
    }
  }
}

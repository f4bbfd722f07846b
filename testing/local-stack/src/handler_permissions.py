"""The actions that CloudFormation's handlers of the resource types call with the caller's permissions, and on which resources.

Sources: the types' schemas (https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html) and the
Service Authorization Reference (https://docs.aws.amazon.com/service-authorization/latest/reference/), both as cfn-lint has them.
"""

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path

DATA = Path(find_spec("cfnlint").origin).parent / "data"
FUNCTION, BUCKET, QUEUE = "AWS::Lambda::Function", "AWS::S3::Bucket", "AWS::SQS::Queue"

# The ARN of a resource, without its partition.
ARNS = {
    "AWS::CloudWatch::Alarm": "cloudwatch:{region}:{account}:alarm:{name}",
    "AWS::CloudWatch::Dashboard": "cloudwatch::{account}:dashboard/{name}",
    "AWS::Events::Rule": "events:{region}:{account}:rule/{name}",
    "AWS::IAM::ManagedPolicy": "iam::{account}:policy{path}{name}",
    "AWS::IAM::Role": "iam::{account}:role{path}{name}",
    "AWS::Lambda::EventSourceMapping": "lambda:{region}:{account}:event-source-mapping:{name}",
    FUNCTION: "lambda:{region}:{account}:function:{name}",
    "AWS::Logs::LogGroup": "logs:{region}:{account}:log-group:{name}",
    BUCKET: "s3:::{name}",
    "AWS::SNS::Topic": "sns:{region}:{account}:{name}",
    QUEUE: "sqs:{region}:{account}:{name}",
}
# Types whose calls are on another resource: the property that names it, and its type.
PARTS = {
    "AWS::Lambda::EventInvokeConfig": ("FunctionName", FUNCTION),
    "AWS::Lambda::Permission": ("FunctionName", FUNCTION),
    "AWS::S3::BucketPolicy": ("Bucket", BUCKET),
    "AWS::SNS::TopicPolicy": ("Topics", "AWS::SNS::Topic"),
    "AWS::SQS::QueuePolicy": ("Queues", QUEUE),
    # https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-custom-resources.html
    "Custom::": ("ServiceToken", FUNCTION),
}
# The names of resources that the template does not leave to CloudFormation.
NAMES = {"AWS::CloudWatch::Dashboard": "DashboardName", "AWS::Logs::LogGroup": "LogGroupName"}

# A schema lists the actions for all properties. These are needed only for the named one.
ONLY_FOR = {
    "AWS::Events::Rule": {"RoleArn": ["iam:PassRole"]},
    "AWS::IAM::ManagedPolicy": {
        "Groups": ["iam:AttachGroupPolicy", "iam:DetachGroupPolicy"],
        "Roles": ["iam:AttachRolePolicy", "iam:DetachRolePolicy"],
        "Users": ["iam:AttachUserPolicy", "iam:DetachUserPolicy"],
    },
    "AWS::IAM::Role": {"PermissionsBoundary": ["iam:PutRolePermissionsBoundary", "iam:DeleteRolePermissionsBoundary"]},
    "AWS::Lambda::EventSourceMapping": {"KmsKeyArn": ["kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey"]},
    FUNCTION: {
        "CapacityProviderConfig": ["lambda:PassCapacityProvider"],
        "CodeSigningConfigArn": [
            "lambda:DeleteFunctionCodeSigningConfig",
            "lambda:GetCodeSigningConfig",
            "lambda:PutFunctionCodeSigningConfig",
        ],
        "FileSystemConfigs": ["elasticfilesystem:DescribeMountTargets", "s3files:ListMountTargets"],
        "FunctionScalingConfig": ["lambda:PutFunctionScalingConfig"],
        "KmsKeyArn": ["kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey"],
        "Layers": ["lambda:GetLayerVersion"],
        "PublishToLatestPublished": ["lambda:PublishVersion"],
        "RecursiveLoop": ["lambda:PutFunctionRecursionConfig"],
        "ReservedConcurrentExecutions": ["lambda:DeleteFunctionConcurrency", "lambda:PutFunctionConcurrency"],
        "RuntimeManagementConfig": ["lambda:PutRuntimeManagementConfig"],
        "S3ObjectVersion": ["s3:GetObjectVersion"],
        "VpcConfig": [
            "ec2:DescribeNetworkInterfaces",
            "ec2:DescribeSecurityGroups",
            "ec2:DescribeSubnets",
            "ec2:DescribeVpcs",
        ],
    },
    "AWS::Logs::LogGroup": {
        "BearerTokenAuthenticationEnabled": ["logs:PutBearerTokenAuthentication"],
        "DataProtectionPolicy": ["firehose:TagDeliveryStream", "logs:CreateLogDelivery", "logs:PutDataProtectionPolicy"],
        "DeletionProtectionEnabled": ["logs:PutLogGroupDeletionProtection"],
        "FieldIndexPolicies": ["logs:DeleteIndexPolicy", "logs:PutIndexPolicy"],
        "KmsKeyId": ["logs:AssociateKmsKey", "logs:DisassociateKmsKey"],
        "ResourcePolicyDocument": ["logs:DeleteResourcePolicy", "logs:PutResourcePolicy"],
    },
    BUCKET: {
        "AbacStatus": ["s3:PutBucketAbac"],
        "AccelerateConfiguration": ["s3:PutAccelerateConfiguration"],
        "AccessControl": ["s3:PutBucketAcl", "s3:PutObjectAcl"],
        "AnalyticsConfigurations": ["s3:PutAnalyticsConfiguration"],
        "CorsConfiguration": ["s3:PutBucketCORS"],
        "IntelligentTieringConfigurations": ["s3:PutIntelligentTieringConfiguration"],
        "InventoryConfigurations": ["s3:PutInventoryConfiguration"],
        "LoggingConfiguration": ["s3:PutBucketLogging"],
        "MetadataConfiguration": [
            "s3:CreateBucketMetadataTableConfiguration",
            "s3:DeleteBucketMetadataTableConfiguration",
            "s3:UpdateBucketMetadataAnnotationTableConfiguration",
            "s3:UpdateBucketMetadataInventoryTableConfiguration",
            "s3:UpdateBucketMetadataJournalTableConfiguration",
            "s3tables:CreateNamespace",
            "s3tables:CreateTable",
            "s3tables:CreateTableBucket",
            "s3tables:GetTable",
            "s3tables:GetTableMetadataLocation",
            "s3tables:PutTableBucketPolicy",
            "s3tables:PutTableEncryption",
            "s3tables:PutTablePolicy",
            "s3tables:UpdateTableMetadataLocation",
        ],
        "MetricsConfigurations": ["s3:PutMetricsConfiguration"],
        # The schema does not say why objects are deleted; no other property names objects.
        "NotificationConfiguration": ["s3:DeleteObject", "s3:PutBucketNotification"],
        "ObjectLockEnabled": ["s3:PutBucketObjectLockConfiguration"],
        "ReplicationConfiguration": ["iam:PassRole", "s3:PutReplicationConfiguration"],
        "VersioningConfiguration": ["s3:PutBucketVersioning"],
        "WebsiteConfiguration": ["s3:DeleteBucketWebsite", "s3:PutBucketWebsite"],
    },
    "AWS::SNS::Topic": {
        "DataProtectionPolicy": ["sns:PutDataProtectionPolicy"],
        "DeliveryStatusLogging": ["iam:GetRole", "iam:PassRole"],
        "Subscription": ["sns:Subscribe", "sns:Unsubscribe"],
    },
}
# https://docs.aws.amazon.com/lambda/latest/dg/permissions-condition-keys.html
OF_A_FUNCTION = {f"lambda:{operation}EventSourceMapping" for operation in ("Create", "Delete", "Update")}


@cache
def read(path):
    return json.loads((DATA / path).read_text())


def resource_types(action):
    """The types of resource that an action can be limited to. `None` if IAM has no such action: schemas name some."""
    service, name = action.split(":")
    known = read("AdditionalSpecs/Policies.json").get(service, {}).get("Actions", {}).get(name.lower())
    return None if known is None else known.get("Resources", [])


@cache
def handlers(kind):
    schema = read("schemas/providers/us-east-1.json").get(kind)
    return read(f"schemas/resources/{schema}.json").get("handlers", {}) if schema else {}


def has(properties, name):
    """Whether a property is set, at any depth."""
    if isinstance(properties, dict):
        return name in properties or any(has(value, name) for value in properties.values())
    return isinstance(properties, list) and any(has(value, name) for value in properties)


def actions(kind, operation, properties):
    """What CloudFormation calls to `create`, `update` or `delete` a resource with these properties."""
    if kind.startswith("Custom::"):
        return ["lambda:InvokeFunction"]
    known = handlers(kind)
    # A handler ends by reading what it has created or updated.
    listed = [*known.get(operation, {}).get("permissions", [])]
    listed += known.get("read", {}).get("permissions", []) if operation != "delete" else []
    properties_of = {action: name for name, named in ONLY_FOR.get(kind, {}).items() for action in named}
    needed = []
    for service, name in (action.split(":", 1) for action in dict.fromkeys(listed)):
        action = f"{service.lower()}:{name}"
        is_used = action not in properties_of or has(properties, properties_of[action])
        if is_used and action not in needed and resource_types(action) is not None:
            needed.append(action)
    return needed


def arn(kind, name, properties, region, account):
    if name.startswith("arn:"):
        return name
    path = properties.get("Path", "/")
    # The physical ID of a queue is its URL.
    name = name.rsplit("/", 1)[-1] if kind == QUEUE else name
    return "arn:aws:" + ARNS[kind].format(region=region, account=account, path=path, name=name)


def called_on(kind, action, name, properties, region, account):
    """The resources of a call, and its condition keys."""
    if kind not in ARNS and kind not in PARTS and not kind.startswith("Custom::"):
        # Not a type of the controller's template: whether the action is allowed at all.
        return ["*"], {}
    if action == "iam:PassRole":
        return [properties["Role"]], {"iam:PassedToService": "lambda.amazonaws.com"}
    if kind == FUNCTION and action == "s3:GetObject":
        return [f"arn:aws:s3:::{properties['Code']['S3Bucket']}/{properties['Code']['S3Key']}"], {}
    keys = {}
    if action in OF_A_FUNCTION:
        keys = {"lambda:FunctionArn": arn(FUNCTION, properties["FunctionName"], {}, region, account)}
    if not resource_types(action):
        return ["*"], keys
    part = PARTS.get("Custom::" if kind.startswith("Custom::") else kind)
    if not part:
        return [arn(kind, name, properties, region, account)], keys
    names = properties[part[0]]
    return [arn(part[1], it, {}, region, account) for it in (names if isinstance(names, list) else [names])], keys

"""Writes the policies of docs/reference/permissions-to-deploy.md (what a person or a pipeline needs that deploys the template) and of
docs/how-to/alarms.md (what people on call need).

    deployers.py           writes them
    deployers.py --check   fails if they are not what this writes
"""

import json
import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "testing/local-stack/src")]

import dist  # noqa: E402
import handler_permissions  # noqa: E402
import yaml  # noqa: E402

PAGE = ROOT / "docs/reference/permissions-to-deploy.md"
RUNBOOK = ROOT / "docs/how-to/alarms.md"
COMMANDS = ROOT / "docs/reference/commands"
START, END = "<!-- written by make pages: {} -->\n", "<!-- end -->\n"
# What a reader replaces.
ACCOUNT, REGION, STACK, STACKSET, BUCKETS = "111122223333", "eu-west-1", "ecs-mesh-controller", "mesh", "mesh-111122223333-*"
PLACE = {"region": REGION, "account": ACCOUNT}
# The stack of the bucket that `sam deploy --resolve-s3` creates.
SAM = "aws-sam-cli-managed-default"
# The longest policy that IAM accepts: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
LONGEST = 6144
# How names of the stack's resources begin.
PATTERNS = {
    "AWS::CloudWatch::Dashboard": STACK,
    "AWS::Lambda::EventSourceMapping": "*",
    "AWS::Logs::LogGroup": f"/aws/lambda/{STACK}-*",
}
# The name of a statement by what its resources are; `*` has one for each service.
NAMES = {
    "alarm": "Alarms",
    "dashboard": "Dashboard",
    "rule": "Rules",
    "policy": "Policies",
    "role": "Roles",
    "event-source-mapping": "EventSourceMappings",
    "function": "Functions",
    "log-group": "LogGroups",
    "s3": "Bucket",
    "sns": "Topic",
    "sqs": "Queues",
    "ec2": "Vpc",
    "logs": "ListLogGroups",
    "lambda": "CreateEventSourceMapping",
}
# What the CLI of a tool calls itself, on the stack.
CALLS = {
    "sam": [
        "CreateChangeSet",
        "DeleteStack",
        "DescribeChangeSet",
        "DescribeStackEvents",
        "DescribeStacks",
        "ExecuteChangeSet",
        "GetTemplate",
        "GetTemplateSummary",
        "ListChangeSets",
    ],
    "terraform": [
        "CreateStack",
        "DeleteStack",
        "DescribeStackEvents",
        "DescribeStacks",
        "GetTemplate",
        "UpdateStack",
    ],
}
# What version 5.100 of Terraform's AWS provider calls for the bucket of the package and its objects: PutBucketTagging with `tags`,
# and the actions of versions to empty a bucket in which something else is left.
TERRAFORM_BUCKET = [
    "s3:CreateBucket",
    "s3:DeleteBucket",
    "s3:DeleteBucketPolicy",
    "s3:GetAccelerateConfiguration",
    "s3:GetBucketAcl",
    "s3:GetBucketCORS",
    "s3:GetBucketLogging",
    "s3:GetBucketObjectLockConfiguration",
    "s3:GetBucketPolicy",
    "s3:GetBucketPublicAccessBlock",
    "s3:GetBucketRequestPayment",
    "s3:GetBucketTagging",
    "s3:GetBucketVersioning",
    "s3:GetBucketWebsite",
    "s3:GetEncryptionConfiguration",
    "s3:GetLifecycleConfiguration",
    "s3:GetReplicationConfiguration",
    "s3:ListBucket",
    "s3:ListBucketVersions",
    "s3:PutBucketPolicy",
    "s3:PutBucketPublicAccessBlock",
    "s3:PutBucketTagging",
]
TERRAFORM_OBJECTS = ["s3:DeleteObject", "s3:DeleteObjectVersion", "s3:GetObject", "s3:GetObjectTagging", "s3:PutObject"]
# https://docs.aws.amazon.com/service-authorization/latest/reference/list_awscloudformation.html
STACKSETS = [
    "CreateStackInstances",
    "DeleteStackInstances",
    "DeleteStackSet",
    "DescribeStackInstance",
    "DescribeStackSet",
    "DescribeStackSetOperation",
    "ListStackInstances",
    "ListStackSetOperationResults",
    "ListStackSetOperations",
    "UpdateStackInstances",
    "UpdateStackSet",
]
KEYS = {"iam:PassedToService": "StringEquals", "lambda:FunctionArn": "ArnLike"}


def template() -> dict:
    """The resources of the template, as CloudFormation creates them."""
    return yaml.safe_load(dist.stackset((ROOT / "template.yaml").read_text(), "arm64"))["Resources"]


def pattern(kind: str) -> str:
    return PATTERNS.get(kind, f"{STACK}-*")


def with_patterns(properties: dict) -> dict:
    """The properties, with patterns in the place of what names other resources."""
    named = {part: pattern(kind) for part, kind in handler_permissions.PARTS.values()}
    named["Role"] = handler_permissions.arn("AWS::IAM::Role", pattern("AWS::IAM::Role"), {}, **PLACE)
    # The code is where the tool has put it.
    named["Code"] = {"S3Bucket": "", "S3Key": ""}
    named["Path"] = "/"
    return {**properties, **{name: value for name, value in named.items() if name in properties}}


def name_of(resource: str, keys: dict, actions: list[str]) -> str:
    """The name of a statement."""
    if "iam:PassedToService" in keys:
        return "PassTheRoles"
    if resource == "*":
        return NAMES[actions[0].split(":")[0]]
    _, _, service, *_, last = resource.split(":", 5)
    kind = re.split("[:/]", last)[0]
    name = NAMES.get(kind, NAMES.get(service))
    return f"Change{name}" if keys else name


def statement(name: str, actions: Iterable[str], resource: str | list[str], condition: dict | None = None) -> dict:
    allowed = {"Sid": name, "Effect": "Allow", "Action": sorted(actions), "Resource": resource}
    return {**allowed, "Condition": condition} if condition else allowed


def resources() -> list[dict]:
    """What CloudFormation calls with the caller's permissions, to create, update and delete the stack."""
    groups = defaultdict(set)
    for resource in template().values():
        kind, properties = resource["Type"], with_patterns(resource.get("Properties", {}))
        for operation in ("create", "update", "delete"):
            for action in handler_permissions.actions(kind, operation, properties):
                on, keys = handler_permissions.called_on(kind, action, pattern(kind), properties, **PLACE)
                # A statement for * has the actions of one service.
                service = action.split(":")[0] if on == ["*"] else ""
                groups[service, on[0], json.dumps(keys)].add(action)
    found = []
    for (_, resource, keys), actions in groups.items():
        keys, actions = json.loads(keys), sorted(actions)
        if actions != ["s3:GetObject"]:
            condition = {KEYS[key]: {key: value} for key, value in keys.items()}
            found.append(statement(name_of(resource, keys, actions), actions, resource, condition))
    return sorted(found, key=lambda one: one["Sid"])


def cloudformation(names: Iterable[str], *resources: str, sid: str = "Stack") -> dict:
    resources = [f"arn:aws:cloudformation:{REGION}:{resource}" for resource in resources]
    return statement(sid, [f"cloudformation:{name}" for name in names], resources[0] if len(resources) == 1 else resources)


def transform() -> dict:
    return cloudformation(["CreateChangeSet"], "aws:transform/Serverless-2016-10-31", sid="Transform")


def sam() -> list[dict]:
    from samcli.lib.bootstrap.bootstrap import _get_stack_template

    needed = set()
    for resource in json.loads(_get_stack_template())["Resources"].values():
        needed.update(handler_permissions.actions(resource["Type"], "create", resource["Properties"]))
    managed = ["CreateChangeSet", "DescribeChangeSet", "DescribeStacks", "ExecuteChangeSet"]
    return [
        cloudformation(CALLS["sam"], f"{ACCOUNT}:stack/{STACK}/*"),
        transform(),
        cloudformation(managed, f"{ACCOUNT}:stack/{SAM}/*", sid="SamStack"),
        # `sam delete` looks for the stack of images' repositories.
        cloudformation(["DescribeStacks"], f"{ACCOUNT}:stack/{STACK}-*-CompanionStack/*", sid="SamCompanionStack"),
        statement("SamBucket", needed, f"arn:aws:s3:::{SAM}-*"),
        statement("SamObjects", ["s3:DeleteObject", "s3:GetObject", "s3:PutObject"], f"arn:aws:s3:::{SAM}-*/*"),
    ]


def terraform() -> list[dict]:
    return [
        cloudformation(CALLS["terraform"], f"{ACCOUNT}:stack/{STACK}/*"),
        transform(),
        statement("PackageBucket", TERRAFORM_BUCKET, f"arn:aws:s3:::{STACK}-*"),
        statement("PackageObjects", TERRAFORM_OBJECTS, f"arn:aws:s3:::{STACK}-*/*"),
        statement("DefaultSecurityGroup", ["ec2:DescribeSecurityGroups", "ec2:DescribeSubnets"], "*"),
    ]


def stacksets() -> list[dict]:
    of_the_set = [f"{ACCOUNT}:{kind}/{STACKSET}:*" for kind in ("stackset", "stackset-target")]
    return [
        statement("CreateStackSet", ["cloudformation:CreateStackSet"], "*"),
        cloudformation(STACKSETS, *of_the_set, ":type/resource/*", sid="StackSet"),
        statement("Code", ["s3:GetObject", "s3:PutObject"], f"arn:aws:s3:::{BUCKETS}/ecs-mesh-controller/*"),
    ]


def documented(command: str) -> set[str]:
    """The AWS permissions on the page of a command, with all its options except those for before an installation."""
    section = re.search(r"(?ms)^## Permissions\n(.*?)^## ", (COMMANDS / f"{command}.md").read_text())[1]
    return set(re.findall(r"`([a-z0-9]+:[A-Z]\w+)`", section.split("### With `--before-install`")[0]))


def oncall() -> list[dict]:
    """What the commands of the runbook call: those of `ecs-mesh` by their pages, those of the AWS CLI by this list."""
    place = f"{REGION}:{ACCOUNT}"
    function = f"arn:aws:lambda:{place}:function:{STACK}-*"
    # What a statement of its own limits to the stack: name, actions, resources, condition.
    narrow = [
        ("Reconcile", ["lambda:InvokeFunction"], f"arn:aws:lambda:{place}:function:{STACK}-ReconcileFunction-*", None),
        (
            "Switch",
            ["lambda:UpdateEventSourceMapping"],
            f"arn:aws:lambda:{place}:event-source-mapping:*",
            {"ArnLike": {"lambda:FunctionArn": function}},
        ),
        ("SwitchRules", ["events:DisableRule", "events:EnableRule"], f"arn:aws:events:{place}:rule/{STACK}-*", None),
        (
            "Redrive",
            [
                "sqs:DeleteMessage",
                "sqs:GetQueueAttributes",
                "sqs:ListMessageMoveTasks",
                "sqs:PurgeQueue",
                "sqs:ReceiveMessage",
                "sqs:SendMessage",
                "sqs:StartMessageMoveTask",
            ],
            f"arn:aws:sqs:{place}:{STACK}-*",
            None,
        ),
        ("ReplaceTasks", ["ecs:StopTask"], f"arn:aws:ecs:{place}:task/*", None),
        ("Logs", ["logs:FilterLogEvents"], f"arn:aws:logs:{place}:log-group:/aws/lambda/{STACK}-*", None),
        ("ContainerLogs", ["logs:GetLogEvents"], f"arn:aws:logs:*:{ACCOUNT}:log-group:*", None),
        ("Functions", ["lambda:GetFunctionConcurrency", "lambda:GetPolicy"], function, None),
    ]
    read = {"cloudwatch:DescribeAlarms", "lambda:GetAccountSettings", "lambda:ListEventSourceMappings"}
    for command in ("status", "why", "path", "doctor", "sweep", "redrive"):
        read |= documented(command)
    read -= {action for _, actions, _, _ in narrow for action in actions}
    if writes := [action for action in read if not re.search(r":(Describe|Get|List)", action)]:
        sys.exit(f"deployers: limit {', '.join(writes)} to the stack in the policy for people on call")
    return [statement("Read", read, "*"), *(statement(*one) for one in narrow)]


# The policies of each page.
POLICIES = {PAGE: (resources, sam, terraform, stacksets), RUNBOOK: (oncall,)}


def check_table() -> None:
    """Fails if `ONLY_FOR` names what the schemas no longer have."""
    for kind, properties in handler_permissions.ONLY_FOR.items():
        listed = {action for operation in handler_permissions.handlers(kind).values() for action in operation["permissions"]}
        if stale := {action for actions in properties.values() for action in actions} - listed:
            sys.exit(f"deployers: {kind} has no handler that calls {', '.join(sorted(stale))}: remove it from handler_permissions.py")


def text_of(policy: dict) -> str:
    """The policy as JSON, with several actions on a line: a reader copies it, and reads the names of the statements."""

    def short(value: object) -> str:
        # Names have no blanks, so that lines break only between them.
        return textwrap.fill(json.dumps(value), 110, subsequent_indent=8 * " ", break_long_words=False, break_on_hyphens=False)

    statements = []
    for one in policy["Statement"]:
        first = ", ".join(f'"{key}": "{one[key]}"' for key in ("Sid", "Effect"))
        rest = [f'"{key}": {short(value)}' for key, value in one.items() if key not in ("Sid", "Effect")]
        statements.append("    { " + ",\n      ".join([first, *rest]) + " }")
    return '{\n  "Version": "' + policy["Version"] + '",\n  "Statement": [\n' + ",\n".join(statements) + "\n  ]\n}"


def written(path: Path) -> str:
    """The page with its policies."""
    page = path.read_text()
    for policy in POLICIES[path]:
        document = {"Version": "2012-10-17", "Statement": policy()}
        text = text_of(document)
        if (size := len(re.sub(r"\s", "", text))) > LONGEST:
            sys.exit(f"deployers: the policy {policy.__name__} has {size} characters, and IAM accepts {LONGEST}")
        start = START.format(policy.__name__)
        before, found, rest = page.partition(start)
        _, ended, after = rest.partition(END)
        if not (found and ended):
            sys.exit(f"deployers: {path.relative_to(ROOT)} has no place for the policy {policy.__name__}")
        page = f"{before}{start}\n```json\n{text}\n```\n\n{END}{after}"
    return page


def main() -> int:
    check_table()
    for path in POLICIES:
        fresh = written(path)
        if sys.argv[1:] != ["--check"]:
            path.write_text(fresh)
        elif fresh != path.read_text():
            sys.exit(f"deployers: {path.relative_to(ROOT)} is stale: run make pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())

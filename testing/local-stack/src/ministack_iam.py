"""What MiniStack's enforcement of IAM (AUTH=true) lacks: actions, resources and condition keys as the Service Authorization
Reference lists them. It records what was refused, for the tests, and which statements the functions' calls need, for
scripts/statements.py.

Sources, by service: https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelasticcontainerservice.html,
…/list_amazoneventbridge.html, …/list_awssecretsmanager.html, …/list_amazonsqs.html, …/list_awsidentityandaccessmanagementiam.html
"""

import contextvars
import itertools
import json
import os

from ministack import app
from ministack.core import iam_actions, iam_evaluator
from ministack.services import iam, secretsmanager, sts

# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-api-permissions-reference.html
ACTIONS = {
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
}
# Reads that MiniStack takes for other actions, by a part of their path.
LAMBDA_GETS = {
    "/event-source-mappings/": "lambda:GetEventSourceMapping",
    "/concurrency": "lambda:GetFunctionConcurrency",
}
# The further action of a call that sets tags.
WITH_TAGS = {"secretsmanager:CreateSecret": "secretsmanager:TagResource"}
# Actions of ECS without a resource type, and the kind of resource that others name in a list.
WITHOUT_RESOURCE = {"ListClusters", "ListServices", "ListTaskDefinitions", "DescribeTaskDefinition"}
LISTS = {
    "DescribeClusters": ("clusters", "cluster"),
    "DescribeContainerInstances": ("containerInstances", "container-instance"),
    "DescribeServices": ("services", "service"),
    "DescribeTasks": ("tasks", "task"),
}

# The other resources of the request, and its condition keys.
others = contextvars.ContextVar("others", default=())
keys = contextvars.ContextVar("keys", default={})
# The access key of the request, which CloudFormation's tasks inherit.
caller = contextvars.ContextVar("caller", default="")

extract_iam_action = iam_actions.extract_iam_action
extract_resource_arn = iam_actions.extract_resource_arn
enforce = iam_evaluator.enforce
evaluate = iam_evaluator.evaluate

# What has been recorded of the roles: what their statements grant, and what calls need.
recorded = set()


def action_of(service, method, path, *request):
    """The action of a request, in AWS's words."""
    others.set(())
    keys.set({})
    if service == "lambda" and method == "GET":
        for part, action in LAMBDA_GETS.items():
            if part in path.rstrip("/"):
                return action
    action = extract_iam_action(service, method, path, *request)
    return ACTIONS.get(action, action)


def fields_of(body):
    try:
        fields = json.loads(body or b"{}")
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def resources_of_ecs(action, fields, region, account):
    """The resources of a call, and its condition keys."""

    def arn(kind, name):
        return name if name.startswith("arn:") else f"arn:aws:ecs:{region}:{account}:{kind}/{name}"

    cluster = arn("cluster", fields.get("cluster") or "default")
    if action in LISTS:
        field, kind = LISTS[action]
        names = fields.get(field) or ["default"]
        if kind == "cluster":
            return [arn(kind, name) for name in names], {}
        within = cluster.rsplit("/", 1)[-1]
        return [arn(kind, f"{within}/{name}" if ":" not in name else name) for name in names], {"ecs:cluster": cluster}
    if action == "ListTasks":
        return [arn("container-instance", f"{cluster.rsplit('/', 1)[-1]}/*")], {"ecs:cluster": cluster}
    if action in WITHOUT_RESOURCE:
        return ["*"], {"ecs:cluster": cluster} if "cluster" in fields else {}
    return None, {"ecs:cluster": cluster} if "cluster" in fields else {}


def resource_of(service, method, path, headers, body, params, region, account):
    """The first resource of a request. The others, and the condition keys, are kept for `enforce_all`."""
    arn = extract_resource_arn(service, method, path, headers, body, params, region, account)
    fields, found, request_keys = fields_of(body), None, {}
    if service == "ecs":
        action = headers.get("x-amz-target", "").rsplit(".", 1)[-1]
        found, request_keys = resources_of_ecs(action, fields, region, account)
    elif service == "events" and isinstance(fields.get("Entries"), list):
        entries = [entry for entry in fields["Entries"] if isinstance(entry, dict)]
        if sources := [entry["Source"] for entry in entries if "Source" in entry]:
            request_keys = {"events:source": sources}
    elif service == "events":
        # The ARN of a rule on the default bus does not have the name of the bus.
        arn = arn.replace(":rule/default/", ":rule/")
    elif service == "secretsmanager" and "SecretId" in fields:
        _, secret = secretsmanager._resolve(fields["SecretId"])
        request_keys = {"secretsmanager:SecretId": secret["ARN"] if secret else fields["SecretId"]}
    elif service == "secretsmanager" and secretsmanager._resolve(fields.get("Name", ""))[1] is None:
        # The name has no random suffix yet, and what AWS denies is the name with one.
        found = [arn, f"{arn}-AbCdEf"]
    elif service == "iam" and arn.startswith(f"arn:aws:iam::{account}:role/"):
        # A role that does not exist has no path: https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetRole.html
        arn = (iam._roles.get(arn.rsplit("/", 1)[-1]) or {"Arn": arn})["Arn"]
    others.set(tuple(found[1:] if found else ()))
    keys.set(request_keys)
    return found[0] if found else arn


def enforce_all(access_key, action, service, region, resource_arn="*", service_context=None):
    """Every resource of the request must be allowed. What a role is refused is recorded."""
    caller.set(access_key)
    context = {**(service_context or {}), **keys.get()}
    actions = [action, WITH_TAGS[action]] if action in WITH_TAGS and "aws:TagKeys" in context else [action]
    for called, resource in itertools.product(actions, (resource_arn, *others.get())):
        denied = enforce(access_key, called, service, region, resource_arn=resource, service_context=context)
        if denied:
            record(access_key, denied, called, resource, context)
            return denied
    return None


def append(path, line):
    with open(path, "a", encoding="utf-8") as log:
        log.write(json.dumps(line, default=str) + "\n")


def record(access_key, denied, action, resource, context):
    session = sts._sessions.get(access_key) or {}
    principal = getattr(denied, "principal_arn", "") or session.get("Arn") or access_key
    append(os.environ["REFUSED"], {"principal": principal, "action": action, "resource": resource, "keys": context})


def evaluate_and_note(context, policies, *limits):
    """Evaluates, and records which statements a role has, and the one that a call needs because no other allows it."""
    result = evaluate(context, policies, *limits)
    _, is_session, session = context.principal_arn.partition(":assumed-role/")
    if result.decision == "Allow" and is_session:
        role = session.split("/")[0]
        statements = [statement for document in policies for statement in document if statement.effect == "Allow"]
        for statement in statements:
            for action in statement.actions:
                note({"role": role, "sid": statement.sid, "granted": action})
        allowing = [it.sid for it in statements if evaluate(context, [[it]]).decision == "Allow"]
        if len(allowing) == 1:
            note({"role": role, "sid": allowing[0], "needed": context.action})
    return result


def as_text_xml(handle):
    """The answers of a Query API with the type that AWS sends, and that Consul demands:
    https://github.com/hashicorp/consul-awsauth/blob/main/auth.go
    """

    async def handle_request(*request):
        status, headers, body = await handle(*request)
        if headers.get("Content-Type") == "application/xml":
            headers = {**headers, "Content-Type": "text/xml"}
        return status, headers, body

    return handle_request


def note(line):
    """Records what is new."""
    if (key := tuple(line.items())) not in recorded:
        recorded.add(key)
        append(os.environ["STATEMENTS"], line)


def install():
    """Puts these functions in the place of MiniStack's."""
    # The tests expect the file: without it, they would not see that nothing is recorded.
    open(os.environ["REFUSED"], "a").close()
    iam_actions.extract_iam_action = action_of
    iam_actions.extract_resource_arn = resource_of
    iam_evaluator.enforce = enforce_all
    if os.environ.get("STATEMENTS"):
        iam_evaluator.evaluate = evaluate_and_note
    # Loopback is not encrypted, and AWS is.
    app.pin_request_origin = lambda address, _: iam_evaluator.pin_request_origin(address, True)
    # ECS accepts task roles that do not exist, and finds out when it starts a task.
    iam_evaluator.validate_role_arn = lambda _: None
    for service in (iam, sts):
        service.handle_request = as_text_xml(service.handle_request)

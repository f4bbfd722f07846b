"""Calls of AWS that need more than one line."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from botocore.exceptions import ClientError

from . import Problem

# Returns the client of a service.
Clients = Callable[[str], Any]

# Seconds between two looks at something that takes minutes.
PAUSE = 2
# How many tasks and definitions ECS takes in one call.
TASKS, DEFINITIONS = 100, 10


def wait_for(what: str, look: Callable[[], Any], until: float, pause: float | None = None) -> Any:
    """What `look` returns once it is true. Fails at a time in seconds since 1970, after one look at least."""
    began = time.time()
    while not (found := look()):
        if time.time() >= until:
            raise Problem(f"waited {time.time() - began:.0f} s for {what}")
        time.sleep(PAUSE if pause is None else pause)
    return found


def code_of(error: ClientError) -> str:
    return error.response["Error"]["Code"]


def pages(client: Any, operation: str, key: str, **arguments: Any) -> Iterator[Any]:
    """What all pages of a list have under a key."""
    for page in client.get_paginator(operation).paginate(**arguments):
        yield from page.get(key, [])


def stack_of(aws: Clients, name: str) -> dict | None:
    try:
        return aws("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if code_of(error) == "ValidationError" and "does not exist" in str(error):
            return None
        raise


def why_failed(aws: Clients, name: str) -> str:
    """The reasons of the resources that failed first, as CloudFormation has them."""
    events = pages(aws("cloudformation"), "describe_stack_events", "StackEvents", StackName=name)
    failed = [event for event in events if event["ResourceStatus"].endswith("_FAILED")]
    reasons = [f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason', 'no reason')}" for event in failed]
    return "; ".join(reversed(reasons)) or "no resource has a reason"


def create_stack(
    aws: Clients, name: str, template: str, parameters: dict[str, str], tags: list[dict], until: float
) -> dict[str, str]:
    """Creates a stack, and returns its outputs. Fails at a time in seconds since 1970."""
    given = [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()]
    aws("cloudformation").create_stack(
        StackName=name,
        TemplateBody=template,
        Parameters=given,
        Tags=tags,
        Capabilities=["CAPABILITY_IAM"],
        OnFailure="DO_NOTHING",
    )

    def ended() -> dict | None:
        stack = stack_of(aws, name) or {"StackStatus": "absent"}
        return None if stack["StackStatus"] == "CREATE_IN_PROGRESS" else stack

    stack = wait_for(f"stack {name} to be created", ended, until)
    if stack["StackStatus"] != "CREATE_COMPLETE":
        raise Problem(f"cannot create stack {name}: {why_failed(aws, name)}")
    return outputs_of(stack)


def outputs_of(stack: dict) -> dict[str, str]:
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}


def running_tasks(aws: Clients, cluster: str, **which: str) -> list[dict]:
    """The tasks of a cluster that were not told to stop."""
    ecs = aws("ecs")
    arns = list(pages(ecs, "list_tasks", "taskArns", cluster=cluster, **which))
    chunks = [arns[first : first + TASKS] for first in range(0, len(arns), TASKS)]
    return [task for chunk in chunks for task in ecs.describe_tasks(cluster=cluster, tasks=chunk)["tasks"]]


def interface_of(task: dict) -> dict[str, str] | None:
    """The details of a task's network interface, once it has one."""
    for attachment in task.get("attachments", []):
        if attachment["type"] == "ElasticNetworkInterface":
            return {detail["name"]: detail["value"] for detail in attachment["details"]}
    return None


def public_address(aws: Clients, interface: str) -> str | None:
    found = aws("ec2").describe_network_interfaces(NetworkInterfaceIds=[interface])["NetworkInterfaces"]
    return found[0].get("Association", {}).get("PublicIp") if found else None

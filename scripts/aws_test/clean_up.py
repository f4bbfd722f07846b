"""Removes what the journal has, the newest first. Each removal succeeds if there is nothing to remove, so that a clean-up can be
interrupted and repeated at any point.
"""

import time
from collections.abc import Callable

from botocore.exceptions import BotoCoreError, ClientError

from . import Problem
from .aws import DEFINITIONS, PAUSE, Clients, code_of, pages, running_tasks, stack_of, why_failed
from .journal import Entry, Journal

# What RunTask calls the tasks of a run that no service has started.
STARTED_BY = "aws-test"


def remove_bucket(aws: Clients, name: str, _: Journal) -> None:
    s3 = aws("s3")
    try:
        while found := s3.list_objects_v2(Bucket=name).get("Contents"):
            s3.delete_objects(Bucket=name, Delete={"Objects": [{"Key": it["Key"]} for it in found], "Quiet": True})
        s3.delete_bucket(Bucket=name)
    except ClientError as error:
        if code_of(error) != "NoSuchBucket":
            raise


def remove_stack(aws: Clients, name: str, journal: Journal) -> None:
    if not stack_of(aws, name):
        return
    # CloudFormation retains the bucket of the audit's reports.
    for resource in pages(aws("cloudformation"), "list_stack_resources", "StackResourceSummaries", StackName=name):
        if resource["ResourceType"] == "AWS::S3::Bucket" and resource.get("PhysicalResourceId"):
            journal.about_to_create("bucket", resource["PhysicalResourceId"])
    aws("cloudformation").delete_stack(StackName=name)
    while (stack := stack_of(aws, name)) and not stack["StackStatus"].endswith("DELETE_FAILED"):
        time.sleep(PAUSE)
    if stack:
        raise Problem(why_failed(aws, name))


def stop_tasks(aws: Clients, cluster: str, _: Journal) -> None:
    """Stops the tasks that no service has started. CloudFormation deletes no cluster with tasks."""
    ecs = aws("ecs")
    try:
        tasks = [task["taskArn"] for task in running_tasks(aws, cluster, startedBy=STARTED_BY)]
        for task in tasks:
            ecs.stop_task(cluster=cluster, task=task, reason="make aws-test has ended")
        while tasks and any(it["lastStatus"] != "STOPPED" for it in ecs.describe_tasks(cluster=cluster, tasks=tasks)["tasks"]):
            time.sleep(PAUSE)
    except ClientError as error:
        if code_of(error) != "ClusterNotFoundException":
            raise


def delete_definitions(aws: Clients, prefix: str, _: Journal) -> None:
    """Deletes the task definitions. CloudFormation only deregisters them."""
    ecs = aws("ecs")
    if active := list(pages(ecs, "list_task_definition_families", "families", familyPrefix=prefix, status="ACTIVE")):
        raise Problem(f"{', '.join(active)}: still active, because the stack is still there")
    for family in list(pages(ecs, "list_task_definition_families", "families", familyPrefix=prefix, status="INACTIVE")):
        # The prefix of a list of definitions is a whole family.
        arns = list(pages(ecs, "list_task_definitions", "taskDefinitionArns", familyPrefix=family, status="INACTIVE"))
        for first in range(0, len(arns), DEFINITIONS):
            answer = ecs.delete_task_definitions(taskDefinitions=arns[first : first + DEFINITIONS])
            if failures := answer.get("failures"):
                raise Problem("; ".join(f"{failure['arn']}: {failure['reason']}" for failure in failures))


# How what the journal names is removed, by its kind.
REMOVALS: dict[str, Callable[[Clients, str, Journal], None]] = {
    "bucket": remove_bucket,
    "stack": remove_stack,
    "tasks of cluster": stop_tasks,
    "task definitions": delete_definitions,
}


def clean_up(aws: Clients, journal: Journal, say: Callable[[str], None]) -> dict[Entry, str]:
    """Removes what may exist. Returns what could not be removed, each with the reason."""
    left: dict[Entry, str] = {}
    # A removal may add entries.
    while pending := [entry for entry in journal.entries() if entry not in left]:
        entry = pending[-1]
        if (entry.account, entry.region) != (journal.account, journal.region):
            left[entry] = f"it is in account {entry.account}, region {entry.region}: run this with credentials for it"
            continue
        say(f"removing {entry.kind} {entry.name}")
        try:
            REMOVALS[entry.kind](aws, entry.name, journal)
        except (ClientError, BotoCoreError, Problem) as error:
            left[entry] = str(error)
        else:
            journal.removed(entry)
    return left

"""Removes what the journal has, the newest first. Each removal succeeds if there is nothing to remove, so that a clean-up can be
interrupted and repeated at any point.
"""

import time
from collections.abc import Callable

from botocore.exceptions import ClientError

from . import Problem
from .aws import DEFINITIONS, Clients, code_of, pages, running_tasks, stack_of, wait_for, why_failed
from .journal import Entry, Journal

# What RunTask calls the tasks of a run that no service has started.
STARTED_BY = "aws-test"
# How long one removal may take, and all of them, in seconds. Past that, each removal is still ordered, and not waited for.
LONGEST_REMOVAL = 15 * 60
LONGEST_CLEAN_UP = 30 * 60


def remove_bucket(aws: Clients, name: str, _: Journal, until: float) -> None:
    s3 = aws("s3")

    def is_empty() -> bool:
        found = s3.list_objects_v2(Bucket=name).get("Contents")
        if found:
            objects = [{"Key": it["Key"]} for it in found]
            # With status 200, S3 names here what it did not delete.
            if errors := s3.delete_objects(Bucket=name, Delete={"Objects": objects, "Quiet": True}).get("Errors"):
                raise Problem("; ".join(f"{it['Key']}: {it['Code']} {it.get('Message', '')}".rstrip() for it in errors))
        return not found

    try:
        wait_for(f"the objects of bucket {name} to be deleted", is_empty, until, 0)
        s3.delete_bucket(Bucket=name)
    except ClientError as error:
        if code_of(error) != "NoSuchBucket":
            raise


def remove_stack(aws: Clients, name: str, journal: Journal, until: float) -> None:
    if not stack_of(aws, name):
        return
    # CloudFormation retains the bucket of the audit's reports.
    for resource in pages(aws("cloudformation"), "list_stack_resources", "StackResourceSummaries", StackName=name):
        if resource["ResourceType"] == "AWS::S3::Bucket" and resource.get("PhysicalResourceId"):
            journal.about_to_create("bucket", resource["PhysicalResourceId"])
    aws("cloudformation").delete_stack(StackName=name)

    def is_deleted() -> bool:
        stack = stack_of(aws, name)
        if stack and stack["StackStatus"].endswith("DELETE_FAILED"):
            raise Problem(why_failed(aws, name))
        return not stack

    wait_for(f"stack {name} to be deleted", is_deleted, until)


def stop_tasks(aws: Clients, cluster: str, _: Journal, until: float) -> None:
    """Stops the tasks that no service has started. CloudFormation deletes no cluster with tasks."""
    ecs = aws("ecs")
    try:
        tasks = [task["taskArn"] for task in running_tasks(aws, cluster, startedBy=STARTED_BY)]
        for task in tasks:
            ecs.stop_task(cluster=cluster, task=task, reason="make aws-test has ended")

        def are_stopped() -> bool:
            return all(it["lastStatus"] == "STOPPED" for it in ecs.describe_tasks(cluster=cluster, tasks=tasks)["tasks"])

        if tasks:
            wait_for(f"{len(tasks)} tasks of cluster {cluster} to stop", are_stopped, until)
    except ClientError as error:
        if code_of(error) != "ClusterNotFoundException":
            raise


def delete_definitions(aws: Clients, prefix: str, _: Journal, __: float) -> None:
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
REMOVALS: dict[str, Callable[[Clients, str, Journal, float], None]] = {
    "bucket": remove_bucket,
    "stack": remove_stack,
    "tasks of cluster": stop_tasks,
    "task definitions": delete_definitions,
}


def clean_up(aws: Clients, journal: Journal, say: Callable[[str], None]) -> dict[Entry, str]:
    """Removes what may exist. Returns what could not be removed, each with the reason."""
    left: dict[Entry, str] = {}
    until = time.time() + LONGEST_CLEAN_UP
    # A removal may add entries.
    while pending := [entry for entry in journal.entries() if entry not in left]:
        entry = pending[-1]
        if (entry.account, entry.region) != (journal.account, journal.region):
            left[entry] = f"it is in account {entry.account}, region {entry.region}: run this with credentials for it"
            continue
        say(f"removing {entry.kind} {entry.name}")
        try:
            REMOVALS[entry.kind](aws, entry.name, journal, min(until, time.time() + LONGEST_REMOVAL))
        # Whatever it is, the other things are removed.
        except Exception as error:
            left[entry] = str(error) if isinstance(error, Problem) else f"{type(error).__name__}: {error}"
        else:
            journal.removed(entry)
    return left

"""The times and the cost of a run, as JSON and as the tables of docs/explanation/performance.md."""

import json
import statistics
import time
from typing import Any

from . import Problem, images
from .aws import pages, wait_for
from .plan import METRICS, resources
from .prices import (
    AS_OF, LAMBDA_REQUESTS, LAMBDA_TIME, LOGS, SQS_REQUESTS, Usage, of_stacks, of_tasks, total,
)  # fmt: skip
from .sandbox import TEMPLATES, Sandbox
from .scenarios import Seen
from .timeline import invocation_start, seconds

# Fargate charges at least a minute: https://aws.amazon.com/fargate/pricing/
LEAST_SECONDS = 60
GB = 1e9
# How long after the last scenario CloudWatch Logs may take until it has the function's lines, in seconds.
LOGS_WITHIN = 60


def row_of(seen: Seen) -> dict[str, Any]:
    """What was seen, in seconds, without the legs through the function."""
    row: dict[str, Any] = {
        "scenario": seen.scenario.name,
        "expected": seen.expected.what,
        "within": seen.expected.within,
        "task": seen.task,
        "total": seen.at - seen.since,
        "interval": seen.interval,
    }
    if seen.event and seen.expected.after:
        row["after"] = seen.expected.after.name
        row["event_to_queue"] = seen.event.sent - seen.since
    return row


def measure(sandbox: Sandbox, seen: list[Seen], rows: list[dict[str, Any]]) -> None:
    """Adds the legs through the function to the rows. Fails if the function did not log what it must have done."""
    group = sandbox.controller["TaskEventsLogGroupName"]
    missing = {index for index, it in enumerate(seen) if it.expected.action and it.event}

    def required() -> list[int]:
        return [index for index in sorted(missing) if seen[index].expected.must_log]

    def look() -> bool:
        for index in sorted(missing):
            it = seen[index]
            if started := invocation_start(sandbox.aws, group, it.task, it.event.sent, it.expected.action):
                rows[index]["queue_to_function"] = started - it.event.sent
                rows[index]["function_to_consul"] = it.at - started
                missing.remove(index)
        return not required()

    try:
        wait_for("the lines of task-events", look, time.time() + LOGS_WITHIN)
    except Problem as problem:
        lines = (f"{seen[it].expected.action} of task {seen[it].task} ({seen[it].scenario.name})" for it in required())
        raise Problem(f"task-events logged no {', no '.join(lines)}: see log group {group}") from problem


def usage_of_functions(sandbox: Sandbox) -> list[Usage]:
    """What Lambda charges, from the reports in the logs, and what the logs are."""
    logs, gb_seconds, invocations, size = sandbox.aws("logs"), 0.0, 0, 0
    for name in ("TaskEventsLogGroupName", "ReconcileLogGroupName", "AuditLogGroupName"):
        if name not in sandbox.controller:
            continue
        for line in pages(logs, "filter_log_events", "events", logGroupName=sandbox.controller[name]):
            size += len(line["message"])
            if report := report_of(line["message"]):
                invocations += 1
                gb_seconds += report
    return [Usage(LAMBDA_TIME, gb_seconds), Usage(LAMBDA_REQUESTS, invocations), Usage(LOGS, size / GB)]


def report_of(line: str) -> float | None:
    """The GB-seconds of the line with which Lambda reports an invocation:
    https://docs.aws.amazon.com/lambda/latest/dg/telemetry-schema-reference.html#platform-report"""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if not isinstance(entry, dict) or entry.get("type") != "platform.report":
        return None
    metrics = entry["record"]["metrics"]
    return metrics["billedDurationMs"] / 1000 * metrics["memorySizeMB"] / 1024


def usage_of_queues(sandbox: Sandbox, began: float, ended: float) -> list[Usage]:
    """The requests to the controller's queue, as CloudWatch counts them: it has them minutes later, so that the last are missing."""
    queue = sandbox.controller["TaskEventsQueueUrl"].rsplit("/", 1)[-1]
    requests = 0.0
    for metric in ("NumberOfMessagesSent", "NumberOfMessagesReceived", "NumberOfMessagesDeleted", "NumberOfEmptyReceives"):
        answer = sandbox.aws("cloudwatch").get_metric_statistics(
            Namespace="AWS/SQS", MetricName=metric, Dimensions=[{"Name": "QueueName", "Value": queue}],
            StartTime=began, EndTime=ended, Period=3600, Statistics=["Sum"],
        )  # fmt: skip
        requests += sum(point["Sum"] for point in answer["Datapoints"])
    return [Usage(SQS_REQUESTS, requests)]


def usage_of_tasks(tasks: list[dict], ended: float) -> list[Usage]:
    """The tasks from the pull of their images until they stopped, or until the sandbox was removed."""
    usages: list[Usage] = []
    for task in tasks:
        if pulled := task.get("pullStartedAt"):
            stopped = seconds(task["stoppedAt"]) if task.get("stoppedAt") else ended
            hours = max(stopped - seconds(pulled), LEAST_SECONDS) / 3600
            usages += of_tasks(hours, int(task["cpu"]) / 1024, int(task["memory"]) / 1024)
    return usages


def usage_of_stacks(sandbox: Sandbox, ended: float) -> list[Usage]:
    hours = (ended - sandbox.began) / 3600
    secrets = resources(TEMPLATES["sandbox"])["AWS::SecretsManager::Secret"]
    alarms = resources(sandbox.package / "template.yaml")["AWS::CloudWatch::Alarm"]
    return of_stacks(hours, secrets, alarms, METRICS)


def summed(usages: list[Usage]) -> list[Usage]:
    quantities: dict[Any, float] = {}
    for usage in usages:
        quantities[usage.price] = quantities.get(usage.price, 0.0) + usage.quantity
    return [Usage(price, quantity) for price, quantity in quantities.items()]


def document(sandbox: Sandbox, rows: list[dict], usages: list[Usage], date: str, problem: str) -> dict[str, Any]:
    """What was measured; after a problem, until then."""
    usages = summed(usages)
    return {
        "date": date,
        "region": sandbox.region,
        "images": {**images.CONSUL, **images.SERVICE},
        "doctor": sandbox.doctor,
        "problem": problem,
        "seen": rows,
        "cost": {
            "prices_as_of": AS_OF,
            "dollars": total(usages),
            "usage": [{**usage.price._asdict(), "quantity": usage.quantity, "cost": usage.dollars} for usage in usages],
        },
    }


def cell(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" if value >= 0 else "before"


LEGS = ["event_to_queue", "queue_to_function", "function_to_consul", "total"]


def table(figures: dict[str, Any]) -> str:
    """The tables of docs/explanation/performance.md."""
    lines = [f"Not complete: {figures['problem'].splitlines()[0]}", ""] if figures["problem"] else []
    lines += [
        "| what happens | Consul shows | from ECS to the queue | to the function | to Consul | in all | at most |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in figures["seen"]:
        cells = [row["scenario"], row["expected"], *(cell(row.get(leg)) for leg in LEGS), str(row["within"])]
        lines.append("| " + " | ".join(cells) + " |")
    legs = {leg: [row[leg] for row in figures["seen"] if leg in row and "after" in row] for leg in LEGS}
    medians = [cell(statistics.median(values)) if values else "–" for values in legs.values()]
    lines.append("| the median of events | | " + " | ".join(medians) + " | |")
    cost = figures["cost"]
    interval = max((row["interval"] for row in figures["seen"]), default=0.0)
    lines += [
        "",
        f"Two looks into Consul were at most {interval:.1f} s apart.",
        "",
        f"In seconds, {figures['date']}, region {figures['region']}. The run cost ${cost['dollars']:.2f}"
        f" (list prices of us-east-1, {cost['prices_as_of']}):",
        "",
        "| usage type | quantity | unit | dollars |",
        "| --- | --- | --- | --- |",
    ]
    for usage in cost["usage"]:
        lines.append(f"| {usage['usage_type']} | {usage['quantity']:.4g} | {usage['unit']} | {usage['cost']:.4f} |")
    return "\n".join(lines) + "\n"

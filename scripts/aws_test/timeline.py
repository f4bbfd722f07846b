"""When ECS changed a task, when its event was in the queue, and when the function took it."""

import json
import time
from datetime import datetime
from typing import NamedTuple

from .aws import Clients, pages

# Seconds between two reads of the queue. SQS itself says when it had a message.
PAUSE = 1


class Change(NamedTuple):
    """A change of a task that starts a clock: the field that ECS sets to a status, and when."""

    name: str
    field: str
    status: str
    at: str


STARTED = Change("started", "lastStatus", "RUNNING", "startedAt")
TOLD_TO_STOP = Change("told to stop", "desiredStatus", "STOPPED", "stoppingAt")
STOPPED = Change("stopped", "lastStatus", "STOPPED", "stoppedAt")


class Event(NamedTuple):
    task: dict
    # When EventBridge made the event, and when SQS had it, in seconds since 1970.
    made: float
    sent: float


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


class Timeline:
    """The events of the cluster's tasks, from the queue of the sandbox."""

    def __init__(self, aws: Clients, queue: str):
        self.aws, self.queue = aws, queue
        self.events: list[Event] = []
        self.read = 0.0

    def update(self) -> None:
        if time.time() - self.read >= PAUSE:
            self.read_all()

    def read_all(self) -> None:
        sqs = self.aws("sqs")
        self.read = time.time()
        while messages := sqs.receive_message(
            QueueUrl=self.queue, MaxNumberOfMessages=10, MessageSystemAttributeNames=["SentTimestamp"]
        ).get("Messages"):
            for message in messages:
                event = json.loads(message["Body"])
                sent = int(message["Attributes"]["SentTimestamp"]) / 1000
                self.events.append(Event(event["detail"], seconds(event["time"]), sent))
            entries = [{"Id": str(index), "ReceiptHandle": it["ReceiptHandle"]} for index, it in enumerate(messages)]
            sqs.delete_message_batch(QueueUrl=self.queue, Entries=entries)

    def first(self, task_id: str, change: Change) -> Event | None:
        """The first event of a task after a change."""
        found = [it for it in self.events if it.task["taskArn"].endswith(f"/{task_id}") and it.task[change.field] == change.status]
        return min(found, key=lambda event: event.sent, default=None)

    def tasks(self) -> dict[str, dict]:
        """Each task as its last event has it, by ARN."""
        return {event.task["taskArn"]: event.task for event in sorted(self.events, key=lambda event: event.task["version"])}


def changed_at(event: Event, change: Change) -> float:
    """When ECS changed the task: to the millisecond if the event says so, and otherwise to the second."""
    text = event.task.get(change.at)
    return seconds(text) if text else event.made


def invocation_start(aws: Clients, group: str, task_id: str, sent: float, action: str) -> float | None:
    """When the function was invoked that logged an action on a task, after SQS had the task's event; none if no line has it."""
    logs, since = aws("logs"), int(sent * 1000)
    lines = pages(logs, "filter_log_events", "events", logGroupName=group, startTime=since, filterPattern=f'"{task_id}" "{action}"')
    first = min((it for it in lines if has_done(it["message"], task_id, action)), key=lambda line: line["timestamp"], default=None)
    if not first:
        return None
    stream = {"logGroupName": group, "logStreamNames": [first["logStreamName"]]}
    until = first["timestamp"] + 1
    # With LogFormat JSON and without: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-logformat.html
    marks = ("START RequestId", "platform.start")
    pattern = " ".join(f'?"{mark}"' for mark in marks)
    before = pages(logs, "filter_log_events", "events", **stream, startTime=since, endTime=until, filterPattern=pattern)
    starts = [line["timestamp"] for line in before if any(mark in line["message"] for mark in marks)]
    return max(starts, default=first["timestamp"]) / 1000


def has_done(line: str, task_id: str, action: str) -> bool:
    """Whether a line of the function says that it did something for a task: docs/reference/logs.md."""
    try:
        entry = json.loads(line)
    except ValueError:
        return False
    if not isinstance(entry, dict) or (entry.get("action"), entry.get("task_id")) != (action, task_id):
        return False
    return entry.get("outcome") in ("done", "seen")

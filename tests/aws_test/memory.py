"""An account and a Consul in memory, which can interrupt a run at any call.

They do what the real ones were seen to do on the local stack, in the order that matters for a clean-up: CloudFormation deletes no
cluster with tasks, only deregisters task definitions, and retains the bucket of the audit's reports.
"""

import itertools
import json
import subprocess
import time
from datetime import datetime, timezone
from pathlib import Path

from botocore.exceptions import ClientError

REGION = "eu-central-1"


def now() -> str:
    return datetime.fromtimestamp(time.time(), timezone.utc).isoformat()


def milliseconds() -> int:
    return int(time.time() * 1000)


def error(code: str, message: str, operation: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, operation)


class Client:
    def __init__(self, memory: "Memory", service: str):
        self.memory, self.service = memory, service

    def __getattr__(self, operation: str):
        def call(**arguments):
            with self.memory.interruptible(f"{self.service} {operation}"):
                return getattr(self.memory, operation)(**arguments) or {}

        return call

    def get_paginator(self, operation: str):
        return Pages(getattr(self, operation))


class Pages:
    def __init__(self, call):
        self.call = call

    def paginate(self, **arguments):
        return [self.call(**arguments)]


class Interruptible:
    """Interrupts before a call, or after it has had its effect. A run may be interrupted by a person, or by an answer that has not
    the form which the program expects.
    """

    def __init__(self, memory: "Memory", what: str):
        self.memory, self.number = memory, len(memory.calls)
        memory.calls.append(what)

    def __enter__(self):
        if self.memory.interrupt == (self.number, "before"):
            raise self.memory.by

    def __exit__(self, *_):
        if self.memory.interrupt == (self.number, "after"):
            raise self.memory.by


class Memory:
    """A session, in the place of boto3's."""

    region_name = REGION

    def __init__(self, interrupt: tuple[int, str] | None = None, by: type[BaseException] = KeyboardInterrupt):
        self.interrupt, self.by, self.calls = interrupt, by, []
        self.buckets: set[str] = set()
        self.stacks: dict[str, str] = {}
        # The statuses of task definitions by ARN, and the tasks by ID.
        self.definitions: dict[str, str] = {}
        self.tasks: dict[str, dict] = {}
        self.queue: list[dict] = []
        # The tasks that are registered in Consul, and the instances that it has lost.
        self.registered: set[str] = set()
        self.lost: set[str] = set()
        # The tasks that have logged in, and those without health-sync.
        self.logged_in: set[str] = set()
        self.without_health_sync: set[str] = set()
        # The lines in CloudWatch Logs, and when it shows them, in seconds since 1970.
        self.lines: list[dict] = []
        self.lines_arrive = 0.0
        # Whether the function task-events does something.
        self.function_works = True
        # The statuses that stay for ever, by stack.
        self.stuck: dict[str, str] = {}
        self.numbers = itertools.count(1)

    def client(self, service: str) -> Client:
        return Client(self, service)

    def interruptible(self, what: str) -> Interruptible:
        return Interruptible(self, what)

    def left(self) -> list[str]:
        definitions = [arn for arn, status in self.definitions.items() if status != "DELETE_IN_PROGRESS"]
        tasks = [task for task, fields in self.tasks.items() if fields["lastStatus"] != "STOPPED"]
        return [*self.buckets, *self.stacks, *definitions, *tasks]

    # ---- what happens

    def start_task(self, stack: str, **fields) -> dict:
        task = f"{next(self.numbers):032x}"
        self.tasks[task] = {
            "taskArn": f"arn:task/cluster/{task}", "group": stack, "lastStatus": "RUNNING", "desiredStatus": "RUNNING", "version": 1,
            "cpu": "256", "memory": "512", "pullStartedAt": now(), "startedAt": now(),
            "containers": [{"name": "consul-ecs-mesh-init", "lastStatus": "STOPPED"}],
            "attachments": [{"type": "ElasticNetworkInterface", "details": [
                {"name": "privateIPv4Address", "value": "10.83.0.4"}, {"name": "networkInterfaceId", "value": "eni-1"}]}],
            **fields,
        }  # fmt: skip
        self.changed(task)
        if stack.endswith(("-web", "-api")):
            self.registered.add(task)
        return self.tasks[task]

    def end_task(self, task: str) -> None:
        fields = self.tasks[task]
        fields.update(lastStatus="STOPPED", desiredStatus="STOPPED", version=2, stoppingAt=now(), stoppedAt=now())
        if task not in self.without_health_sync:
            self.registered.discard(task)
            self.logged_in.discard(task)
        if self.function_works:
            self.log(json.dumps({"action": "task_stopped", "outcome": "seen", "task_id": task}))
            if task in self.registered:
                self.log(json.dumps({"action": "deregister", "outcome": "done", "task_id": task}))
            self.registered.discard(task)
            self.logged_in.discard(task)
        self.changed(task)

    def changed(self, task: str) -> None:
        body = {"time": now(), "detail": dict(self.tasks[task])}
        self.queue.append({"Body": json.dumps(body), "ReceiptHandle": task, "Attributes": {"SentTimestamp": str(milliseconds())}})

    def log(self, line: str) -> None:
        self.lines.append({"message": line, "timestamp": milliseconds(), "logStreamName": "stream"})

    def running(self, stack: str) -> list[str]:
        return [task for task, fields in self.tasks.items() if fields["group"] == stack and fields["lastStatus"] != "STOPPED"]

    # ---- programs, in the place of subprocess.run

    def run_program(self, command: list[str], timeout: float, cwd: Path | None = None, **_) -> subprocess.CompletedProcess:
        with self.interruptible(" ".join(map(str, command[:2]))):
            match Path(command[0]).name, command[1:]:
                case "consul", ["tls", "ca", *_]:
                    write(cwd, "consul-agent-ca.pem", "consul-agent-ca-key.pem")
                case "consul", ["tls", "cert", *_]:
                    write(cwd, "dc1-server-consul-0.pem", "dc1-server-consul-0-key.pem")
                case "sam", ["deploy", *_]:
                    self.create_controller(command[command.index("--stack-name") + 1])
                case "ecs-mesh", ["sweep", *_]:
                    self.lost.clear()
        return subprocess.CompletedProcess(command, 0, "", "")

    def create_controller(self, stack: str) -> None:
        self.stacks[stack] = "CREATE_COMPLETE"
        self.buckets.add(f"{stack}-reports")

    # ---- calls

    def get_caller_identity(self):
        return {"Account": "123456789012"}

    def create_bucket(self, Bucket, **_):
        self.buckets.add(Bucket)

    def head_bucket(self, Bucket):
        if Bucket not in self.buckets:
            raise error("404", "Not Found", "HeadBucket")

    def list_objects_v2(self, Bucket):
        if Bucket not in self.buckets:
            raise error("NoSuchBucket", Bucket, "ListObjectsV2")

    def delete_bucket(self, Bucket):
        self.buckets.remove(Bucket)

    def create_stack(self, StackName, Parameters, **_):
        self.stacks[StackName] = "CREATE_COMPLETE"
        kind = StackName.rsplit("-", 1)[-1]
        self.definitions[f"{StackName}:1"] = "ACTIVE"
        if {"ParameterKey": "Tasks", "ParameterValue": "0"} not in Parameters:
            self.start_task("consul" if kind == "sandbox" else StackName)

    def describe_stacks(self, StackName):
        if StackName not in self.stacks:
            raise error("ValidationError", f"Stack with id {StackName} does not exist", "DescribeStacks")
        outputs = ["ObserverQueue", "Cluster", "Subnet", "MeshGroup", "LogGroup", "TaskExecutionRole", "CaCertificateSecret"]
        outputs += ["ControllerTokenSecret", "TaskEventsLogGroupName", "TaskEventsQueueUrl"]
        values = [{"OutputKey": key, "OutputValue": key.lower()} for key in outputs]
        values += [{"OutputKey": key, "OutputValue": StackName} for key in ("Service", "TaskDefinition")]
        kind = StackName.rsplit("-", 1)[-1]
        return {"Stacks": [{"StackStatus": self.stuck.get(kind, self.stacks[StackName]), "Outputs": values}]}

    def describe_stack_events(self, StackName):
        return {"StackEvents": [{"ResourceStatus": "DELETE_FAILED", "LogicalResourceId": "Cluster", "ResourceStatusReason": "has tasks"}]}

    def list_stack_resources(self, StackName):
        bucket = {"ResourceType": "AWS::S3::Bucket", "PhysicalResourceId": f"{StackName}-reports"}
        return {"StackResourceSummaries": [bucket] if StackName.endswith("-controller") else []}

    def delete_stack(self, StackName):
        if StackName.rsplit("-", 1)[-1] in self.stuck:
            return
        if StackName.endswith("-sandbox"):
            if any(fields["lastStatus"] != "STOPPED" and fields["group"] != "consul" for fields in self.tasks.values()):
                self.stacks[StackName] = "DELETE_FAILED"
                return
        for task in self.running("consul" if StackName.endswith("-sandbox") else StackName):
            self.end_task(task)
        if f"{StackName}:1" in self.definitions:
            self.definitions[f"{StackName}:1"] = "INACTIVE"
        self.stacks.pop(StackName)

    def list_tasks(self, cluster, serviceName=None, startedBy=None):
        if not any(stack.endswith("-sandbox") for stack in self.stacks):
            raise error("ClusterNotFoundException", cluster, "ListTasks")
        groups = [startedBy or serviceName]
        return {"taskArns": [self.tasks[task]["taskArn"] for group in groups for task in self.running(group)]}

    def describe_tasks(self, cluster, tasks):
        return {"tasks": [self.tasks[arn.rsplit("/", 1)[-1]] for arn in tasks]}

    def run_task(self, startedBy, taskDefinition, overrides, **_):
        """The task of an impostor stays PENDING: its mesh-init tries for ever."""
        is_impostor = taskDefinition.endswith("-impostor")
        task = self.start_task(startedBy, **({"lastStatus": "PENDING"} if is_impostor else {}))
        name = task["taskArn"].rsplit("/", 1)[-1]
        self.logged_in.add(name)
        if is_impostor:
            for _ in range(3):
                self.log("[ERROR] Unexpected response code: 403 (Permission denied): retry=1s")
        else:
            self.registered.add(name)
        if any(it["name"] == "consul-ecs-health-sync" for it in overrides["containerOverrides"]):
            self.without_health_sync.add(name)
        return {"tasks": [task], "failures": []}

    def stop_task(self, task, **_):
        task = task.rsplit("/", 1)[-1]
        group = self.tasks[task]["group"]
        self.end_task(task)
        if group in self.stacks:
            self.start_task(group)

    def update_service(self, service, desiredCount=None, **_):
        if desiredCount is None:
            for task in self.running(service):
                self.start_task(service)
                self.end_task(task)
        else:
            self.start_task(service)

    def describe_services(self, **_):
        return {"services": [{"deployments": [{"status": "PRIMARY"}]}]}

    def list_task_definition_families(self, familyPrefix, status):
        families = [arn.split(":")[0] for arn, it in self.definitions.items() if it == status]
        return {"families": [family for family in families if family.startswith(familyPrefix)]}

    def list_task_definitions(self, familyPrefix, status):
        return {"taskDefinitionArns": [arn for arn, it in self.definitions.items() if it == status and arn.split(":")[0] == familyPrefix]}

    def delete_task_definitions(self, taskDefinitions):
        self.definitions.update(dict.fromkeys(taskDefinitions, "DELETE_IN_PROGRESS"))

    def describe_network_interfaces(self, **_):
        return {"NetworkInterfaces": [{"Association": {"PublicIp": "192.0.2.1"}}]}

    def receive_message(self, **_):
        found, self.queue = self.queue[:10], self.queue[10:]
        return {"Messages": found}

    def delete_message_batch(self, **_):
        pass

    def filter_log_events(self, filterPattern="", **_):
        words = [word for word in filterPattern.split('"')[1::2] if "?" not in filterPattern]
        lines = [line for line in self.lines if all(word in line["message"] for word in words)]
        if "Permission denied" not in words and time.time() < self.lines_arrive:
            lines = []
        return {"events": lines}

    def get_metric_statistics(self, **_):
        return {"Datapoints": []}


def write(folder: Path | None, *names: str) -> None:
    for name in names:
        (folder / name).write_text("PEM")


class MemoryConsul:
    """Shows what is registered in a memory."""

    def __init__(self, memory: Memory):
        self.memory, self.address = memory, "https://192.0.2.1:8501"

    def call(self, method: str, path: str, _=None):
        with self.memory.interruptible(f"{method} {path}"):
            return {}

    def allow(self, *_):
        self.call("PUT", "/v1/config")

    def instance(self, service: str, task: str):
        with self.memory.interruptible(f"GET {service}"):
            found = {"Checks": [{"Status": "passing"}], "Node": {"Node": "cluster"}, "Service": {"ID": f"{service} {task}"}}
            is_there = task in self.memory.registered and found["Service"]["ID"] not in self.memory.lost
            return found if is_there else None

    def login_tokens(self, task: str):
        with self.memory.interruptible("GET tokens"):
            return [task] if task in self.memory.logged_in else []

    def deregister(self, _, service_id: str):
        with self.memory.interruptible("PUT deregister"):
            self.memory.lost.add(service_id)

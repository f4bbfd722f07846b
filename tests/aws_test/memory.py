"""An account and a Consul in memory, which can interrupt a run at any call.

They do what the real ones were seen to do on the local stack, in the order that matters for a clean-up: CloudFormation deletes no
cluster with tasks, only deregisters task definitions, and retains the bucket of the audit's reports.
"""

import itertools
import json
import subprocess
from pathlib import Path

from botocore.exceptions import ClientError

REGION = "eu-central-1"
TIME = "2026-11-28T12:00:00+00:00"


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
    """Interrupts before a call, or after it has had its effect."""

    def __init__(self, memory: "Memory", what: str):
        self.memory, self.number = memory, len(memory.calls)
        memory.calls.append(what)

    def __enter__(self):
        if self.memory.interrupt == (self.number, "before"):
            raise KeyboardInterrupt

    def __exit__(self, *_):
        if self.memory.interrupt == (self.number, "after"):
            raise KeyboardInterrupt


class Memory:
    """A session, in the place of boto3's."""

    region_name = REGION

    def __init__(self, interrupt: tuple[int, str] | None = None):
        self.interrupt, self.calls = interrupt, []
        self.buckets: set[str] = set()
        self.stacks: dict[str, str] = {}
        # The statuses of task definitions by ARN, and the tasks by ID.
        self.definitions: dict[str, str] = {}
        self.tasks: dict[str, dict] = {}
        self.queue: list[dict] = []
        # The tasks that are registered in Consul, and the instances that it has lost.
        self.registered: set[str] = set()
        self.lost: set[str] = set()
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
            "cpu": "256", "memory": "512", "pullStartedAt": TIME, "startedAt": TIME,
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
        fields.update(lastStatus="STOPPED", desiredStatus="STOPPED", version=2, stoppingAt=TIME, stoppedAt=TIME)
        self.registered.discard(task)
        self.changed(task)

    def changed(self, task: str) -> None:
        body = {"time": TIME, "detail": dict(self.tasks[task])}
        self.queue.append({"Body": json.dumps(body), "ReceiptHandle": task, "Attributes": {"SentTimestamp": "1796212800000"}})

    def running(self, stack: str) -> list[str]:
        return [task for task, fields in self.tasks.items() if fields["group"] == stack and fields["lastStatus"] == "RUNNING"]

    # ---- programs, in the place of subprocess.run

    def run_program(self, command: list[str], cwd: Path | None = None, **_) -> subprocess.CompletedProcess:
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

    def list_objects_v2(self, Bucket):
        if Bucket not in self.buckets:
            raise error("NoSuchBucket", Bucket, "ListObjectsV2")

    def delete_bucket(self, Bucket):
        self.buckets.remove(Bucket)

    def create_stack(self, StackName, Parameters, **_):
        self.stacks[StackName] = "CREATE_COMPLETE"
        kind = StackName.rsplit("-", 1)[-1]
        self.definitions[f"{StackName}:1"] = "ACTIVE"
        self.start_task("consul" if kind == "sandbox" else StackName)

    def describe_stacks(self, StackName):
        if StackName not in self.stacks:
            raise error("ValidationError", f"Stack with id {StackName} does not exist", "DescribeStacks")
        outputs = ["ObserverQueue", "Cluster", "Subnet", "MeshGroup", "LogGroup", "TaskExecutionRole", "CaCertificateSecret"]
        outputs += ["ControllerTokenSecret", "TaskEventsLogGroupName", "TaskEventsQueueUrl", "TaskDefinition"]
        values = [{"OutputKey": key, "OutputValue": key.lower()} for key in outputs] + [{"OutputKey": "Service", "OutputValue": StackName}]
        return {"Stacks": [{"StackStatus": self.stacks[StackName], "Outputs": values}]}

    def describe_stack_events(self, StackName):
        return {"StackEvents": [{"ResourceStatus": "DELETE_FAILED", "LogicalResourceId": "Cluster", "ResourceStatusReason": "has tasks"}]}

    def list_stack_resources(self, StackName):
        bucket = {"ResourceType": "AWS::S3::Bucket", "PhysicalResourceId": f"{StackName}-reports"}
        return {"StackResourceSummaries": [bucket] if StackName.endswith("-controller") else []}

    def delete_stack(self, StackName):
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

    def run_task(self, startedBy, **_):
        task = self.start_task(startedBy)
        self.registered.add(task["taskArn"].rsplit("/", 1)[-1])
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

    def filter_log_events(self, **_):
        return {"events": []}

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

    def login_tokens(self, _):
        return []

    def deregister(self, _, service_id: str):
        with self.memory.interruptible("PUT deregister"):
            self.memory.lost.add(service_id)

"""Stand-ins for the containers of make aws-test on the local stack, and for what MiniStack lacks around them.

MiniStack runs no container. This thread does what the containers of a task would do to ECS and to Consul: it runs a real Consul
server for Consul's task, with the certificate and the tokens that the task would get; it logs in and registers for a task in the
mesh, with a token for the service that the task's IAM role names; and it reports the containers to ECS. It also sends ECS's events
to the targets of the rules that match them.
"""

import base64
import copy
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from aws_test import Problem
from aws_test.consul import Consul, Unreachable

PAUSE = 0.2
SERVICE_TAG = "consul.hashicorp.com.service-name"
METHOD = "tasks"
HEALTH_SYNC = "consul-ecs-health-sync"
GONE = ("AWS.SimpleQueueService.NonExistentQueue", "ClusterNotFoundException", "ResourceNotFoundException")


def version_of(program: str) -> tuple[int, ...]:
    said = subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.search(r"v(\d+)\.(\d+)", said).groups()))


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Key:
    """Signs the logins of tasks: an auth method of type aws-iam would ask AWS, and older servers do not have it."""

    def __init__(self):
        self.private = ec.generate_private_key(ec.SECP256R1())
        encoding = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        self.public = self.private.public_key().public_bytes(*encoding).decode()

    def token(self, service: str) -> str:
        now = int(time.time())
        claims = {"iss": METHOD, "nbf": now - 60, "exp": now + 3600, "service": service}
        text = ".".join(base64url(json.dumps(part).encode()) for part in ({"alg": "ES256", "typ": "JWT"}, claims))
        r, s = decode_dss_signature(self.private.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{text}.{base64url(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


class Refused(NamedTuple):
    """A registration that Consul has refused."""

    consul: Consul
    body: dict
    stream: dict[str, str]


class Containers(threading.Thread):
    def __init__(self, session, program: str, folder: Path):
        super().__init__(daemon=True)
        self.aws, self.session, self.program, self.folder = session.client, session, program, folder
        # An address of its own, because Consul's port is fixed: all of 127.0.0.0/8 is loopback.
        number = os.getpid()
        self.host = f"127.83.{number >> 8 & 255}.{number & 255}"
        self.key = Key()
        self.server: subprocess.Popen | None = None
        self.consul: Consul | None = None
        # The version of each task whose event was sent.
        self.sent: dict[str, int] = {}
        self.started: set[str] = set()
        # What Consul has refused to register, and with what each mesh-init tries it again.
        self.refused: dict[str, Refused] = {}
        self.to_kill = threading.Event()
        self.ended = threading.Event()
        self.failure: BaseException | None = None

    def public_address(self, **_):
        """MiniStack's tasks have no interface in EC2."""
        return AWSResponse("", 200, {}, None), {"NetworkInterfaces": [{"Association": {"PublicIp": self.host}}]}

    def run(self) -> None:
        try:
            while not self.ended.wait(PAUSE):
                try:
                    self.look()
                except ClientError as error:
                    # The run removes things meanwhile.
                    if error.response["Error"]["Code"] not in GONE:
                        raise
        except BaseException as failure:
            self.failure = failure
            # The run would wait for what will not happen.
            os.kill(os.getpid(), signal.SIGINT)
            raise

    def stop(self) -> None:
        self.ended.set()
        self.join()
        if self.server:
            self.server.kill()
            self.server.wait()

    def look(self) -> None:
        ecs = self.aws("ecs")
        for cluster in ecs.list_clusters()["clusterArns"]:
            if "/ecs-mesh-test-" not in cluster:
                continue
            arns = [arn for status in ("RUNNING", "STOPPED") for arn in ecs.list_tasks(cluster=cluster, desiredStatus=status)["taskArns"]]
            if arns:
                for task in sorted(ecs.describe_tasks(cluster=cluster, tasks=arns)["tasks"], key=lambda it: it["version"]):
                    self.send_events(task)
                    if task["lastStatus"] == "RUNNING":
                        self.start_containers(task)

    # ---- events

    def send_events(self, task: dict) -> None:
        arn, version = task["taskArn"], task["version"]
        if self.sent.get(arn) == version:
            return
        detail = json.loads(json.dumps(task, default=lambda it: it.isoformat()))
        for unknown in ("tags", "healthStatus"):
            detail.pop(unknown, None)
        if task["lastStatus"] == "STOPPED":
            # ECS tells of the order first; MiniStack takes both steps at once.
            told = {**copy.deepcopy(detail), "lastStatus": "RUNNING", "version": version - 1}
            told.pop("stoppedAt", None)
            self.publish(told)
        self.publish(detail)
        self.sent[arn] = version

    def publish(self, detail: dict) -> None:
        events, sqs = self.aws("events"), self.aws("sqs")
        event = json.dumps({
            "version": "0", "id": f"{time.time_ns():032x}", "detail-type": "ECS Task State Change", "source": "aws.ecs",
            "account": "000000000000", "time": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "region": self.session.region_name,
            "resources": [detail["taskArn"]], "detail": detail,
        })  # fmt: skip
        for rule in events.list_rules()["Rules"]:
            if rule.get("EventPattern") and events.test_event_pattern(EventPattern=rule["EventPattern"], Event=event)["Result"]:
                for target in events.list_targets_by_rule(Rule=rule["Name"])["Targets"]:
                    queue = sqs.get_queue_url(QueueName=target["Arn"].rsplit(":", 1)[-1])["QueueUrl"]
                    sqs.send_message(QueueUrl=queue, MessageBody=event)

    # ---- containers

    def start_containers(self, task: dict) -> None:
        arn = task["taskArn"]
        if arn in self.started:
            if arn in self.refused:
                self.try_again(self.refused[arn])
            if self.to_kill.is_set() and "tail /dev/zero" in json.dumps(task["overrides"]):
                self.report(task, "app", {"status": "STOPPED", "exitCode": 137})
            return
        self.started.add(arn)
        definition = self.aws("ecs").describe_task_definition(taskDefinition=task["taskDefinitionArn"])["taskDefinition"]
        containers = {container["name"]: container for container in definition["containerDefinitions"]}
        if "consul-server" in containers:
            self.start_consul(definition, containers["consul-server"])
        else:
            self.join_mesh(task, definition, containers)

    def variables(self, definition: dict, container: dict) -> dict[str, str]:
        """A container's environment, with the secrets as the execution role may read them."""
        role = self.aws("sts").assume_role(RoleArn=definition["executionRoleArn"], RoleSessionName="ecs")["Credentials"]
        secrets = self.aws(
            "secretsmanager", aws_access_key_id=role["AccessKeyId"], aws_secret_access_key=role["SecretAccessKey"],
            aws_session_token=role["SessionToken"],
        )  # fmt: skip
        found = {variable["name"]: variable["value"] for variable in container["environment"]}
        for secret in container["secrets"]:
            found[secret["name"]] = secrets.get_secret_value(SecretId=secret["valueFrom"])["SecretString"]
        return found

    def start_consul(self, definition: dict, container: dict) -> None:
        folder = self.folder / "consul"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        given = self.variables(definition, container)
        files = {"ca_file": "CA_CERTIFICATE", "cert_file": "SERVER_CERTIFICATE", "key_file": "SERVER_KEY"}
        for name, variable in files.items():
            (folder / f"{name}.pem").write_text(given[variable])
        version = version_of(self.program)
        settings = {
            "server": True, "bootstrap_expect": 1, "node_name": "server", "data_dir": str(folder / "data"),
            "bind_addr": self.host, "client_addr": self.host,
            "ports": {"http": -1, "https": 8501, "dns": -1, "grpc": -1, "serf_wan": -1, **({"grpc_tls": -1} if version >= (1, 14) else {})},
            "connect": {"enabled": True},
            "acl": {
                "enabled": True, "default_policy": "deny",
                "tokens": {"initial_management" if version >= (1, 11) else "master": given["MANAGEMENT_TOKEN"]},
            },
            "performance": {"raft_multiplier": 1},
            "disable_update_check": True,
            **{name: str(folder / f"{name}.pem") for name in files},
        }  # fmt: skip
        (folder / "consul.json").write_text(json.dumps(settings))
        with (self.folder / "consul.log").open("ab") as log:
            command = [self.program, "agent", "-config-file", str(folder / "consul.json")]
            self.server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.consul = Consul(self.host, given["CA_CERTIFICATE"], given["MANAGEMENT_TOKEN"])
        self.create_method()

    def create_method(self) -> None:
        config = {
            "BoundIssuer": METHOD, "JWTValidationPubKeys": [self.key.public], "JWTSupportedAlgs": ["ES256"],
            "ClaimMappings": {"service": "service"},
        }  # fmt: skip
        rule = {"AuthMethod": METHOD, "BindType": "service", "BindName": "${value.service}"}
        while not self.ended.wait(PAUSE):
            try:
                self.consul.call("PUT", "/v1/acl/auth-method", {"Name": METHOD, "Type": "jwt", "Config": config})
                self.consul.call("PUT", "/v1/acl/binding-rule", rule)
                return
            except (Unreachable, Problem):
                if self.server.poll() is not None:
                    raise

    def join_mesh(self, task: dict, definition: dict, containers: dict) -> None:
        """mesh-init logs in with the task's role and registers what its configuration says; Consul decides whether it may."""
        given = self.variables(definition, containers["consul-ecs-mesh-init"])
        config = json.loads(given["CONSUL_ECS_CONFIG_JSON"])
        role = self.aws("iam").get_role(RoleName=definition["taskRoleArn"].rsplit("/", 1)[-1])["Role"]
        identity = next(tag["Value"] for tag in role["Tags"] if tag["Key"] == SERVICE_TAG)
        cluster, task_id = task["clusterArn"], task["taskArn"].rsplit("/", 1)[-1]
        meta = {"consul.hashicorp.com/cluster": cluster, "consul.hashicorp.com/task-id": task_id}
        login = {"AuthMethod": METHOD, "BearerToken": self.key.token(identity), "Meta": meta}
        token = self.consul.call("POST", "/v1/acl/login", login)["SecretID"]
        as_task = Consul(self.host, given["CONSUL_HTTPS_CACERT_PEM"], token)
        bodies = registrations(task, config)
        try:
            for body in bodies:
                as_task.call("PUT", "/v1/catalog/register", body)
        except Problem as refused:
            assert identity != config["service"]["name"], refused
            self.refused[task["taskArn"]] = Refused(as_task, bodies[0], self.log_of(task, containers["consul-ecs-mesh-init"]))
            return
        self.report(task, "consul-ecs-mesh-init", {"status": "STOPPED", "exitCode": 0})
        for name in ("app", "consul-dataplane"):
            self.report(task, name, {"healthStatus": "HEALTHY"})
        if any(it["name"] == HEALTH_SYNC and it.get("command") for it in task["overrides"].get("containerOverrides", [])):
            # Another command in its place, which has ended.
            self.report(task, HEALTH_SYNC, {"status": "STOPPED", "exitCode": 0})
            return
        # health-sync
        checks = [{**check, "Status": "passing"} for body in bodies for check in body["Checks"]]
        as_task.call("PUT", "/v1/catalog/register", {**node_of(task), "Checks": checks})

    def log_of(self, task: dict, container: dict) -> dict[str, str]:
        """The stream of the awslogs driver, which is created here."""
        options, task_id = container["logConfiguration"]["options"], task["taskArn"].rsplit("/", 1)[-1]
        stream = {
            "logGroupName": options["awslogs-group"],
            "logStreamName": f"{options['awslogs-stream-prefix']}/{container['name']}/{task_id}",
        }
        self.aws("logs").create_log_stream(**stream)
        return stream

    def try_again(self, refused: Refused) -> None:
        """As mesh-init does: for ever, as long as the task runs, with a line in its log each time."""
        try:
            refused.consul.call("PUT", "/v1/catalog/register", refused.body)
        except Problem as problem:
            line = {"timestamp": time.time_ns() // 1_000_000, "message": f"[ERROR] {problem}: retry=1s"}
            self.aws("logs").put_log_events(**refused.stream, logEvents=[line])
        else:
            raise AssertionError(f"Consul let an impostor register: {refused.body}")

    def report(self, task: dict, container: str, change: dict) -> None:
        """The agent's report, of which MiniStack takes more fields than ECS documents."""
        body = {"cluster": task["clusterArn"], "task": task["taskArn"], "containerName": container, **change}
        scope = f"000000000000/20260101/{self.session.region_name}/ecs/aws4_request"
        request = urllib.request.Request(self.aws("ecs").meta.endpoint_url, json.dumps(body).encode(), {
            "X-Amz-Target": "AmazonEC2ContainerServiceV20141113.SubmitContainerStateChange",
            "Content-Type": "application/x-amz-json-1.1",
            "Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=none",
        })  # fmt: skip
        urllib.request.urlopen(request).read()


def address_of(task: dict) -> str:
    details = {detail["name"]: detail["value"] for detail in task["attachments"][0]["details"]}
    return details["privateIPv4Address"]


def node_of(task: dict) -> dict:
    return {"Node": task["clusterArn"], "Address": address_of(task), "SkipNodeUpdate": True}


def registrations(task: dict, config: dict) -> list[dict]:
    """What mesh-init of consul-ecs 0.10 registers: tests/recordings/consul-ecs/0.10.0."""
    task_id, address, name = task["taskArn"].rsplit("/", 1)[-1], address_of(task), config["service"]["name"]
    service_id, port = f"{name}-{task_id}", config["service"]["port"]
    proxy_id = f"{service_id}-sidecar-proxy"
    meta = {"source": "consul-ecs", "task-arn": task["taskArn"], "task-id": task_id}

    def check(of: str, container: str, title: str) -> dict:
        return {
            "CheckID": f"{of}-{container}", "Name": title, "Type": "consul-ecs-health-check", "Status": "critical", "ServiceID": of,
        }  # fmt: skip

    ready = "Consul dataplane readiness"
    checks = [check(service_id, it, "Consul ECS health check synced") for it in config["healthSyncContainers"]]
    service = {"ID": service_id, "Service": name, "Port": port, "Address": address, "Meta": meta}
    proxy = {"DestinationServiceName": name, "DestinationServiceID": service_id, "LocalServicePort": port}
    sidecar = {
        "ID": proxy_id, "Service": f"{name}-sidecar-proxy", "Kind": "connect-proxy", "Port": 20000, "Address": address, "Meta": meta,
        "Proxy": {**proxy, "Upstreams": config["proxy"]["upstreams"]},
    }  # fmt: skip
    return [
        {**node_of(task), "Service": service, "Checks": [*checks, check(service_id, "consul-dataplane", ready)]},
        {**node_of(task), "Service": sidecar, "Checks": [check(proxy_id, "consul-dataplane", ready)]},
    ]

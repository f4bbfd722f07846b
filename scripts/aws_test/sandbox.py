"""What a run creates, step by step. Each step writes into the journal what it is about to create."""

import json
import os
import re
import subprocess
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from . import Problem, images
from .aws import Clients, code_of, create_stack, interface_of, outputs_of, public_address, running_tasks, stack_of, wait_for
from .clean_up import STARTED_BY
from .consul import SERVER_NAME, Consul, Unreachable
from .journal import Journal
from .timeline import Timeline

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
TEMPLATES = {name: HERE / f"{name}.yaml" for name in ("sandbox", "service")}
# The page whose first block of HCL is the policy of the controller's token.
POLICY_PAGE = TOP / "docs/how-to/install-sam.md"
POLICY = "ecs-mesh-controller"
# How long a run may wait for all that it waits for, in seconds. Then it fails, and everything is removed.
LONGEST = 90 * 60
# The same for one thing, such as a task that starts.
WAIT = 15 * 60
# The services of the mesh: web reaches api through its sidecar proxy, and is healthy only if it does.
API, WEB = "api", "web"
UPSTREAM_PORT = 1234


class Tools(NamedTuple):
    """The programs that a run needs."""

    sam: str
    consul: str
    ecs_mesh: str


class Sandbox:
    """A run: what it is called, what it uses, and what it has created so far."""

    def __init__(
        self, name: str, aws: Clients, journal: Journal, tools: Tools, package: Path, files: Path, say: Callable[[str], None]
    ):
        self.name, self.aws, self.journal, self.tools, self.package, self.say = name, aws, journal, tools, package, say
        # Parameters of the controller's stack, as --parameter gives them.
        self.parameters: dict[str, str] = {}
        self.files = files
        self.tags = [{"Key": "ecs-mesh-aws-test", "Value": name}]
        self.began = time.time()
        self.management_token, self.controller_token = str(uuid.uuid4()), str(uuid.uuid4())
        self.outputs: dict[str, str] = {}
        self.controller: dict[str, str] = {}
        self.services: dict[str, dict[str, str]] = {}
        self.consul: Any = None
        self.timeline: Any = None
        self.private_address = ""
        self.doctor = ""

    # ---- names

    @property
    def bucket(self) -> str:
        return f"{self.name}-{self.journal.account}"

    @property
    def controller_stack(self) -> str:
        return f"{self.name}-controller"

    def stack_of_service(self, service: str) -> str:
        return f"{self.name}-{service}"

    @property
    def region(self) -> str:
        return self.journal.region

    # ---- help for the steps

    @property
    def until(self) -> float:
        """When what begins now must have ended, in seconds since 1970."""
        return min(time.time() + WAIT, self.began + LONGEST)

    def wait_for(self, what: str, look: Callable[[], Any], pause: float | None = None) -> Any:
        """What `look` returns once it is true. Consul may be unreachable meanwhile."""
        until = self.until

        def found() -> Any:
            try:
                return look()
            except Unreachable as error:
                if time.time() >= until:
                    raise Problem(f"cannot see whether {what} is there: {error}") from error
                return None

        return wait_for(f"{what}. To look at it, run make aws-test KEEP=1", found, until, pause)

    def run_program(self, command: list[str], **options: Any) -> subprocess.CompletedProcess:
        seconds = self.until - time.time()
        try:
            return subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=max(seconds, 0), **options
            )
        except subprocess.TimeoutExpired as error:
            raise Problem(f"{' '.join(command[:2])} has not ended within {seconds:.0f} s: {error.stderr or ''}") from error

    def stack(self, name: str, template: str, parameters: dict[str, str]) -> dict[str, str]:
        self.about_to_create_stack(name)
        return create_stack(self.aws, name, TEMPLATES[template].read_text(), parameters, self.tags, self.until)

    def about_to_create_stack(self, name: str) -> None:
        if stack_of(self.aws, name):
            raise Problem(f"stack {name} is there already, and not of this run: it stays. Run it again, with another name")
        self.journal.about_to_create("stack", name)

    def ecs_mesh(self, *arguments: str) -> subprocess.CompletedProcess:
        """Runs a command of ecs-mesh for the controller's stack."""
        command = [self.tools.ecs_mesh, *arguments, "--stack", self.controller_stack]
        env = {
            **os.environ,
            "AWS_REGION": self.region,
            "CONSUL_HTTP_ADDR": self.consul.address,
            "CONSUL_HTTP_TOKEN": self.management_token,
            "CONSUL_CACERT": str(self.files / "consul-agent-ca.pem"),
            "CONSUL_TLS_SERVER_NAME": SERVER_NAME,
            "NO_COLOR": "1",
        }
        return self.run_program(command, env=env)

    # ---- steps

    def create_bucket(self) -> None:
        # In us-east-1, S3 answers as if it had created a bucket that the account has already.
        try:
            self.aws("s3").head_bucket(Bucket=self.bucket)
        except ClientError as error:
            if code_of(error) != "404":
                raise
        else:
            raise Problem(f"bucket {self.bucket} is there already, and not of this run: it stays. Run it again, with another name")
        self.journal.about_to_create("bucket", self.bucket)
        # us-east-1 is no location constraint: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html
        place = {} if self.region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": self.region}}
        self.aws("s3").create_bucket(Bucket=self.bucket, **place)

    def create_sandbox(self) -> None:
        certificates = self.certificates()
        self.journal.about_to_create("task definitions", f"{self.name}-")
        parameters = {"ManagementToken": self.management_token, "ControllerToken": self.controller_token}
        self.outputs = self.stack(f"{self.name}-sandbox", "sandbox", {**images.CONSUL, **certificates, **parameters})
        self.timeline = Timeline(self.aws, self.outputs["ObserverQueue"])

    def certificates(self) -> dict[str, str]:
        """Makes an authority and the server's certificate: https://developer.hashicorp.com/consul/commands/tls/cert"""
        self.files.mkdir(parents=True, exist_ok=True)
        for arguments in (["ca", "create", "-days", "2"], ["cert", "create", "-server", "-dc", "dc1", "-days", "1"]):
            made = self.run_program([self.tools.consul, "tls", *arguments], cwd=self.files)
            if made.returncode:
                raise Problem(f"consul tls {' '.join(arguments)} failed: {made.stderr.strip()}")
        (self.files / "consul-agent-ca-key.pem").unlink()
        key = self.files / "dc1-server-consul-0-key.pem"
        read = {
            "CaCertificate": (self.files / "consul-agent-ca.pem").read_text(),
            "ServerCertificate": (self.files / "dc1-server-consul-0.pem").read_text(),
            "ServerKey": key.read_text(),
        }
        key.unlink()
        return read

    def find_consul(self) -> None:
        def interface() -> dict | None:
            tasks = running_tasks(self.aws, self.outputs["Cluster"], serviceName="consul")
            running = [task for task in tasks if task["lastStatus"] == "RUNNING"]
            return interface_of(running[0]) if running else None

        found = self.wait_for("Consul's task", interface)
        self.private_address = found["privateIPv4Address"]
        host = self.wait_for("Consul's public address", lambda: public_address(self.aws, found["networkInterfaceId"]))
        ca = (self.files / "consul-agent-ca.pem").read_text()
        self.consul = Consul(host, ca, self.management_token)

        def is_writable() -> bool:
            try:
                self.consul.call("GET", "/v1/acl/token/self")
                self.consul.call("PUT", "/v1/kv/started")
            except (Unreachable, Problem):
                # A server that starts refuses its tokens until it has a leader.
                return False
            return True

        self.wait_for(f"Consul at {self.consul.address}", is_writable)

    def prepare_consul(self) -> None:
        """The controller's policy and token, and the intention of web to call api. They end with Consul's task."""
        rules = re.search(r"(?s)```hcl\n(.*?)```", POLICY_PAGE.read_text())[1]
        self.consul.call("PUT", "/v1/acl/policy", {"Name": POLICY, "Rules": rules})
        token = {"SecretID": self.controller_token, "Description": POLICY, "Policies": [{"Name": POLICY}]}
        self.consul.call("PUT", "/v1/acl/token", token)
        self.consul.allow(WEB, API)

    def deploy_controller(self) -> None:
        parameters = {
            "ConsulHttpAddr": self.consul.address,
            "ConsulHttpTokenSecretArn": self.outputs["ControllerTokenSecret"],
            "ConsulCaCertSecretArn": self.outputs["CaCertificateSecret"],
            "ConsulTlsServerName": SERVER_NAME,
            "EcsClusterArns": self.outputs["Cluster"],
            "LogRetentionDays": "1",
            # Only the scenarios sweep.
            "ReconcileRate": "rate(2 days)",
            **self.parameters,
        }
        self.about_to_create_stack(self.controller_stack)
        arguments = ["deploy", "--template-file", str(self.package / "template.yaml"), "--stack-name", self.controller_stack]
        arguments += ["--s3-bucket", self.bucket, "--capabilities", "CAPABILITY_IAM", "--no-confirm-changeset", "--no-progressbar"]
        arguments += ["--region", self.region, "--parameter-overrides", *map(overridden, parameters.items())]
        # In the folder of the run: the SAM CLI reads no samconfig.toml of somebody else.
        deployed = self.run_program([self.tools.sam, *arguments], cwd=self.files)
        if deployed.returncode:
            raise Problem(f"sam deploy failed:\n{deployed.stdout}{deployed.stderr}")
        self.controller = outputs_of(stack_of(self.aws, self.controller_stack) or {})

    def ask_doctor(self) -> None:
        answer = self.ecs_mesh("doctor")
        self.doctor = answer.stdout
        if answer.returncode:
            raise Problem(f"ecs-mesh doctor ended with {answer.returncode}:\n{answer.stdout}{answer.stderr}")

    def create_service(self, service: str, claims: str, upstreams: list[dict], health_port: int, tasks: int = 1) -> None:
        given = ("Cluster", "Subnet", "MeshGroup", "LogGroup", "TaskExecutionRole", "CaCertificateSecret")
        parameters = {
            **images.SERVICE,
            **{name: self.outputs[name] for name in given},
            "ConsulHost": self.private_address,
            "ServiceName": claims,
            "Identity": service,
            "Upstreams": json.dumps(upstreams),
            "HealthUrl": f"http://127.0.0.1:{health_port}/",
            "Tasks": str(tasks),
        }
        self.services[service] = self.stack(self.stack_of_service(service), "service", parameters)

    def create_api(self) -> None:
        self.create_service(API, API, [], 8080)

    def create_web(self) -> None:
        upstream = {"destinationName": API, "localBindPort": UPSTREAM_PORT}
        self.create_service(WEB, WEB, [upstream], UPSTREAM_PORT)

    # ---- what the scenarios do to tasks

    def run_task(self, service: str, commands: dict[str, list[str]]) -> str:
        """Runs a task of a service's definition with other commands of its containers, and returns its ID."""
        self.journal.about_to_create("tasks of cluster", self.outputs["Cluster"])
        answer = self.aws("ecs").run_task(
            cluster=self.outputs["Cluster"],
            taskDefinition=self.services[service]["TaskDefinition"],
            launchType="FARGATE",
            startedBy=STARTED_BY,
            propagateTags="TASK_DEFINITION",
            networkConfiguration={
                "awsvpcConfiguration": {
                    "subnets": [self.outputs["Subnet"]],
                    "securityGroups": [self.outputs["MeshGroup"]],
                    "assignPublicIp": "ENABLED",
                }
            },
            overrides={"containerOverrides": [{"name": name, "command": command} for name, command in commands.items()]},
        )
        if not answer["tasks"]:
            raise Problem(f"ECS starts no task of {service}: {answer['failures']}")
        return answer["tasks"][0]["taskArn"].rsplit("/", 1)[-1]

    def tasks_of(self, service: str) -> list[dict]:
        return running_tasks(self.aws, self.outputs["Cluster"], serviceName=self.services[service]["Service"])


def overridden(parameter: tuple[str, str]) -> str:
    """A parameter for the SAM CLI, which splits at whitespace."""
    key, value = parameter
    return f"{key}='{value}'" if " " in value else f"{key}={value}"


class Step(NamedTuple):
    what: str
    do: Callable[[Sandbox], None]


STEPS = [
    Step("create a bucket for the controller's package", Sandbox.create_bucket),
    Step("create a network, a cluster on Fargate, and a Consul server with TLS and ACLs", Sandbox.create_sandbox),
    Step("wait until Consul answers", Sandbox.find_consul),
    Step("create the controller's policy and token in Consul", Sandbox.prepare_consul),
    Step("deploy the controller from the package of make dist", Sandbox.deploy_controller),
    Step("ask ecs-mesh doctor", Sandbox.ask_doctor),
    Step(f"create the service {API}", Sandbox.create_api),
    Step(f"create the service {WEB}, which calls {API}", Sandbox.create_web),
]

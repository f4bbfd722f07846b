"""What happens to tasks, and what Consul must show of each by when."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from . import Problem
from .aws import pages
from .consul import Unreachable
from .sandbox import WEB, Sandbox
from .timeline import STARTED, STOPPED, TOLD_TO_STOP, Change, Event, changed_at

# Seconds from a look into Consul to the next. A look takes time, too: `Seen.interval` has what it came to.
LOOK = 0.1
# The service that claims to be web.
IMPOSTOR = "impostor"
# The containers of consul-ecs in service.yaml.
MESH_INIT, HEALTH_SYNC = "consul-ecs-mesh-init", "consul-ecs-health-sync"
# How often Consul must have refused the impostor before the sweep.
REFUSALS = 3


# What a task of web registers in Consul.
SERVICES = (WEB, f"{WEB}-sidecar-proxy")


class Expected(NamedTuple):
    """What Consul shows of a task, so many seconds after ECS has changed it (or, without a change, after the scenario's cause)."""

    what: str
    holds: Callable[[Sandbox, str], bool]
    after: Change | None
    within: int
    # The action that task-events logs about the task if it has done its part: docs/reference/logs.md.
    action: str = ""
    # Without a line with this action, the function did not do its part, whatever Consul shows.
    must_log: bool = False
    # Whether Consul must show it all the time, from the cause on, and not only by then.
    throughout: bool = False


class Subject(NamedTuple):
    """The ID of the task that a scenario is about, and when its cause was there, in seconds since 1970: ECS's event is later."""

    task: str
    since: float


class Scenario(NamedTuple):
    name: str
    act: Callable[[Sandbox], Subject]
    expected: list[Expected]


class Seen(NamedTuple):
    scenario: Scenario
    expected: Expected
    task: str
    # When Consul showed it, and since when it had to, in seconds since 1970.
    at: float
    since: float
    event: Event | None
    # The longest time between two looks of the scenario, in seconds: the resolution of `at`.
    interval: float


# ---- what Consul shows


def passes(sandbox: Sandbox, task: str) -> bool:
    instance = sandbox.consul.instance(WEB, task)
    return bool(instance and instance["Checks"] and all(check["Status"] == "passing" for check in instance["Checks"]))


def is_registered(sandbox: Sandbox, task: str) -> bool:
    return all(sandbox.consul.instance(service, task) for service in SERVICES)


def is_drained(sandbox: Sandbox, task: str) -> bool:
    instance = sandbox.consul.instance(WEB, task)
    return not instance or any(check["Status"] == "critical" for check in instance["Checks"])


def is_gone(sandbox: Sandbox, task: str) -> bool:
    return is_absent(sandbox, task) and not sandbox.consul.login_tokens(task)


def is_absent(sandbox: Sandbox, task: str) -> bool:
    return not any(sandbox.consul.instance(service, task) for service in SERVICES)


# ---- what happens


def task_id(task: dict) -> str:
    return task["taskArn"].rsplit("/", 1)[-1]


def passing_task(sandbox: Sandbox) -> str:
    """A task of web that passes, and that no deployment is about to replace."""

    def look() -> str | None:
        cluster, services = sandbox.outputs["Cluster"], [sandbox.services[WEB]["Service"]]
        [service] = sandbox.aws("ecs").describe_services(cluster=cluster, services=services)["services"]
        if len(service["deployments"]) > 1:
            return None
        return next((task_id(task) for task in sandbox.tasks_of(WEB) if passes(sandbox, task_id(task))), None)

    return sandbox.wait_for(f"a passing task of {WEB}", look)


def update(sandbox: Sandbox, **change: Any) -> None:
    """Updates the ECS service web."""
    service = sandbox.services[WEB]["Service"]
    sandbox.aws("ecs").update_service(cluster=sandbox.outputs["Cluster"], service=service, **change)


def start(sandbox: Sandbox) -> Subject:
    before = {task_id(task) for task in sandbox.tasks_of(WEB)}
    began = time.time()
    update(sandbox, desiredCount=2)
    new = sandbox.wait_for("a second task", lambda: {task_id(task) for task in sandbox.tasks_of(WEB)} - before)
    return Subject(new.pop(), began)


def deploy(sandbox: Sandbox) -> Subject:
    subject = Subject(passing_task(sandbox), time.time())
    update(sandbox, forceNewDeployment=True)
    return subject


def stop_by_hand(sandbox: Sandbox) -> Subject:
    subject = Subject(passing_task(sandbox), time.time())
    sandbox.aws("ecs").stop_task(cluster=sandbox.outputs["Cluster"], task=subject.task, reason="make aws-test")
    return subject


def kill(sandbox: Sandbox) -> Subject:
    """Runs a task whose app takes memory without end, a minute after its start: the kernel kills it. The task has no health-sync,
    which would remove the registration itself: only the function can.
    """
    app = ["/bin/sh", "-ec", "sleep 60; exec tail /dev/zero"]
    task = sandbox.run_task(WEB, {"app": app, HEALTH_SYNC: ["version"]})
    sandbox.wait_for(f"task {task} to be registered", lambda: is_registered(sandbox, task))
    sandbox.say(f"  waits for the kernel to kill the app of task {task}")
    return Subject(task, time.time())


def lose_registration(sandbox: Sandbox) -> Subject:
    task, lost = passing_task(sandbox), time.time()
    for service in SERVICES:
        instance = sandbox.consul.instance(service, task)
        if not instance:
            raise Problem(f"{service} of task {task} is not in Consul, although it was a moment ago")
        sandbox.consul.deregister(instance["Node"]["Node"], instance["Service"]["ID"])
    if not is_absent(sandbox, task):
        raise Problem(f"{WEB} of task {task} is still in Consul after it was deregistered")
    sweep(sandbox)
    return Subject(task, lost)


def impersonate(sandbox: Sandbox) -> Subject:
    """Starts a task that claims to be web, with the role of another service, and sweeps once Consul has refused it.

    mesh-init logs in, and then tries to register every second for ever, so that the task stays PENDING and no ECS service of it
    would become stable: https://github.com/hashicorp/consul-ecs/blob/v0.10.1/subcommand/mesh-init/command.go
    """
    sandbox.create_service(IMPOSTOR, WEB, [], 8080, tasks=0)
    task = sandbox.run_task(IMPOSTOR, {})
    sandbox.wait_for(f"the login token of task {task}", lambda: sandbox.consul.login_tokens(task))
    sandbox.wait_for(f"Consul to refuse task {task}", lambda: refusals(sandbox, IMPOSTOR, task) >= REFUSALS)
    subject = Subject(task, time.time())
    sweep(sandbox)
    return subject


def refusals(sandbox: Sandbox, service: str, task: str) -> int:
    """How often mesh-init has logged that Consul refused its registration. The awslogs driver names the stream:
    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/specify-log-config.html
    """
    prefix = f"{sandbox.stack_of_service(service)}/{MESH_INIT}/{task}"
    group, pattern = sandbox.outputs["LogGroup"], '"Permission denied"'
    where = {"logGroupName": group, "logStreamNamePrefix": prefix}
    return len(list(pages(sandbox.aws("logs"), "filter_log_events", "events", **where, filterPattern=pattern)))


def sweep(sandbox: Sandbox) -> None:
    answer = sandbox.ecs_mesh("sweep", "--yes")
    if answer.returncode:
        raise Problem(f"ecs-mesh sweep ended with {answer.returncode}:\n{answer.stdout}{answer.stderr}")


# A drain has a minute, because its event may start an execution environment, and the sandbox's Consul has a quarter of a processor.
# health-sync may have done it first, and then task-events logs nothing.
DRAINED = Expected("out of rotation", is_drained, TOLD_TO_STOP, 60, "mark_critical")
# The same, but the function logs the end of each task.
GONE = Expected("gone, with its login tokens", is_gone, STOPPED, 60, "task_stopped", must_log=True)
# Nobody but the function can have done it.
DEREGISTERED = GONE._replace(action="deregister")
ABSENT = Expected("not registered", is_absent, None, 60, throughout=True)

SCENARIOS = [
    # The app is healthy only once its call through the sidecar proxy has reached api.
    Scenario("a task starts", start, [Expected("registered, all checks passing", passes, STARTED, 180)]),
    Scenario("a deployment replaces a task", deploy, [DRAINED, GONE]),
    Scenario("a person stops a task", stop_by_hand, [DRAINED, GONE]),
    Scenario("the kernel kills a task's app", kill, [DEREGISTERED]),
    Scenario("Consul loses a registration", lose_registration, [Expected("registered again", passes, None, 120)]),
    Scenario("an impostor has another role", impersonate, [ABSENT]),
]


class Watch:
    """Looks into Consul until it has shown everything that is expected of a task."""

    def __init__(self, sandbox: Sandbox, scenario: Scenario, subject: Subject):
        self.sandbox, self.scenario, self.subject = sandbox, scenario, subject
        # Since when Consul shows it, without a break.
        self.shown: dict[Expected, float] = {}
        self.seen: dict[Expected, Seen] = {}
        self.last_look, self.interval = 0.0, 0.0

    def look(self) -> bool:
        self.sandbox.timeline.update()
        now = time.time()
        if self.last_look:
            self.interval = max(self.interval, now - self.last_look)
        self.last_look = now
        for expected in self.scenario.expected:
            if expected not in self.seen:
                self.look_at(expected)
        return len(self.seen) == len(self.scenario.expected)

    def look_at(self, expected: Expected) -> None:
        task, why = self.subject.task, "Consul shows something else"
        try:
            holds = bool(expected.holds(self.sandbox, task))
        except Unreachable as error:
            # Consul showed nothing: neither what is expected nor the contrary.
            holds, why = None, str(error)
        if holds:
            self.shown.setdefault(expected, time.time())
        elif holds is False:
            self.shown.pop(expected, None)
            if expected.throughout:
                raise Problem(f"{self.scenario.name}: task {task} is not {expected.what} in Consul")
        event = expected.after and self.sandbox.timeline.first(task, expected.after)
        if expected.after and not event:
            return
        since = changed_at(event, expected.after) if event else self.subject.since
        is_late = time.time() - since > expected.within
        is_shown = holds if expected.throughout else expected in self.shown
        if is_shown and (is_late or not expected.throughout):
            at = time.time() if expected.throughout else self.shown[expected]
            self.seen[expected] = Seen(self.scenario, expected, task, at, since, event, self.interval)
        elif is_late and not is_shown:
            raise Problem(f"{self.scenario.name}: task {task} is not {expected.what} within {expected.within} s: {why}")


def watch(sandbox: Sandbox, scenario: Scenario) -> list[Seen]:
    """Does a scenario, and waits until Consul shows what is expected. Fails if it does so too late."""
    watch = Watch(sandbox, scenario, scenario.act(sandbox))
    sandbox.wait_for(f"{scenario.name}: {', '.join(it.what for it in scenario.expected)}", watch.look, LOOK)
    return list(watch.seen.values())

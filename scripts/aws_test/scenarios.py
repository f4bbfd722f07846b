"""What happens to tasks, and what Consul must show of each by when."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from . import Problem
from .sandbox import WEB, Sandbox
from .timeline import STARTED, STOPPED, TOLD_TO_STOP, Change, Event, changed_at

# Seconds between two looks into Consul: the resolution of when something was seen.
LOOK = 0.1


class Expected(NamedTuple):
    """What Consul shows of a task, so many seconds after ECS has changed it (or, without a change, after the scenario's cause)."""

    what: str
    holds: Callable[[Sandbox, str], bool]
    after: Change | None
    within: int


class Subject(NamedTuple):
    """The ID of the task that a scenario is about, and when its cause was there, in seconds since 1970: ECS's event is later."""

    task: str
    since: float


class Scenario(NamedTuple):
    name: str
    act: Callable[[Sandbox], Subject]
    expected: list[Expected]
    # Whether the function task-events logs something about it.
    is_logged: bool = True


class Seen(NamedTuple):
    scenario: Scenario
    expected: Expected
    task: str
    # When Consul showed it, and since when it had to, in seconds since 1970.
    at: float
    since: float
    event: Event | None


# ---- what Consul shows


def passes(sandbox: Sandbox, task: str) -> bool:
    instance = sandbox.consul.instance(WEB, task)
    return bool(instance and instance["Checks"] and all(check["Status"] == "passing" for check in instance["Checks"]))


def is_drained(sandbox: Sandbox, task: str) -> bool:
    instance = sandbox.consul.instance(WEB, task)
    return not instance or any(check["Status"] == "critical" for check in instance["Checks"])


def is_gone(sandbox: Sandbox, task: str) -> bool:
    found = (sandbox.consul.instance(service, task) for service in (WEB, f"{WEB}-sidecar-proxy"))
    return not any(found) and not sandbox.consul.login_tokens(task)


def is_absent(sandbox: Sandbox, task: str) -> bool:
    return not sandbox.consul.instance(WEB, task)


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
    """Runs a task whose app takes memory without end a minute after its start: the kernel kills it."""
    task = sandbox.run_task(WEB, ["/bin/sh", "-ec", "sleep 60; exec tail /dev/zero"])
    sandbox.wait_for(f"task {task} to pass", lambda: passes(sandbox, task))
    sandbox.say(f"  waits for the kernel to kill the app of task {task}")
    return Subject(task, time.time())


def lose_registration(sandbox: Sandbox) -> Subject:
    task, lost = passing_task(sandbox), time.time()
    for service in (WEB, f"{WEB}-sidecar-proxy"):
        instance = sandbox.consul.instance(service, task)
        if not instance:
            raise Problem(f"{service} of task {task} is not in Consul, although it was a moment ago")
        sandbox.consul.deregister(instance["Node"]["Node"], instance["Service"]["ID"])
    if not is_absent(sandbox, task):
        raise Problem(f"{WEB} of task {task} is still in Consul after it was deregistered")
    sweep(sandbox)
    return Subject(task, lost)


def impersonate(sandbox: Sandbox) -> Subject:
    """Starts a task that claims to be web, with the role of another service, and sweeps once it runs."""
    sandbox.create_service("impostor", WEB, [], 8080)

    def look() -> str | None:
        running = (task for task in sandbox.tasks_of("impostor") if task["lastStatus"] == "RUNNING" and has_tried(task))
        return next(map(task_id, running), None)

    task = sandbox.wait_for("the impostor's mesh-init to end", look)
    began = time.time()
    sweep(sandbox)
    return Subject(task, began)


def has_tried(task: dict) -> bool:
    return any(it["name"] == "consul-ecs-mesh-init" and it["lastStatus"] == "STOPPED" for it in task["containers"])


def sweep(sandbox: Sandbox) -> None:
    answer = sandbox.ecs_mesh("sweep", "--yes")
    if answer.returncode:
        raise Problem(f"ecs-mesh sweep ended with {answer.returncode}:\n{answer.stdout}{answer.stderr}")


# A drain has a minute, because its event may start an execution environment, and the sandbox's Consul has a quarter of a processor.
DRAINED = Expected("out of rotation", is_drained, TOLD_TO_STOP, 60)
GONE = Expected("gone, with its login tokens", is_gone, STOPPED, 60)

SCENARIOS = [
    # The app is healthy only once its call through the sidecar proxy has reached api.
    Scenario("a task starts", start, [Expected("registered, all checks passing", passes, STARTED, 180)], is_logged=False),
    Scenario("a deployment replaces a task", deploy, [DRAINED, GONE]),
    Scenario("a person stops a task", stop_by_hand, [DRAINED, GONE]),
    Scenario("the kernel kills a task's app", kill, [GONE]),
    Scenario("Consul loses a registration", lose_registration, [Expected("registered again", passes, None, 120)]),
    Scenario("an impostor has another role", impersonate, [Expected("not registered", is_absent, None, 60)]),
]


def watch(sandbox: Sandbox, scenario: Scenario) -> list[Seen]:
    """Does a scenario, and waits until Consul shows what is expected. Fails if it does so too late."""
    task, began = scenario.act(sandbox)
    # Since when Consul shows it, without a break.
    shown: dict[Expected, float] = {}
    seen: dict[Expected, Seen] = {}

    def look_at(expected: Expected) -> None:
        if expected.holds(sandbox, task):
            shown.setdefault(expected, time.time())
        else:
            shown.pop(expected, None)
        event = expected.after and sandbox.timeline.first(task, expected.after)
        if expected.after and not event:
            return
        since = changed_at(event, expected.after) if event else began
        if expected in shown:
            seen[expected] = Seen(scenario, expected, task, shown[expected], since, event)
        elif time.time() - since > expected.within:
            raise Problem(f"{scenario.name}: task {task} is not {expected.what} within {expected.within} s in Consul")

    def look() -> bool:
        sandbox.timeline.update()
        for expected in scenario.expected:
            if expected not in seen:
                look_at(expected)
        return len(seen) == len(scenario.expected)

    sandbox.wait_for(f"{scenario.name}: {', '.join(it.what for it in scenario.expected)}", look, LOOK)
    return list(seen.values())

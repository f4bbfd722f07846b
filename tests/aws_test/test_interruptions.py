"""A run that is interrupted at any call leaves nothing, at once or after another clean-up. The calls are those that a run makes."""

import json
import subprocess
import time

import pytest
from aws_test import __main__ as program
from aws_test import clean_up, figures, sandbox, scenarios, timeline
from aws_test import journal as journals
from aws_test.consul import Unreachable
from aws_test.journal import Journal
from memory import REGION, Memory, MemoryConsul

INTERRUPTED = program.INTERRUPTED


@pytest.fixture
def package(tmp_path):
    (tmp_path / "template.yaml").write_text("Resources:\n  Alarm:\n    Type: AWS::CloudWatch::Alarm\n")
    return tmp_path


class Clock:
    """Only pauses take time."""

    def __init__(self):
        self.began = self.now = 1_800_000_000.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "time", lambda: clock.now)
    monkeypatch.setattr(time, "sleep", clock.sleep)
    monkeypatch.setattr(timeline, "PAUSE", 0)
    monkeypatch.setattr(scenarios, "LOOK", 20)
    monkeypatch.setattr(journals.os, "fsync", lambda _: None)
    monkeypatch.setattr(program, "program", str)
    return clock


def run(memory, package, monkeypatch, *arguments: str, said: list[str] | None = None) -> int:
    said = [] if said is None else said
    monkeypatch.setattr(sandbox, "Consul", lambda *_: getattr(memory, "consul", MemoryConsul)(memory))
    monkeypatch.setattr(sandbox.subprocess, "run", memory.run_program)

    def say(text: str) -> None:
        said.append(text)
        if "waits for the kernel" in text:
            [task] = memory.running(clean_up.STARTED_BY)
            memory.end_task(task)

    monkeypatch.setattr(program, "say", say)
    folder = ["--folder", str(package / "folder"), "--package", str(package), "--ecs-mesh", "ecs-mesh", "--consul", "consul"]
    return program.main([*folder, *arguments], memory)


def journal(package) -> Journal:
    return Journal(package / "folder/journal.jsonl", "123456789012", REGION)


def test_a_run_ends_and_removes_everything(package, monkeypatch):
    memory = Memory()
    assert run(memory, package, monkeypatch, "--yes") == 0
    assert memory.left() == []
    assert journal(package).entries() == []
    seen = json.loads((package / "folder/figures.json").read_text())["seen"]
    expected = [(it.name, what.what) for it in scenarios.SCENARIOS for what in it.expected]
    assert [(row["scenario"], row["expected"]) for row in seen] == expected


@pytest.mark.parametrize(("by", "code"), [(KeyboardInterrupt, INTERRUPTED), (KeyError, 1)])
def test_nothing_is_left_wherever_a_run_is_interrupted(package, monkeypatch, capsys, by, code):
    uninterrupted = Memory()
    assert run(uninterrupted, package, monkeypatch, "--yes") == 0
    creating = [call for call in uninterrupted.calls if any(word in call for word in ("create", "run_task", "sam deploy"))]
    # The bucket, the sandbox, the controller, api, web, the task that is killed, the impostor, and its task.
    assert len(creating) == 8, creating
    left_by_clean_ups = 0
    for number in range(len(uninterrupted.calls)):
        for when in ("before", "after"):
            at = f"{when} call {number}, {uninterrupted.calls[number]}"
            journal(package).path.unlink(missing_ok=True)
            memory = Memory((number, when), by)
            assert run(memory, package, monkeypatch, "--yes") == code, at
            if memory.left():
                # Only an interrupted clean-up leaves something. It is in the journal, and stops another run.
                left_by_clean_ups += 1
                assert any(call.split()[1].startswith(("delete", "list_objects")) for call in memory.calls), at
                assert run(memory, package, monkeypatch, "--yes") == 1, at
            assert run(memory, package, monkeypatch, "--clean-up") == 0, at
            assert memory.left() == [], at
            assert journal(package).entries() == [], at
    assert left_by_clean_ups > 10


def test_what_cannot_be_removed_is_listed_and_stays_in_the_journal(package, monkeypatch):
    memory = Memory()
    assert run(memory, package, monkeypatch, "--yes", "--keep") == 0
    foreign = memory.start_task("somebody")["taskArn"].rsplit("/", 1)[-1]
    said = []
    left = clean_up.clean_up(memory.client, journal(package), said.append)
    reasons = {entry.kind: reason for entry, reason in left.items()}
    assert reasons["stack"] == "Cluster: has tasks"
    # CloudFormation deregisters a definition only with its stack: it must not be forgotten before.
    assert "still active" in reasons["task definitions"]
    assert set(journal(package).entries()) == set(left)
    assert run(memory, package, monkeypatch, "--clean-up") == 1
    memory.end_task(foreign)
    assert run(memory, package, monkeypatch, "--clean-up") == 0
    assert memory.left() == []


def test_things_of_another_account_are_not_touched(package, monkeypatch):
    memory = Memory()
    assert run(memory, package, monkeypatch, "--yes", "--keep") == 0
    monkeypatch.setattr(Memory, "get_caller_identity", lambda _: {"Account": "999999999999"})
    before = len(memory.calls)
    assert run(memory, package, monkeypatch, "--clean-up") == 1
    assert memory.calls[before:] == ["sts get_caller_identity"]


def test_a_failed_expectation_fails_the_run_and_everything_is_removed(package, monkeypatch):
    late = [scenarios.Scenario("never", scenarios.stop_by_hand, [scenarios.GONE._replace(holds=lambda *_: False, within=0)])]
    monkeypatch.setattr(program, "SCENARIOS", late)
    memory = Memory()
    assert run(memory, package, monkeypatch, "--yes") == 1
    assert memory.left() == []
    assert not (package / "folder/figures.json").exists()


def test_a_partial_run_writes_what_it_has_seen(package, monkeypatch):
    [never] = [it._replace(holds=lambda *_: False, within=0) for it in [scenarios.GONE]]
    partial = [*scenarios.SCENARIOS[:3], scenarios.Scenario("never", scenarios.stop_by_hand, [never]), scenarios.SCENARIOS[3]]
    monkeypatch.setattr(program, "SCENARIOS", partial)
    memory = Memory()
    assert run(memory, package, monkeypatch, "--yes") == 1
    assert memory.left() == []
    written = json.loads((package / "folder/figures.json").read_text())
    assert [row["scenario"] for row in written["seen"]] == [it.name for it in partial[:3] for _ in it.expected]
    assert written["problem"].startswith("failed: never: task ")
    assert (package / "folder/table.md").read_text().startswith("Not complete: failed: never: task ")


# ---- what never ends


def bound() -> int:
    return sandbox.LONGEST + clean_up.LONGEST_CLEAN_UP


@pytest.mark.parametrize(("stack", "status"), [("sandbox", "CREATE_IN_PROGRESS"), ("web", "DELETE_IN_PROGRESS")])
def test_a_stack_that_never_ends_is_not_waited_for_without_end(package, monkeypatch, clock, stack, status):
    memory, said = Memory(), []
    if status == "DELETE_IN_PROGRESS":
        assert run(memory, package, monkeypatch, "--yes", "--keep") == 0
    memory.stuck[stack] = status
    # A first look finds no such stack, and a clean-up finds one.
    assert run(memory, package, monkeypatch, "--clean-up" if memory.stacks else "--yes", said=said) == 1
    assert clock.now - clock.began <= bound()
    assert any(f"-{stack} to be" in text for text in said), said
    assert [entry for entry in journal(package).entries() if entry.name.endswith(f"-{stack}")]
    memory.stuck.clear()
    assert run(memory, package, monkeypatch, "--clean-up") == 0
    assert memory.left() == []


def test_tasks_that_never_stop_are_not_waited_for_without_end(package, monkeypatch, clock):
    memory, said = Memory(), []
    assert run(memory, package, monkeypatch, "--yes", "--keep") == 0
    monkeypatch.setattr(memory, "stop_task", lambda **_: None, raising=False)
    assert run(memory, package, monkeypatch, "--clean-up", said=said) == 1
    assert clock.now - clock.began <= bound()
    assert any("1 tasks of cluster cluster to stop" in text for text in said), said


@pytest.mark.parametrize("name", ["consul", "sam", "ecs-mesh"])
def test_a_program_that_never_ends_is_ended(package, monkeypatch, clock, name):
    memory, said = Memory(), []
    run_program = memory.run_program

    def hang(command, timeout, **options):
        if command[0] != name:
            return run_program(command, timeout, **options)
        clock.sleep(timeout)
        raise subprocess.TimeoutExpired(command, timeout)

    memory.run_program = hang
    assert run(memory, package, monkeypatch, "--yes", said=said) == 1
    assert any(text.startswith(f"failed: {name} ") and f"within {sandbox.WAIT} s" in text for text in said), said
    assert clock.now - clock.began <= bound()
    assert memory.left() == []


def test_an_object_that_s3_does_not_delete_ends_the_removal_of_its_bucket(package, monkeypatch):
    memory, said = Memory(), []
    assert run(memory, package, monkeypatch, "--yes", "--keep") == 0
    objects = {"Contents": [{"Key": "report.json"}]}
    refusal = {"Errors": [{"Key": "report.json", "Code": "AccessDenied", "Message": "no"}]}
    monkeypatch.setattr(memory, "list_objects_v2", lambda **_: objects, raising=False)
    monkeypatch.setattr(memory, "delete_objects", lambda **_: refusal, raising=False)
    assert run(memory, package, monkeypatch, "--clean-up", said=said) == 1
    assert sum("report.json: AccessDenied no" in text for text in said) == 2, said
    assert {entry.kind for entry in journal(package).entries()} == {"bucket"}


# ---- what the function did


def test_a_run_without_the_function_fails_although_health_sync_did_it(package, monkeypatch):
    memory, said = Memory(), []
    memory.function_works = False
    monkeypatch.setattr(program, "SCENARIOS", [it for it in scenarios.SCENARIOS if it.act is not scenarios.kill])
    assert run(memory, package, monkeypatch, "--yes", said=said) == 1
    [failed] = [text for text in said if text.startswith("failed:")]
    assert failed.startswith("failed: task-events logged no task_stopped of task ")
    # One of the deployment, and one of the stop by hand.
    assert failed.count("task_stopped") == 2
    assert json.loads((package / "folder/figures.json").read_text())["problem"] == failed


def test_a_killed_task_is_removed_by_nobody_but_the_function(package, monkeypatch):
    memory, said = Memory(), []
    memory.function_works = False
    monkeypatch.setattr(program, "SCENARIOS", [it for it in scenarios.SCENARIOS if it.act is scenarios.kill])
    assert run(memory, package, monkeypatch, "--yes", said=said) == 1
    assert any("is not gone, with its login tokens within 60 s" in text for text in said), said


@pytest.mark.parametrize(("late", "code"), [(figures.LOGS_WITHIN - 10, 0), (figures.LOGS_WITHIN + 10, 1)])
def test_lines_of_the_function_may_arrive_after_the_last_scenario(package, monkeypatch, clock, late, code):
    measure = figures.measure

    def measured(sandbox, seen, rows):
        memory.lines_arrive = clock.now + late
        measure(sandbox, seen, rows)

    monkeypatch.setattr(figures, "measure", measured)
    memory = Memory()
    memory.lines_arrive = float("inf")
    assert run(memory, package, monkeypatch, "--yes") == code
    rows = json.loads((package / "folder/figures.json").read_text())["seen"]
    # The ends by deployment, by hand, and of the killed task.
    assert sum("queue_to_function" in row for row in rows) == (3 if code == 0 else 0)


@pytest.mark.parametrize(
    ("line", "is_it"),
    [
        ({"action": "deregister", "outcome": "done", "task_id": "7"}, True),
        ({"action": "deregister", "outcome": "failed", "task_id": "7"}, False),
        ({"action": "deregister", "outcome": "observed", "task_id": "7"}, False),
        ({"action": "deregister_node", "outcome": "done", "task_id": "7"}, False),
        ({"action": "deregister", "outcome": "done", "task_id": "8"}, False),
        (["deregister", "7"], False),
    ],
)
def test_only_a_line_about_the_task_says_that_the_function_did_it(line, is_it):
    assert timeline.has_done(json.dumps(line), "7", "deregister") == is_it
    assert not timeline.has_done("START RequestId 7 deregister", "7", "deregister")


# ---- what Consul shows


class Flaky(MemoryConsul):
    """Answers a question after so many others only."""

    refuses = 0

    def instance(self, service: str, task: str):
        if Flaky.refuses:
            Flaky.refuses -= 1
            raise Unreachable("no route")
        return super().instance(service, task)


@pytest.mark.parametrize(("times", "code"), [(2, 0), (1000, 1)])
def test_consul_may_be_unreachable_until_the_limit_of_a_scenario(package, monkeypatch, times, code):
    """At each look of a scenario for two looks, which are 20 s apart."""
    memory, said = Memory(), []
    memory.consul = Flaky
    watch = scenarios.watch

    def watched(sandbox, scenario):
        act = scenario.act

        def acted(sandbox):
            subject = act(sandbox)
            Flaky.refuses = times
            return subject

        return watch(sandbox, scenario._replace(act=acted))

    monkeypatch.setattr(program, "watch", watched)
    monkeypatch.setattr(Flaky, "refuses", 0)
    assert run(memory, package, monkeypatch, "--yes", said=said) == code
    if code:
        assert any("within 180 s: no route" in text for text in said), said
    else:
        seen = json.loads((package / "folder/figures.json").read_text())["seen"]
        assert max(row["interval"] for row in seen) == 20


@pytest.mark.parametrize("after", [0, 1, 2])
def test_an_impostor_that_is_registered_at_any_time_of_the_minute_fails_the_run(package, monkeypatch, clock, after):
    memory, said = Memory(), []
    run_program = memory.run_program

    def sweep_that_admits(command, **options):
        if "sweep" in command:
            memory.swept = clock.now
        return run_program(command, **options)

    def instance(self, service, task):
        is_admitted = memory.tasks[task]["lastStatus"] == "PENDING" and clock.now >= memory.swept + after * 20
        return {"Checks": [], "Service": {}} if is_admitted else MemoryConsul.instance(self, service, task)

    memory.run_program = sweep_that_admits
    memory.consul = type("Admitting", (MemoryConsul,), {"instance": instance})
    assert run(memory, package, monkeypatch, "--yes", said=said) == 1
    assert any(text.endswith("is not not registered in Consul") for text in said), said


# ---- what is not of this run


def test_two_runs_do_not_share_a_journal(package, monkeypatch):
    memory, said = Memory(), []
    other = journal(package)
    with other.locked():
        for argument in ("--yes", "--clean-up"):
            assert run(memory, package, monkeypatch, argument, said=said) == 1
            assert said[-1].startswith("failed: another run or clean-up uses "), said
    assert set(memory.calls) == {"sts get_caller_identity"}
    assert run(memory, package, monkeypatch, "--yes") == 0


@pytest.mark.parametrize("kind", ["sandbox", "controller", "web", "bucket"])
def test_what_is_there_under_a_name_of_the_run_stays(package, monkeypatch, kind):
    memory, said = Memory(), []
    monkeypatch.setattr(program.secrets, "token_hex", lambda _: "abc123")
    name = "ecs-mesh-test-abc123"
    if kind == "bucket":
        foreign = f"{name}-123456789012"
        memory.buckets.add(foreign)
    else:
        foreign = f"{name}-{kind}"
        memory.stacks[foreign] = "CREATE_COMPLETE"
    assert run(memory, package, monkeypatch, "--yes", said=said) == 1
    assert any(f"{foreign} is there already" in text for text in said), said
    assert memory.left() == [foreign]


def test_a_line_that_was_not_ended_hides_no_other(tmp_path):
    own = Journal(tmp_path / "journal.jsonl", "1", REGION)
    own.about_to_create("bucket", "one")
    with own.path.open("a") as file:
        file.write('{"what": "create", "kind": "st')
    own.about_to_create("bucket", "two")
    assert [entry.name for entry in own.entries()] == ["one", "two"]

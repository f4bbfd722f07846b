"""A run that is interrupted at any call leaves nothing, at once or after another clean-up. The calls are those that a run makes."""

import json

import pytest
from aws_test import __main__ as program
from aws_test import aws, clean_up, sandbox, scenarios, timeline
from aws_test import journal as journals
from aws_test.journal import Journal
from memory import REGION, Memory, MemoryConsul

INTERRUPTED = program.INTERRUPTED


@pytest.fixture
def package(tmp_path):
    (tmp_path / "template.yaml").write_text("Resources:\n  Alarm:\n    Type: AWS::CloudWatch::Alarm\n")
    return tmp_path


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    for module in (aws, clean_up, sandbox, timeline):
        monkeypatch.setattr(module, "PAUSE", 0)
    monkeypatch.setattr(scenarios, "LOOK", 0)
    monkeypatch.setattr(journals.os, "fsync", lambda _: None)
    monkeypatch.setattr(program, "program", str)


def run(memory, package, monkeypatch, *arguments: str) -> int:
    monkeypatch.setattr(sandbox, "Consul", lambda *_: MemoryConsul(memory))
    monkeypatch.setattr(sandbox.subprocess, "run", memory.run_program)

    def say(text: str) -> None:
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


def test_nothing_is_left_wherever_a_run_is_interrupted(package, monkeypatch):
    uninterrupted = Memory()
    assert run(uninterrupted, package, monkeypatch, "--yes") == 0
    creating = [call for call in uninterrupted.calls if any(word in call for word in ("create", "run_task", "sam deploy"))]
    # The bucket, the sandbox, the controller, api, web, the impostor, and the task that is killed.
    assert len(creating) == 7, creating
    left_by_clean_ups = 0
    for number in range(len(uninterrupted.calls)):
        for when in ("before", "after"):
            at = f"{when} call {number}, {uninterrupted.calls[number]}"
            memory = Memory((number, when))
            assert run(memory, package, monkeypatch, "--yes") == INTERRUPTED, at
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

"""What make aws-test says before it creates anything, and what it makes of what it has measured."""

import json
import os
import subprocess
import sys

import boto3
import pytest
from aws_test import __main__ as program
from aws_test import figures, images, plan, prices, sandbox, scenarios, timeline
from conftest import TOP
from memory import Memory

TEMPLATE = TOP / "template.yaml"
VERSIONS = TOP / "crates/audit/src/versions/versions.toml"


def test_the_plan_names_every_step_every_resource_and_the_bound(capsys, tmp_path):
    memory = Memory()
    arguments = ["--plan", "--folder", str(tmp_path / "folder"), "--package", str(TOP)]
    assert program.main(arguments, memory) == 0
    said = capsys.readouterr().out
    assert "in account 123456789012, region eu-central-1" in said
    for number, step in enumerate([*(it.what for it in sandbox.STEPS), *(f"see: {it.name}" for it in scenarios.SCENARIOS)], 1):
        assert f"{number:3}. {step}\n" in said
    for template in (*sandbox.TEMPLATES.values(), TEMPLATE):
        assert plan.resources(template)
        for kind, count in plan.resources(template).items():
            assert f"{count} {kind}" in said
    assert f"at most ${plan.bound(TOP):.2f}" in said
    # The issue of the sandbox: under a dollar.
    assert plan.bound(TOP) < 1
    # It only asked who it is.
    assert memory.calls == ["sts get_caller_identity"]
    assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize(("answer", "code"), [("n", 2), ("", 2), ("yes", 1)])
def test_nothing_is_created_without_a_yes(monkeypatch, tmp_path, answer, code):
    monkeypatch.setattr(program.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: answer)
    memory = Memory()
    # With a yes, the run stops at the first program that is missing.
    arguments = ["--folder", str(tmp_path), "--package", str(TOP), "--ecs-mesh", "/nowhere/ecs-mesh"]
    assert program.main(arguments, memory) == code
    assert memory.left() == []


def test_without_a_terminal_a_question_is_a_no(tmp_path):
    script = "import sys; sys.path[:0] = sys.argv[1:3]; from memory import Memory; from aws_test import __main__ as program; sys.exit(program.main(sys.argv[3:], Memory()))"
    arguments = [str(TOP / "scripts"), str(TOP / "tests/aws_test"), "--folder", str(tmp_path), "--package", str(TOP)]
    ended = subprocess.run([sys.executable, "-B", "-c", script, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert ended.returncode == 2, ended
    assert "pass --yes" in ended.stdout


def test_the_images_go_together():
    """By the table of docs/reference/compatibility.md."""
    import tomllib

    rows = tomllib.loads(VERSIONS.read_text())

    def line_of(image: str) -> str:
        return ".".join(image.rsplit(":", 1)[1].split(".")[:2])

    consul, ecs, dataplane = (line_of(it) for it in (images.CONSUL["ConsulImage"], images.SERVICE["ConsulEcsImage"], images.SERVICE["DataplaneImage"]))
    assert consul in next(row["consul"] for row in rows["consul-ecs"] if row["line"] == ecs)
    assert dataplane in next(row["dataplane"] for row in rows["consul"] if row["line"] == consul)
    newest = {row["line"]: row["newest"] for row in rows["consul-ecs"]}
    assert images.SERVICE["ConsulEcsImage"].endswith(f":{newest[ecs]}")


@pytest.mark.skipif("ECS_MESH" not in os.environ, reason="no ECS_MESH; the suite aws_test sets it")
def test_the_auditor_finds_nothing():
    ended = subprocess.run([os.environ["ECS_MESH"], "check", str(TOP / "scripts/aws_test")], capture_output=True, text=True)
    assert ended.returncode == 0, ended
    assert "no findings in 2 task definitions" in ended.stdout + ended.stderr


def test_lambda_reports_what_it_charges():
    report = {"type": "platform.report", "record": {"metrics": {"billedDurationMs": 500, "memorySizeMB": 256}}}
    assert figures.report_of(json.dumps(report)) == pytest.approx(0.125)
    others = ["not JSON", "[]", json.dumps({"type": "platform.start"}), json.dumps({"action": "deregister", "outcome": "done"})]
    assert [figures.report_of(line) for line in others] == [None] * 4


def test_a_task_costs_from_its_pull_to_its_stop_and_a_minute_at_least():
    pulled = timeline.seconds("2026-11-28T12:00:00.500Z")
    task = {"pullStartedAt": "2026-11-28T12:00:00.500Z", "cpu": "256", "memory": "512"}

    def hours(stopped: str | None, ended: float) -> float:
        usages = figures.usage_of_tasks([{**task, "stoppedAt": stopped}], ended)
        return next(usage.quantity for usage in usages if usage.price == prices.ADDRESS)

    assert hours("2026-11-28T12:30:00.500Z", pulled + 7200) == pytest.approx(0.5)
    assert hours("2026-11-28T12:00:10.500Z", pulled + 7200) == pytest.approx(1 / 60)
    assert hours(None, pulled + 7200) == pytest.approx(2)
    assert figures.usage_of_tasks([{"cpu": "256", "memory": "512"}], pulled) == []


def test_the_table_shows_each_leg_and_the_median_of_events():
    def row(scenario: str, total: float, **legs: float) -> dict:
        return {"scenario": scenario, "expected": "gone", "within": 60, "total": total, "interval": 0.25, **legs}

    legs = {"after": "stopped", "event_to_queue": 0.5, "queue_to_function": 0.25, "function_to_consul": 1.25}
    seen = [row("a", 2.0, **legs), row("b", -1.0, after="stopped", event_to_queue=0.7), row("c", 9.0)]
    usage = {**prices.ADDRESS._asdict(), "quantity": 2.5, "cost": 0.0125}
    cost = {"dollars": 0.0125, "prices_as_of": "2026-11-28", "usage": [usage]}
    found = {"date": "2026-12-01", "region": "eu-central-1", "problem": "", "seen": seen, "cost": cost}
    table = figures.table(found).splitlines()
    assert table[2] == "| a | gone | 0.5 | 0.2 | 1.2 | 2.0 | 60 |"
    # ECS said so only after Consul showed it: the containers of the task did it.
    assert table[3] == "| b | gone | 0.7 | – | – | before | 60 |"
    assert table[4] == "| c | gone | – | – | – | 9.0 | 60 |"
    assert table[5] == "| the median of events | | 0.6 | 0.2 | 1.2 | 0.5 | |"
    assert "Two looks into Consul were at most 0.2 s apart." in table
    partial = figures.table({**found, "problem": "failed: sam deploy failed:\nmore", "seen": seen[:1]}).splitlines()
    assert partial[0] == "Not complete: failed: sam deploy failed:"
    assert partial[4] == table[2]
    assert table[-1] == "| USE1-PublicIPv4:InUseAddress | 2.5 | hours | 0.0125 |"


def test_calls_are_calls_of_boto3():
    """Each operation that the stand-in in memory has exists in AWS's own models."""
    clients = [boto3.client(name, region_name="us-east-1") for name in ("cloudformation", "cloudwatch", "ec2", "ecs", "logs", "s3", "sqs", "sts")]
    operations = {name for client in clients for name in client.meta.method_to_api_mapping}
    own = {"client", "interruptible", "left", "start_task", "end_task", "changed", "log", "running", "run_program", "create_controller"}
    assert {name for name, value in vars(Memory).items() if callable(value) and not name.startswith("_")} - own <= operations

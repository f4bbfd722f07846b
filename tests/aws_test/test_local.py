"""Whole runs on the local stack, where IAM is enforced. The program has the permissions that its page names.

The suite aws_test starts MiniStack and passes where everything is.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import account
import boto3
import pytest
from aws_test import scenarios
from conftest import TOP

PAGE = TOP / "docs/contributing/aws-test.md"
# As the other suites have it: short, and with an order of the bounds that the controller accepts.
TIME_BOUNDS = "TimeBounds=ecs-lag=1,secrets-lag=1,attempt=10,call=2,clocks=1,shown=4,health-lag=1"


@pytest.fixture(scope="session")
def root():
    return boto3.Session(aws_access_key_id="test", aws_secret_access_key="test")


@pytest.fixture(scope="session")
def environment(root) -> dict[str, str]:
    """The program's environment, with the key of a user who has the permissions of the page."""
    policy = re.search(r"(?s)```json\n(.*?)```", PAGE.read_text())[1]
    iam = root.client("iam")
    iam.create_user(UserName="aws-test")
    iam.put_user_policy(UserName="aws-test", PolicyName="page", PolicyDocument=policy)
    key = iam.create_access_key(UserName="aws-test")["AccessKey"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {
        **os.environ, "PATH": path, "PYTHONUNBUFFERED": "1",
        "AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
    }  # fmt: skip


def command(folder: Path, *arguments: str) -> list[str]:
    given = {name: os.environ[name] for name in ("CONSUL", "ECS_MESH", "PACKAGE", "ARCHITECTURE")}
    options = ["--package", given["PACKAGE"], "--ecs-mesh", given["ECS_MESH"], "--consul", given["CONSUL"]]
    options += ["--parameter", TIME_BOUNDS, "--parameter", f"Architecture={given['ARCHITECTURE']}"]
    return [sys.executable, str(Path(__file__).with_name("local.py")), given["CONSUL"], str(folder), *options, *arguments]


def refused() -> list[str]:
    return Path(os.environ["REFUSED"]).read_text().splitlines()


def test_a_run_shows_every_scenario_and_leaves_nothing(root, environment, tmp_path):
    before = account.contents(root)
    ended = subprocess.run(command(tmp_path, "--yes"), env=environment, capture_output=True, text=True)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, said
    assert account.contents(root) == before, said
    # Neither the program, nor the functions, nor the tasks' execution roles.
    assert refused() == []
    figures = json.loads((tmp_path / "figures.json").read_text())
    expected = [(it.name, what) for it in scenarios.SCENARIOS for what in it.expected]
    assert [(row["scenario"], row["expected"]) for row in figures["seen"]] == [(name, what.what) for name, what in expected]
    for row, (_, what) in zip(figures["seen"], expected, strict=True):
        # What Consul must show throughout is seen at the end of that time.
        assert (row["total"] > row["within"]) == what.throughout, row
    # A drain and an end of a stop by deployment and by hand, and the end of the killed task.
    legs = [row for row in figures["seen"] if "function_to_consul" in row]
    assert len(legs) == 5
    for row in legs:
        # The queue has an event after ECS has made it, and the function after the queue.
        assert row["event_to_queue"] > 0 and row["queue_to_function"] >= 0, row
        assert row["total"] == pytest.approx(sum(row[leg] for leg in ("event_to_queue", "queue_to_function", "function_to_consul")))
    summary = figures["doctor"].splitlines()[-1]
    assert " checks: " in summary and "failed" not in summary and "unknown" not in summary, summary
    used = {usage["usage_type"]: usage["quantity"] for usage in figures["cost"]["usage"]}
    # Consul, api, two of web, two after the deployment, the killed one, and the impostor, each for a minute at least. MiniStack starts
    # none in the place of the one that was stopped by hand.
    assert used["USE1-PublicIPv4:InUseAddress"] >= 8 / 60
    assert used["USE1-Fargate-vCPU-Hours:perCPU"] == pytest.approx(used["USE1-PublicIPv4:InUseAddress"] / 4)


def test_a_run_and_a_clean_up_that_are_interrupted_leave_nothing_after_another(root, environment, tmp_path):
    before = account.contents(root)
    controller = "-controller"
    process = subprocess.Popen(
        command(tmp_path, "--yes"),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A background job of a shell inherits SIGINT ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    said = []
    with process:
        for line in process.stdout:
            said.append(line)
            if "deploy the controller from" in line and line.startswith("aws-test: ["):
                # In the middle of `sam deploy`: CloudFormation has begun with the stack.
                while not any(it["StackName"].endswith(controller) for it in stacks(root)) and process.poll() is None:
                    pass
                process.send_signal(signal.SIGINT)
            if line.startswith("aws-test: removing stack") and controller in line:
                process.send_signal(signal.SIGINT)
    assert process.returncode == 130, said
    assert account.contents(root) != before, said
    again = subprocess.run(command(tmp_path, "--yes"), env=environment, capture_output=True, text=True)
    assert again.returncode == 1 and "make aws-test CLEAN_UP=1" in again.stdout, again
    cleaned = subprocess.run(command(tmp_path, "--clean-up"), env=environment, capture_output=True, text=True)
    assert cleaned.returncode == 0, cleaned
    assert account.contents(root) == before


def stacks(root) -> list[dict]:
    return [it for it in root.client("cloudformation").list_stacks()["StackSummaries"] if it["StackStatus"] != "DELETE_COMPLETE"]

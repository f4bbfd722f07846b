"""Runs the controller in a sandbox account of AWS, and removes everything again.

    PYTHONPATH=scripts python3 -m aws_test             the plan, a question, the run, and the clean-up
    PYTHONPATH=scripts python3 -m aws_test --clean-up  removes what an interrupted run has left
"""

import argparse
import functools
import json
import os
import secrets
import shutil
import signal
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

try:
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError
except ImportError as error:
    sys.exit(f"aws-test: {error}: run this by make aws-test, which installs boto3")

from . import Problem, figures, plan
from .aws import Clients
from .clean_up import clean_up
from .consul import Unreachable
from .journal import Journal
from .sandbox import STEPS, TOP, Sandbox, Tools
from .scenarios import SCENARIOS, watch

FOLDER = TOP / "target/aws-test"
# What the shell reports of a command that Ctrl-C has ended.
INTERRUPTED = 130
AGAIN = "make aws-test CLEAN_UP=1"


def say(text: str) -> None:
    print(f"aws-test: {text}", flush=True)


def program(name: str) -> str:
    """The path of a program. A run starts only if it has all of them."""
    path = shutil.which(name)
    if not path:
        raise Problem(f"{name} is not installed: run this by make aws-test, which installs it")
    return os.path.abspath(path)


def released_ecs_mesh(package: Path, folder: Path) -> str:
    """The command ecs-mesh of the package."""
    others = ("ecs-mesh-controller", "ecs-mesh-schemastore")
    archives = [path for path in package.glob("ecs-mesh-*.tar.gz") if not path.name.startswith(others)]
    if len(archives) != 1:
        raise Problem(f"{package} has {len(archives)} archives of ecs-mesh, expected 1: run make dist")
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archives[0]) as archive:
        member = next(member for member in archive.getmembers() if member.name.endswith("/ecs-mesh"))
        path = folder / "ecs-mesh"
        path.write_bytes(archive.extractfile(member).read())
    path.chmod(0o755)
    return str(path)


def run(sandbox: Sandbox) -> list[dict[str, Any]]:
    """Creates everything, and returns what was measured."""
    for number, step in enumerate(STEPS, 1):
        say(f"[{number}/{len(STEPS)}] {step.what}")
        step.do(sandbox)
    rows = []
    for scenario in SCENARIOS:
        say(f"see: {scenario.name}")
        for seen in watch(sandbox, scenario):
            row = figures.measured(sandbox, seen)
            rows.append(row)
            say(f"  {row['expected']}: after {figures.cell(row['total'])} s")
    sandbox.timeline.read_all()
    return rows


def write(sandbox: Sandbox, rows: list[dict[str, Any]], usages: list, folder: Path) -> None:
    date = time.strftime("%Y-%m-%d", time.gmtime(sandbox.began))
    found = figures.document(sandbox, rows, usages, date)
    (folder / "figures.json").write_text(json.dumps(found, indent=2) + "\n")
    (folder / "table.md").write_text(figures.table(found))
    say(f"wrote {folder / 'figures.json'} and {folder / 'table.md'}")


def remove(aws: Clients, journal: Journal) -> bool:
    """Cleans up, and says what could not be removed."""
    left = clean_up(aws, journal, say)
    if not left:
        say("everything that was created is removed")
        return True
    say(f"not removed; correct the cause and run {AGAIN}:")
    for entry, reason in left.items():
        say(f"  {entry.kind} {entry.name}: {reason}")
    return False


def attempt(sandbox: Sandbox, folder: Path, keep: bool) -> int:
    """The run and its clean-up."""
    code, rows, usages = 1, None, []
    try:
        rows = run(sandbox)
        usages = figures.usage_of_functions(sandbox) + figures.usage_of_queues(sandbox, sandbox.began, time.time())
        code = 0
    except (Problem, Unreachable, ClientError, BotoCoreError, OSError) as problem:
        say(f"failed: {problem}")
    except KeyboardInterrupt:
        say("interrupted")
        code = INTERRUPTED
    if keep:
        hourly = plan.total(plan.of_tasks(1, plan.CPU, plan.GIGABYTES))
        say(f"everything stays, and each task costs about ${hourly:.2f} an hour. Remove it with {AGAIN}")
    elif not remove(sandbox.aws, sandbox.journal):
        code = code or 1
    if rows is not None:
        ended = time.time()
        tasks = list(sandbox.timeline.tasks().values())
        usages += figures.usage_of_tasks(tasks, ended) + figures.usage_of_stacks(sandbox, ended)
        write(sandbox, rows, usages, folder)
    return code


def may_go_on(assume_yes: bool) -> bool:
    if assume_yes:
        return True
    if not sys.stdin.isatty():
        say("nobody can be asked here: pass --yes")
        return False
    return input("Go on? [y/N] ").strip().lower() in ("y", "yes")


def arguments_of(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="aws-test", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--yes", action="store_true", help="skip the confirmation prompt")
    parser.add_argument("--plan", action="store_true", help="print the plan, and create nothing")
    parser.add_argument("--keep", action="store_true", help="remove nothing, to look at it")
    parser.add_argument("--clean-up", action="store_true", help="remove what earlier runs have left")
    parameter = {"action": "append", "default": [], "metavar": "KEY=VALUE"}
    parser.add_argument("--parameter", **parameter, help="set a parameter of the controller's stack")
    parser.add_argument("--package", type=Path, default=TOP / "target/dist", help="the folder of make dist [default: %(default)s]")
    parser.add_argument("--ecs-mesh", help="use this ecs-mesh [default: the one of the package]")
    parser.add_argument("--consul", default="consul", help="use this consul to make certificates [default: the one on PATH]")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="keep the journal and the figures here [default: %(default)s]")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None, session: Any = None) -> int:
    arguments = arguments_of(argv)
    session = session or boto3.Session()
    aws = functools.cache(session.client)
    # As Ctrl-C: everything is removed.
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.default_int_handler)
    try:
        account, region = aws("sts").get_caller_identity()["Account"], session.region_name
        journal = Journal(arguments.folder / "journal.jsonl", account, region)
        if arguments.clean_up:
            return 0 if remove(aws, journal) else 1
        return start(arguments, aws, journal)
    except (Problem, ClientError, BotoCoreError) as problem:
        say(f"failed: {problem}")
        return 1
    except KeyboardInterrupt:
        say(f"interrupted. If something is left, {AGAIN} removes it")
        return INTERRUPTED


def start(arguments: argparse.Namespace, aws: Clients, journal: Journal) -> int:
    if not journal.region:
        raise Problem("no region: set AWS_REGION, or a region in the profile")
    if left := journal.entries():
        raise Problem(f"an earlier run has left {len(left)} things, such as {left[0].kind} {left[0].name}: run {AGAIN} first")
    if not (arguments.package / "template.yaml").is_file():
        raise Problem(f"no template.yaml in {arguments.package}: run make dist")
    name = f"ecs-mesh-test-{secrets.token_hex(3)}"
    print(plan.text(name, journal.account, journal.region, arguments.package), flush=True)
    if arguments.plan:
        return 0
    if not may_go_on(arguments.yes):
        return 2
    ecs_mesh = arguments.ecs_mesh or released_ecs_mesh(arguments.package, arguments.folder)
    tools = Tools(*map(program, ("sam", arguments.consul, ecs_mesh)))
    sandbox = Sandbox(name, aws, journal, tools, arguments.package, arguments.folder / name, say)
    sandbox.parameters = dict(parameter.split("=", 1) for parameter in arguments.parameter)
    return attempt(sandbox, arguments.folder, arguments.keep)


if __name__ == "__main__":
    sys.exit(main())

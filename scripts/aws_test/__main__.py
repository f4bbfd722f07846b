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
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

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
from .prices import Usage
from .sandbox import STEPS, TOP, Sandbox, Tools
from .scenarios import SCENARIOS, Seen, watch

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


def run(sandbox: Sandbox, seen: list[Seen]) -> None:
    """Creates everything, and goes through the scenarios. Adds what was seen, so that it is known after a failure, too."""
    for number, step in enumerate(STEPS, 1):
        say(f"[{number}/{len(STEPS)}] {step.what}")
        step.do(sandbox)
    for scenario in SCENARIOS:
        say(f"see: {scenario.name}")
        for it in watch(sandbox, scenario):
            seen.append(it)
            say(f"  {it.expected.what}: after {figures.cell(it.at - it.since)} s")


def measure(sandbox: Sandbox, seen: list[Seen], rows: list[dict[str, Any]], usages: list[Usage]) -> None:
    """Adds what the queue, the logs and CloudWatch have, while they are there."""
    sandbox.timeline.read_all()
    usages += figures.usage_of_functions(sandbox) + figures.usage_of_queues(sandbox, sandbox.began, time.time())
    figures.measure(sandbox, seen, rows)


def write(sandbox: Sandbox, rows: list[dict[str, Any]], usages: list[Usage], problem: str, folder: Path) -> None:
    ended, tasks = time.time(), list(sandbox.timeline.tasks().values())
    usages = usages + figures.usage_of_tasks(tasks, ended) + figures.usage_of_stacks(sandbox, ended)
    date = time.strftime("%Y-%m-%d", time.gmtime(sandbox.began))
    found = figures.document(sandbox, rows, usages, date, problem)
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


class Outcome(NamedTuple):
    """How a part of a run has ended: the exit code, and what has failed."""

    code: int
    problem: str


def outcome(part: Callable[[], int | None]) -> Outcome:
    """Does a part of a run. It never raises, because the clean-up comes next, whatever has failed."""
    try:
        return Outcome(part() or 0, "")
    except KeyboardInterrupt:
        found = Outcome(INTERRUPTED, "interrupted")
    except (Problem, Unreachable, ClientError, BotoCoreError, OSError) as error:
        found = Outcome(1, f"failed: {error}")
    except Exception as error:
        traceback.print_exc()
        found = Outcome(1, f"failed: {type(error).__name__}: {error}. This is a fault of aws-test: report it with the traceback")
    say(found.problem)
    return found


def attempt(sandbox: Sandbox, folder: Path, keep: bool) -> int:
    """The run and its clean-up."""
    seen: list[Seen] = []
    usages: list[Usage] = []
    outcomes = [outcome(lambda: run(sandbox, seen))]
    rows = [figures.row_of(it) for it in seen]
    # An interruption removes everything at once.
    if rows and outcomes[0].code != INTERRUPTED:
        outcomes.append(outcome(lambda: measure(sandbox, seen, rows, usages)))
    if keep:
        hourly = plan.total(plan.of_tasks(1, plan.CPU, plan.GIGABYTES))
        say(f"everything stays, and each task costs about ${hourly:.2f} an hour. Remove it with {AGAIN}")
    elif not remove(sandbox.aws, sandbox.journal):
        outcomes.append(Outcome(1, ""))
    if rows:
        problem = "; ".join(it.problem for it in outcomes if it.problem)
        outcomes.append(outcome(lambda: write(sandbox, rows, usages, problem, folder)))
    return next((it.code for it in outcomes if it.code), 0)


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
    ended = outcome(lambda: begin(arguments, aws, session.region_name))
    if ended.code == INTERRUPTED:
        say(f"if something is left, {AGAIN} removes it")
    return ended.code


def begin(arguments: argparse.Namespace, aws: Clients, region: str) -> int:
    journal = Journal(arguments.folder / "journal.jsonl", aws("sts").get_caller_identity()["Account"], region)
    if not arguments.clean_up:
        return start(arguments, aws, journal)
    with journal.locked():
        return 0 if remove(aws, journal) else 1


def start(arguments: argparse.Namespace, aws: Clients, journal: Journal) -> int:
    if not journal.region:
        raise Problem("no region: set AWS_REGION, or a region in the profile")
    check_nothing_is_left(journal)
    if not (arguments.package / "template.yaml").is_file():
        raise Problem(f"no template.yaml in {arguments.package}: run make dist")
    name = f"ecs-mesh-test-{secrets.token_hex(3)}"
    print(plan.text(name, journal.account, journal.region, arguments.package), flush=True)
    if arguments.plan:
        return 0
    if not may_go_on(arguments.yes):
        return 2
    with journal.locked():
        # Another run may have begun and ended since the question.
        check_nothing_is_left(journal)
        return attempt(prepared(arguments, name, aws, journal), arguments.folder, arguments.keep)


def check_nothing_is_left(journal: Journal) -> None:
    if left := journal.entries():
        raise Problem(f"an earlier run has left {len(left)} things, such as {left[0].kind} {left[0].name}: run {AGAIN} first")


def prepared(arguments: argparse.Namespace, name: str, aws: Clients, journal: Journal) -> Sandbox:
    """A sandbox of which nothing is created yet."""
    ecs_mesh = arguments.ecs_mesh or released_ecs_mesh(arguments.package, arguments.folder)
    tools = Tools(*map(program, ("sam", arguments.consul, ecs_mesh)))
    sandbox = Sandbox(name, aws, journal, tools, arguments.package, arguments.folder / name, say)
    sandbox.parameters = dict(parameter.split("=", 1) for parameter in arguments.parameter)
    return sandbox


if __name__ == "__main__":
    sys.exit(main())

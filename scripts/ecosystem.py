#!/usr/bin/env python3
"""Show what a change of the rules means for real repositories: the findings of two builds of ecs-mesh, compared.

  scripts/ecosystem.py OLD NEW FOLDER

OLD and NEW are two programs, FOLDER has a checkout in each of its directories. For each checkout with a difference, the
findings and problems that are gone (-) and new (+) are printed. The exit code is 1 if there is a difference.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

# A check of a large checkout takes seconds.
TIMEOUT = 300


def check(program: Path, checkout: Path) -> tuple[Counter, float]:
    """What a program finds in a checkout, and the seconds that it took."""
    start = time.monotonic()
    command = [program.resolve(), "check", ".", "--output", "json", "--quiet"]
    try:
        done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return Counter([f"no answer after {TIMEOUT} seconds"]), TIMEOUT
    seconds = time.monotonic() - start
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError:
        return Counter([f"exit code {done.returncode} without a report: {done.stderr.strip()}"]), seconds
    found = [
        f"{finding['file']}:{finding['start']['line']} {finding['severity']} {finding['rule']} {finding['definition']}: {finding['message']}"
        for finding in report["findings"]
    ]
    unread = [f"{problem['file']}: {problem['reason']}" for kind in ("problems", "unchecked") for problem in report[kind]]
    return Counter(found + unread), seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, metavar="OLD")
    parser.add_argument("new", type=Path, metavar="NEW")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    checkouts = sorted(path for path in arguments.folder.iterdir() if path.is_dir())
    if not checkouts:
        parser.error(f"{arguments.folder} has no directories")
    gone = new = 0
    took = [0.0, 0.0]
    for number, checkout in enumerate(checkouts, 1):
        if sys.stderr.isatty():
            print(f"\r\033[K{number} of {len(checkouts)}: {checkout.name}", end="", file=sys.stderr, flush=True)
        (before, seconds_before), (after, seconds_after) = check(arguments.old, checkout), check(arguments.new, checkout)
        took = [took[0] + seconds_before, took[1] + seconds_after]
        lines = [f"- {line}" for line in (before - after).elements()] + [f"+ {line}" for line in (after - before).elements()]
        if lines:
            print("\n".join([checkout.name, *sorted(lines, key=lambda line: line[2:]), ""]))
        gone, new = gone + (before - after).total(), new + (after - before).total()
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    print(f"{len(checkouts)} checkouts: {gone} gone, {new} new; {took[0]:.1f} s before, {took[1]:.1f} s now")
    return 1 if gone or new else 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs the test suites concurrently, and prints which tests passed, failed and were skipped.

    suites.py run [SUITE...]                       each suite once; without names, all suites
    suites.py repeat SUITE --runs 20 [--busy]      one suite repeatedly; prints a table

A suite is a test binary: its tests share one stack in their process. All suites are built first; the output is in
target/test/SUITE.log. With --busy, every second run has a busy process on each processor.
"""

import argparse
import concurrent.futures
import contextlib
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "target" / "test"
# The longest suites are started first.
LONGEST = ["faults", "end_to_end", "terraform", "search", "in_process", "aws_test"]
# The number of concurrent tests in suites that mostly wait for servers; by default the number of processors.
THREADS = {"end_to_end": 6, "in_process": 4, "faults": 3, "terraform": 3}
# The timeout of a suite, in seconds: far longer than it takes, so that it ends only a suite that hangs.
HOUR = 3600
# How long the servers of a suite may take to end after the suite, in seconds. They are killed after five.
SERVERS_END = 20

running: set[subprocess.Popen] = set()
burners: list[multiprocessing.Process] = []
# Held while a suite starts or ends. Reentrant, because the signal handler runs on the main thread.
lock = threading.RLock()


class Suite(NamedTuple):
    name: str
    program: str
    # The folder of its package, in which cargo runs it.
    folder: Path


class Result:
    def __init__(self, suite: str, code: int, seconds: float, log: Path):
        output = log.read_text(errors="replace")
        self.suite, self.code, self.seconds, self.log, self.output = suite, code, seconds, log, output
        counts = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", output, re.MULTILINE)
        self.passed, self.failed, self.ignored = (sum(int(row[column]) for row in counts) for column in range(3))
        # A binary that ends without a result has failed.
        if code != 0 and self.failed == 0 or not counts:
            self.failed += 1
        self.skipped = sorted(set(re.findall(r"^skipped: (.*)$", output, re.MULTILINE)))
        # The binary counts a skipped test as passed.
        self.passed -= len(self.skipped)
        self.failures = re.findall(r"^test (\S+) \.\.\. FAILED$", output, re.MULTILINE)

    def __str__(self) -> str:
        verdict = "ok" if self.failed == 0 else "FAILED"
        return f"{self.suite}: {verdict}, {self.passed} passed, {self.failed} failed, {self.seconds:.0f} s"


@contextlib.contextmanager
def started(command: list[str], **options) -> Iterator[subprocess.Popen]:
    """Starts a process in its own session; a signal to this script ends it."""
    with lock:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **options)
        running.add(process)
    try:
        yield process
    finally:
        with lock:
            running.discard(process)


def build() -> dict[str, Suite]:
    """Builds every suite, and finds their binaries."""
    # Always all packages: cargo unifies the features of the selected packages, and rebuilds dependencies for another selection.
    cargo = ["cargo", "test", "--locked", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]
    # The Makefile sets the build flags of the simulation's search.
    if "SEARCH_FLAGS" not in os.environ:
        sys.exit("suites: SEARCH_FLAGS is not set: run this by make, for example make repeat SUITE=in_process")
    search = [*cargo, *os.environ["SEARCH_FLAGS"].split(), "--test", "search"]
    suites = {}
    for command in (cargo, search):
        with started(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
            messages = process.stdout.read()
            # With a timeout, because only such a wait allows the signal handler to wait for the same process.
            process.wait(timeout=HOUR)
        if process.returncode:
            sys.exit(process.returncode)
        for message in map(json.loads, messages.splitlines()):
            if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
                target, folder = message["target"], Path(message["manifest_path"]).parent
                prefix = "" if target["kind"][0] == "test" else "unit_"
                name = prefix + target["name"]
                suites[name] = Suite(name, message["executable"], folder)
    return suites


def check(names: list[str], suites: dict[str, Suite]) -> None:
    for name in names:
        if name not in suites:
            sys.exit(f"suites: no suite {name}; there are {', '.join(sorted(suites))}")


def run(suite: Suite) -> Result:
    """Runs one suite, with its output in its log."""
    log = LOGS / f"{suite.name}.log"
    start = time.monotonic()
    # Which statements of the roles the calls of its functions need: scripts/statements.py reads it.
    statements = LOGS / f"{suite.name}.statements"
    statements.unlink(missing_ok=True)
    threads = str(THREADS.get(suite.name, os.cpu_count()))
    env = {**os.environ, "RUST_TEST_THREADS": threads, "STATEMENTS": str(statements)}
    with (
        log.open("wb") as output,
        started([suite.program], cwd=suite.folder, stdout=output, stderr=subprocess.STDOUT, env=env) as process,
    ):
        try:
            process.wait(timeout=HOUR)
        except subprocess.TimeoutExpired:
            output.write(f"\nsuites: {suite.name} did not end within {HOUR} s\n".encode())
            end(process)
    result = Result(suite.name, process.returncode, time.monotonic() - start, log)
    if result.failed == 0:
        # The servers' data and logs are kept if a test failed.
        shutil.rmtree(ROOT / "target" / "stack" / f"{Path(suite.program).stem}-{process.pid}", ignore_errors=True)
    return result


def end(process: subprocess.Popen) -> None:
    """Ends a process. The servers that a suite has started end themselves when it has ended."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=10)
    except ProcessLookupError:
        pass
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def living(sessions: list[int]) -> list[int]:
    """The processes of these sessions. A suite's servers are in its session, in process groups of their own."""
    pids = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The program's name, in brackets, may hold anything.
            state, _, _, session = stat.read_text(errors="replace").rpartition(")")[2].split()[:4]
        except OSError:
            # It has ended since it was listed.
            continue
        if int(session) in sessions and state != "Z":
            pids.append(int(stat.parent.name))
    return pids


def end_all(*_) -> None:
    with lock:
        for burner in burners:
            burner.kill()
        processes = list(running)
        for process in processes:
            end(process)
        sessions = [process.pid for process in processes]
        began = time.monotonic()
        while (left := living(sessions)) and time.monotonic() - began < SERVERS_END:
            time.sleep(0.1)
        if left:
            how = f"still running: {left}; end them with: kill -KILL {' '.join(map(str, left))}"
        else:
            how = "everything that was started has ended"
        print(f"\nsuites: interrupted; {how}", file=sys.stderr, flush=True)
        os._exit(130)


def on_signals(handler) -> None:
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # One that is ignored, as `nohup` has it, stays so.
        if signal.getsignal(name) != signal.SIG_IGN:
            signal.signal(name, handler)


def run_all(names: list[str]) -> int:
    suites = build()
    check(names, suites)
    names = names or sorted(suites, key=lambda name: (LONGEST.index(name) if name in LONGEST else len(LONGEST), name))
    start = time.monotonic()
    results = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        ends = {pool.submit(run, suites[name]): name for name in names}
        for future in concurrent.futures.as_completed(ends):
            result = future.result()
            results.append(result)
            print(f"[{len(results)}/{len(names)}, {time.monotonic() - start:.0f} s] {result}", flush=True)
            if result.failed:
                print_failure(result)
    return summary(results, time.monotonic() - start)


def print_failure(result: Result) -> None:
    print(f"---- {result.suite}: {', '.join(result.failures) or 'no test by name'}; the end of {result.log.relative_to(ROOT)}")
    print("\n".join(line[:2000] for line in result.output.splitlines()[-200:]), flush=True)
    print("----", flush=True)


def summary(results: list[Result], seconds: float) -> int:
    print(f"\n| suite | passed | failed | skipped | seconds |\n| --- | --- | --- | --- | --- |")
    for result in sorted(results, key=lambda result: result.suite):
        row = (result.suite, result.passed, result.failed, len(result.skipped) + result.ignored, round(result.seconds))
        print("| " + " | ".join(map(str, row)) + " |")
    for result in results:
        for skipped in result.skipped:
            print(f"skipped: {result.suite}: {skipped}")
    passed, failed = sum(r.passed for r in results), sum(r.failed for r in results)
    skipped = sum(len(r.skipped) + r.ignored for r in results)
    print(f"\nall suites in {seconds:.0f} s")
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0


def burn() -> None:
    """Keeps a processor busy, as long as the process lives that has started this one."""
    on_signals(signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    while parent.is_alive():
        for _ in range(1_000_000):
            pass


def repeat(suite: str, runs: int, busy: bool) -> int:
    built = build()
    check([suite], built)
    rows, red = [], 0
    for number in range(1, runs + 1):
        is_busy = busy and number % 2 == 0
        burners[:] = [multiprocessing.Process(target=burn, daemon=True) for _ in range(os.cpu_count() if is_busy else 0)]
        for burner in burners:
            burner.start()
        result = run(built[suite])
        for burner in burners:
            burner.kill()
        red += result.failed > 0
        rows.append((number, "busy" if is_busy else "idle", "red" if result.failed else "green", round(result.seconds)))
        print(f"run {number}/{runs}, processors {rows[-1][1]}: {result}", flush=True)
        if result.failed:
            result.log = result.log.rename(LOGS / f"{suite}-red-{number}.log")
            print_failure(result)
    for kind in ("idle", "busy"):
        times = [row[3] for row in rows if row[1] == kind]
        green = sum(row[2] == "green" for row in rows if row[1] == kind)
        if times:
            print(f"| {suite} | {kind} | {green} of {len(times)} | {min(times)} to {max(times)} s |")
    return 1 if red else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    once = commands.add_parser("run")
    once.add_argument("suites", nargs="*")
    again = commands.add_parser("repeat")
    again.add_argument("suite")
    again.add_argument("--runs", type=int, default=20)
    again.add_argument("--busy", action="store_true")
    arguments = parser.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    on_signals(end_all)
    if arguments.command == "run":
        return run_all(arguments.suites)
    return repeat(arguments.suite, arguments.runs, arguments.busy)


if __name__ == "__main__":
    sys.exit(main())

"""Mutation tests of the simulation: applies each mutant to a copy of the sources, and has the simulation search for it.

    mutants.py [MUTANT...]     the mutants with these names (files in testing/simulation/mutants); without names, all mutants

A mutant is a patch: what it breaks, and the change. Each has to break a promise within the schedules that every test run searches.
The copy is in target/mutants, and is built there: cargo cannot tell two copies of a workspace in one target folder apart.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATCHES = ROOT / "testing" / "simulation" / "mutants"
COPY = ROOT / "target" / "mutants"
TARGET = COPY / "target"
# What cargo reads of the workspace.
SOURCES = ["Cargo.toml", "Cargo.lock", "benches", "crates", "demo", "docs", "events", "src", "template.yaml", "testing", "tests"]
# As many as testing/simulation/tests/search.rs searches.
SCHEDULES = 10_000
# The seconds after which a search that does not end has failed: many times what it takes.
TIMEOUT = 900


def copy() -> None:
    """Updates the copy. Unchanged files keep their modification times, by which cargo decides what to build."""
    COPY.mkdir(parents=True, exist_ok=True)
    wanted = set()
    for name in SOURCES:
        source = ROOT / name
        files = [source] if source.is_file() else [path for path in source.rglob("*") if path.is_file()]
        for path in files:
            relative = path.relative_to(ROOT)
            wanted.add(relative)
            target = COPY / relative
            if not target.exists() or target.read_bytes() != path.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
    copied = [path for name in SOURCES for path in [COPY / name, *(COPY / name).rglob("*")] if path.is_file()]
    for path in copied:
        if path.relative_to(COPY) not in wanted:
            path.unlink()
            # Cargo takes a folder for a member of the workspace.
            for folder in path.parents:
                if any(folder.iterdir()):
                    break
                folder.rmdir()


def take_over_dependencies() -> None:
    """Links what the tests have built of other packages, so that only this workspace's are built anew."""
    command = ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"]
    packages = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)["packages"]
    own = {target["name"] for package in packages for target in package["targets"]} | {p["name"] for p in packages}
    own = {name.replace("-", "_") for name in own}
    for part in (".fingerprint", "build", "deps"):
        for source in (ROOT / "target" / "debug" / part).glob("*"):
            name = source.name.split(".")[0].rpartition("-")[0].replace("-", "_")
            target = TARGET / "debug" / part / source.name
            if target.exists() or name in own or name.removeprefix("lib") in own:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            # Cargo writes to fingerprints in place, and to nothing else.
            take = shutil.copy2 if part == ".fingerprint" else os.link
            if source.is_dir():
                shutil.copytree(source, target, copy_function=take)
            else:
                take(source, target)


def apply(patch: Path, reverse: bool = False) -> None:
    # The copy is not part of the surrounding repository.
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(COPY.parent)}
    command = ["git", "apply", *(["--reverse"] if reverse else []), str(patch)]
    if subprocess.run(command, cwd=COPY, env=env).returncode:
        sys.exit(f"mutants: {patch.relative_to(ROOT)} does not apply: update it to the current code")


class DoesNotBuild(Exception):
    pass


def build() -> Path:
    flags = os.environ.get("SEARCH_FLAGS")
    if flags is None:
        sys.exit("mutants: SEARCH_FLAGS is not set: run this by make mutants")
    command = ["cargo", "build", "--quiet", "--locked", "--workspace", "--bin", "simulate", *flags.split()]
    env = {**os.environ, "CARGO_TARGET_DIR": str(TARGET)}
    built = subprocess.run(command, cwd=COPY, env=env, stderr=subprocess.PIPE, text=True)
    if built.returncode:
        raise DoesNotBuild(built.stderr)
    return TARGET / "debug" / "simulate"


def search(program: Path) -> str | None:
    """The broken promise, or None."""
    command = [program, "--schedules", str(SCHEDULES), "--first-seed", "1", "--no-shrink"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode == 0:
        return None
    found = re.search(r"^seed (\d+) breaks a promise: (.*)$", done.stdout, re.MULTILINE)
    if not found:
        sys.exit(f"mutants: the simulation ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return f"caught by schedule {found[1]}: {found[2]}"


def main() -> int:
    patches = {patch.stem: patch for patch in sorted(PATCHES.glob("*.patch"))}
    names = sys.argv[1:] or list(patches)
    for name in names:
        if name not in patches:
            sys.exit(f"mutants: no mutant {name}; there are {', '.join(patches)}")
    copy()
    take_over_dependencies()
    # A promise that the code itself breaks would be taken for each of the mistakes.
    if broken := search(build()):
        sys.exit(f"mutants: the code breaks a promise without any mistake: {broken}")
    survivors = []
    for number, name in enumerate(names, 1):
        start = time.monotonic()
        apply(patches[name])
        try:
            caught = search(build())
            verdict = caught or f"NOT CAUGHT within {SCHEDULES} schedules"
        except DoesNotBuild as error:
            caught, verdict = None, f"DOES NOT BUILD: update it to the current code\n{error}"
        finally:
            apply(patches[name], reverse=True)
        if not caught:
            survivors.append(name)
        print(f"[{number}/{len(names)}, {time.monotonic() - start:.0f} s] {name}: {verdict}", flush=True)
    if survivors:
        print(f"mutants: not caught: {', '.join(survivors)}", file=sys.stderr)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())

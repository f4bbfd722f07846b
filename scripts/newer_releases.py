#!/usr/bin/env python3
"""Print the releases of HashiCorp that are newer than the table of releases, as a list in Markdown.

  scripts/newer_releases.py [--issue]

With --issue, it opens an issue on GitHub with the list, unless one is open. The tags of the repositories are the releases. Release candidates and builds with another suffix do not count.
"""

import argparse
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

TABLE = Path(__file__).parent.parent / "crates/audit/src/versions/versions.toml"
REPOSITORIES = {
    name: f"https://github.com/hashicorp/{name}" for name in ("consul", "consul-ecs", "consul-dataplane")
}
TITLE = "The table of releases is older than HashiCorp's releases"
RELEASE = re.compile(r"refs/tags/v(\d+)\.(\d+)\.(\d+)$")


def releases(references: str) -> list[tuple[int, int, int]]:
    """The releases in what `git ls-remote --tags` prints."""
    found = (RELEASE.search(line) for line in references.splitlines())
    return sorted(tuple(map(int, match.groups())) for match in found if match)


def newer(rows: list[dict], tags: list[tuple[int, int, int]]) -> list[str]:
    """The newest release of each line that is newer than its row, and of each line after the last one with a release.

    Of earlier lines without a release, the table does not follow the releases."""

    def numbers(text: str) -> tuple[int, ...]:
        return tuple(map(int, text.split(".")))

    known = {numbers(row["line"]): numbers(row["newest"]) if "newest" in row else None for row in rows}
    last = max(line for line, newest in known.items() if newest)
    found = []
    for line in sorted({tag[:2] for tag in tags}):
        newest = max(tag for tag in tags if tag[:2] == line)
        shown = ".".join(map(str, newest))
        if line > last:
            lacks = "of which the table has no release" if line in known else "that the table does not have"
            found.append(f"{shown}, of a line {lacks}")
        elif known.get(line) and newest > known[line]:
            found.append(f"{shown}; the table has {'.'.join(map(str, known[line]))}")
    return found


def open_issue(body: str) -> None:
    search = ["gh", "issue", "list", "--state", "open", "--search", f'in:title "{TITLE}"', "--json", "number"]
    found = subprocess.run(search, capture_output=True, text=True, check=True, timeout=120).stdout
    if not json.loads(found):
        subprocess.run(["gh", "issue", "create", "--title", TITLE, "--body", body], check=True, timeout=120)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--issue", action="store_true", help="open an issue on GitHub with the list")
    options = parser.parse_args()
    table = tomllib.loads(TABLE.read_text())
    lines = []
    for name, repository in REPOSITORIES.items():
        command = ["git", "ls-remote", "--tags", "--refs", repository]
        references = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
        lines += [f"- {name} {release}" for release in newer(table[name], releases(references))]
    print("\n".join(lines) or "The table has the newest releases.")
    if lines and options.issue:
        open_issue("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())

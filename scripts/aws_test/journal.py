"""What a run may have created. An entry is on disk before the call that creates, so that an interruption between the two leaves
an entry without a resource, and never a resource without an entry.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from . import Problem


class Entry(NamedTuple):
    kind: str
    name: str
    account: str
    region: str


class Journal:
    def __init__(self, path: Path, account: str, region: str):
        self.path, self.account, self.region = path, account, region

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps others from the journal: a clean-up removes everything that it has. The lock ends with the process."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise Problem(f"another run or clean-up uses {self.path}: wait for its end, or interrupt it") from error
            yield

    def about_to_create(self, kind: str, name: str) -> None:
        self._append("create", Entry(kind, name, self.account, self.region))

    def removed(self, entry: Entry) -> None:
        self._append("removed", entry)

    def entries(self) -> list[Entry]:
        """What may exist, the oldest first."""
        found: dict[Entry, None] = {}
        for line in self.path.read_text().splitlines() if self.path.exists() else []:
            try:
                fields = json.loads(line)
            except ValueError:
                # An empty line, or one of a process that was killed while it wrote: nothing was created after it.
                continue
            entry = Entry(*(fields[name] for name in Entry._fields))
            found.pop(entry, None)
            if fields["what"] == "create":
                found[entry] = None
        return list(found)

    def _append(self, what: str, entry: Entry) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            # On a line of its own, even after a line that a process did not end.
            file.write("\n" + json.dumps({"what": what, **entry._asdict()}) + "\n")
            file.flush()
            os.fsync(file.fileno())

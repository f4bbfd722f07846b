"""What a run may have created. An entry is on disk before the call that creates, so that an interruption between the two leaves
an entry without a resource, and never a resource without an entry.
"""

import json
import os
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    kind: str
    name: str
    account: str
    region: str


class Journal:
    def __init__(self, path: Path, account: str, region: str):
        self.path, self.account, self.region = path, account, region

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
                # The last line of a process that was killed while it wrote: nothing was created after it.
                continue
            entry = Entry(*(fields[name] for name in Entry._fields))
            found.pop(entry, None)
            if fields["what"] == "create":
                found[entry] = None
        return list(found)

    def _append(self, what: str, entry: Entry) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps({"what": what, **entry._asdict()}) + "\n")
            file.flush()
            os.fsync(file.fileno())

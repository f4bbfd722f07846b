"""Prints the address of every Debian archive in this machine's apt sources, one per line, best first.

Reads both formats, one-line (*.list) and deb822 (*.sources). Only Debian's main archive is suitable: not the security archive, not
backports, and not third-party archives for a Debian release.
"""

import re
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

RELEASES = {
    *("stable", "oldstable", "oldoldstable", "testing", "unstable", "sid"),
    *("bullseye", "bookworm", "trixie", "forky", "duke"),
}


class Source(NamedTuple):
    address: str
    suite: str
    components: list[str]
    signed_by: str


def one_line(text: str) -> Iterator[Source]:
    for line in text.splitlines():
        match = re.match(r"^\s*deb\s+(?:\[([^]]*)\]\s+)?(\S+)\s+(\S+)\s+([^#]*)", line)
        if match:
            options, address, suite, components = match.groups()
            yield Source(address, suite, components.split(), options or "")


def deb822(text: str) -> Iterator[Source]:
    for stanza in re.split(r"\n\s*\n", text):
        lines = (line for line in stanza.splitlines() if not line.startswith("#"))
        # A line that starts with a space continues the previous field.
        fields = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*(?:\n[ \t]+.*)*)", "\n".join(lines), re.MULTILINE))
        fields = {name.lower(): value for name, value in fields.items()}
        enabled = fields.get("enabled", "yes").strip().lower() not in ("no", "false")
        if not enabled or "deb" not in fields.get("types", "").split():
            continue
        for address in fields.get("uris", "").split():
            for suite in fields.get("suites", "").split():
                yield Source(address, suite, fields.get("components", "").split(), fields.get("signed-by", ""))


def is_debian(source: Source) -> bool:
    return (
        source.suite in RELEASES
        and "main" in source.components
        # Debian's cloud images use a file with a list of mirrors.
        and re.search(r"^(https?://.*/debian/?|mirror\+file:.*/debian\.list)$", source.address) is not None
    )


def main() -> None:
    etc = Path(sys.argv[1] if len(sys.argv) > 1 else "/etc/apt")
    sources: list[Source] = []
    for file in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]:
        if file.is_file() and file.suffix in (".list", ".sources"):
            text = file.read_text(errors="replace")
            sources += one_line(text) if file.suffix == ".list" else deb822(text)
    # Entries with Debian's keyring come first.
    ranked = sorted(filter(is_debian, sources), key=lambda source: "debian-archive-keyring" not in source.signed_by)
    for address in dict.fromkeys(source.address.rstrip("/") for source in ranked):
        print(address)


if __name__ == "__main__":
    main()

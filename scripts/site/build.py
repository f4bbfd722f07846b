"""Builds the site of docs/ into target/site; ends with 1 on a link to a page, anchor or file that does not exist.

The pages are written for GitHub. Zensical gets a copy in target/site-source with two differences:

- The blocks of a list are indented by four spaces: Zensical's Markdown knows no other indentation.
- A link to a folder, or to a file outside docs/, leads to the repository, at the commit or tag that a workflow builds.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SITE = ROOT / "target" / "site"
SOURCE = ROOT / "target" / "site-source"
CONFIGURATION = ROOT / "zensical.toml"
# The environment of GitHub Actions. OWNER is what the pages write, too.
ENVIRONMENT = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "OWNER/ecs-mesh-controller", "GITHUB_REF_NAME": "main"}
SERVER, REPOSITORY, REF = (os.environ.get(name) or default for name, default in ENVIRONMENT.items())

FENCE = re.compile(r" *(```+|~~~+)")
ITEM = re.compile(r"([-*+]|\d+[.)]) +")
LINK = re.compile(r"(\]\()([^)\s]+)")


def indented(markdown: str) -> str:
    """Markdown whose nested blocks are indented by four spaces for each list around them."""
    lines, fence, blank = [], None, True
    # The column at which the text of each open list item starts.
    items: list[int] = []
    for line in markdown.splitlines():
        column = len(line) - len(line.lstrip(" "))
        is_sibling = False
        if fence is None and line.strip():
            is_item = ITEM.match(line, column)
            # Text directly below a line of an item continues the item, however it is indented.
            while items and column < items[-1] and (blank or is_item or FENCE.match(line)):
                items.pop()
                is_sibling = True
            start = min(column, items[-1] if items else 0)
            if is_item and not items and not blank and not is_sibling:
                lines.append("")
            lines.append("    " * len(items) + line[start:])
            if is_item:
                items.append(is_item.end())
        else:
            start = min(column, items[-1] if items else 0)
            lines.append(("    " * len(items) + line[start:]).rstrip() if line.strip() else "")
        if mark := FENCE.match(line):
            if fence is None:
                fence = mark[1]
            elif mark[1].startswith(fence) and line.strip() == mark[1]:
                fence = None
        blank = not line.strip()
    return "\n".join(lines) + "\n"


def linked(markdown: str, page: Path) -> str:
    """The page with links to the repository where the site has no page."""

    def repository(link: re.Match) -> str:
        target, hash_, anchor = link[2].partition("#")
        file = (page.parent / target).resolve()
        if ":" in target or not target:
            return link[0]
        if not file.exists():
            sys.exit(f"{page.relative_to(ROOT)}: {target} does not exist")
        if file.is_relative_to(DOCS) and file.is_file():
            return link[0]
        kind = "tree" if file.is_dir() else "blob"
        return f"{link[1]}{SERVER}/{REPOSITORY}/{kind}/{REF}/{file.relative_to(ROOT)}{hash_}{anchor}"

    return LINK.sub(repository, markdown)


def main() -> None:
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(DOCS, SOURCE / "docs")
    shutil.copy(CONFIGURATION, SOURCE)
    navigation = CONFIGURATION.read_text()
    for name in re.findall(r'"([^"]+\.md)"', navigation):
        if not (DOCS / name).exists():
            sys.exit(f"docs/{name} does not exist: take it out of {CONFIGURATION.name}")
    for page in sorted(DOCS.rglob("*.md")):
        name = page.relative_to(DOCS)
        is_rule = name.match("reference/rules/*.md") and name.name != "README.md"
        if not is_rule and f'"{name}"' not in navigation:
            sys.exit(f"docs/{name} is not in the navigation: add it to {CONFIGURATION.name}")
        (SOURCE / "docs" / name).write_text(indented(linked(page.read_text(), page)))
    build = ["zensical", "build", "--strict", "--clean"]
    built = subprocess.run(build, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if built.returncode != 0:
        # It colours each character of a line.
        sys.exit(re.sub(r"\x1b\[[0-9;]*m", "", built.stdout))
    shutil.rmtree(SITE, ignore_errors=True)
    (SOURCE / "site").rename(SITE)


if __name__ == "__main__":
    main()

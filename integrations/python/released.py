"""Takes ecs-mesh from the release of this commit, by its checksum.

As build backend of pyproject.toml: pip, pipx, uv and pre-commit get the wheel of the release. Without one, maturin compiles.
As a program (`released.py DIRECTORY`, of the GitHub Action): writes the command to DIRECTORY; ends with 3 if there is no release.

A commit is released if the tag v0.1.0 of its version names it. ECS_MESH_RELEASES is the address of a mirror, which has
v0.1.0/SHA256SUMS and the wheels next to it; without it, they come from the repository's releases.
"""

import hashlib
import http.client
import os
import platform
import re
import subprocess
import sys
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
VERSION = re.search(r'(?m)^version = "(.+)"', (TOP / "Cargo.toml").read_text(encoding="utf-8"))[1]
TAG = f"v{VERSION}"


def git(*arguments):
    command = ["git", "-C", str(TOP), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout.strip()


def here():
    """The repository's address, and the tag or commit that is installed."""
    if "ACTION_REPOSITORY" in os.environ:
        # Both are empty if a workflow uses the action by a path of its own checkout.
        repository, ref = os.environ["ACTION_REPOSITORY"], os.environ["ACTION_REF"]
        return (f"{os.environ['GITHUB_SERVER_URL']}/{repository}", ref) if repository and ref else None
    # Not the repository around an unpacked archive of the sources.
    if not (TOP / ".git").exists():
        return None
    # The release does not have these edits.
    if git("status", "--porcelain", "--untracked-files=no"):
        return None
    return git("remote", "get-url", "origin"), git("rev-parse", "HEAD")


def commit_of_tag(repository):
    # The last line has the commit of an annotated tag.
    lines = git("ls-remote", repository, f"refs/tags/{TAG}", f"refs/tags/{TAG}^{{}}").splitlines()
    return lines[-1].split()[0] if lines else None


def releases(repository):
    """The address of a repository's releases; None for a path, which has none."""
    if os.environ.get("ECS_MESH_RELEASES"):
        return os.environ["ECS_MESH_RELEASES"]
    # git@github.com:OWNER/NAME.git is ssh://git@github.com/OWNER/NAME.git. One letter is a drive of Windows.
    address = urllib.parse.urlsplit(re.sub(r"^([^:/]{2,}):/?(?!/)", r"ssh://\1/", repository))
    if address.scheme not in ("https", "http", "ssh", "git") or not address.hostname:
        return None
    # A port of SSH is not the port of the releases.
    host = address.netloc.rpartition("@")[2] if address.scheme.startswith("http") else address.hostname
    path = re.sub(r"(\.git)?/?$", "", address.path)
    return f"https://{host}{path}/releases/download"


def read(address):
    with urllib.request.urlopen(address, timeout=30) as response:
        return response.read()


def fits(tag):
    """Whether this machine runs wheels of a platform, such as manylinux_2_17_x86_64."""
    machine = platform.machine()
    if platform.system() == "Windows":
        return tag == f"win_{machine.lower()}"
    if platform.system() == "Darwin":
        return tag.startswith("macosx_") and tag.endswith(f"_{machine}")
    libc = "manylinux" if platform.libc_ver()[0] == "glibc" else "musllinux"
    return tag.startswith(libc) and tag.endswith(f"_{machine}")


def choose(sums):
    """The name and the checksum of the wheel for this machine."""
    for line in sums.splitlines():
        checksum, name = line.split()
        wheel = re.match(rf"ecs_mesh-{re.escape(VERSION)}-py3-none-(.+)\.whl$", name)
        if wheel and any(fits(tag) for tag in wheel[1].split(".")):
            return name, checksum
    return None


def find():
    """The address and the checksum of the released wheel; None if there is none."""
    try:
        place = here()
        if not place:
            return None
        repository, ref = place
        if ref != TAG and ref != commit_of_tag(repository):
            return None
        address = releases(repository)
        if not address:
            return None
        base = f"{address}/{TAG}"
        chosen = choose(read(f"{base}/SHA256SUMS").decode())
    except (OSError, ValueError, http.client.HTTPException, subprocess.CalledProcessError) as error:
        print(f"ecs-mesh {VERSION}: no release to install ({error})", file=sys.stderr)
        return None
    return chosen and (f"{base}/{chosen[0]}", chosen[1])


def download(address, checksum, directory):
    content = read(address)
    found = hashlib.sha256(content).hexdigest()
    if found != checksum:
        raise SystemExit(f"{address}: checksum is {found}, expected {checksum}")
    wheel = Path(directory, address.rsplit("/", 1)[1])
    wheel.write_bytes(content)
    return wheel


def get_requires_for_build_wheel(config_settings=None):
    return [] if find() else ["maturin>=1.16,<2"]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    released = find()
    if released:
        return download(*released, wheel_directory).name
    try:
        import maturin
    except ImportError:
        # get_requires_for_build_wheel found the release, and so did not require maturin.
        sys.exit(f"ecs-mesh {VERSION}: the release cannot be reached any more. Install again, which compiles if it still cannot.")
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def main(directory):
    released = find()
    if not released:
        return 3
    Path(directory).mkdir(parents=True, exist_ok=True)
    wheel = download(*released, directory)
    with zipfile.ZipFile(wheel) as content:
        for name in content.namelist():
            if "/scripts/" in name:
                command = Path(directory, name.rsplit("/", 1)[1])
                command.write_bytes(content.read(name))
                command.chmod(0o755)
    wheel.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

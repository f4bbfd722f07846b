"""Fetches what scripts/tools.toml lists, into target/tools and node_modules. Fetches nothing twice.

    fetch.py tools                  what the demo and the tests need, except a browser
    fetch.py browser                Chromium, which the tests of the HTML report and the site need
    fetch.py wheel                  what builds a wheel: on macOS there is no Consul for the tests
    fetch.py consul [VERSION]       a Consul for CONSUL_BIN, into target/tools/consul-VERSION
    fetch.py mesh                   the real programs of `make traffic`, into target/tools/mesh
    fetch.py cargo-fuzz
"""

import os
import shutil
import subprocess
import sys

# The Python versions for which all wheels in requirements.txt exist. An older Python gets here: keep this file's syntax simple.
if not (3, 11) <= sys.version_info[:2] <= (3, 14):
    for name in ("python3.13", "python3.12", "python3.11", "python3.14"):
        # A shim may be on PATH without its Python, or run another one.
        is_one = "import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))"
        if shutil.which(name) and subprocess.run([name, "-c", is_one], stderr=subprocess.DEVNULL).returncode == 0:
            os.execvp(name, [name] + sys.argv)
    sys.exit(
        "setup: error: no Python 3.11 to 3.14 found (python3 is %d.%d).\n" % sys.version_info[:2]
        + "Install one, for example: apt-get install python3.12 python3.12-venv\n"
        + "Or select one: PYTHON=/path/to/python3.12 make setup"
    )

import hashlib
import http.client
import importlib.util
import io
import platform
import re
import socket
import tempfile
import tomllib
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
TOOLS = TOP / "target/tools"
VENV = TOOLS / "venv"
TABLE = tomllib.loads((TOP / "scripts/tools.toml").read_text())
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
OLDEST_CONSUL = (1, 8)
CONNECT_SECONDS, STALL_SECONDS = 5, 30


class Unavailable(Exception):
    """A source cannot be reached, or does not have the expected file."""


def say(message: str) -> None:
    print(f"setup: {message}", flush=True)


def fail(*lines: str) -> None:
    sys.exit("\n".join(f"setup: error: {line}" for line in lines))


def succeeds(*command: str | Path, **options) -> bool:
    try:
        return subprocess.run(command, **options).returncode == 0
    except OSError:
        return False


def run(*command: str | Path, **options) -> None:
    if not succeeds(*command, **options):
        fail(f"{' '.join(map(str, command[:4]))} … failed; see above. Fix the cause, and run this again.")


def check_compilers() -> None:
    if not shutil.which("cargo"):
        fail("cargo not found. Install Rust: https://rustup.rs")
    if not shutil.which("cc"):
        fail("cc not found: Rust links with it.", "Install a C compiler, for example: apt-get install build-essential")


def python_packages(file: str, *names: str) -> None:
    """Creates the Python environment with the packages of a lock file, or only the named ones. Keeps one that has them already."""
    lock = (TOP / file).read_text()
    blocks = re.split(r"(?m)^(?=[a-z])", lock)

    def pick(*names: str) -> str:
        return "".join(block for block in blocks if block.split("==")[0] in names)

    wanted = pick(*names) if names else lock
    # The installed packages. Written last.
    installed = VENV / "requirements.txt"
    if installed.is_file() and installed.read_text() in (lock, wanted):
        return
    # In make, python3 is the environment that is about to be replaced.
    python = sys._base_executable
    if not importlib.util.find_spec("ensurepip"):
        package = "python%d.%d-venv" % sys.version_info[:2]
        fail(f"{python} cannot make virtual environments. Install the missing package, for example: apt-get install {package}")
    say(f"installing the packages of {file} (Python {platform.python_version()}; {TABLE['locked'][file]} for all)")
    shutil.rmtree(VENV, ignore_errors=True)
    run(python, "-m", "venv", VENV)
    # uv takes a fifth of pip's processor time for the others.
    pip = [VENV / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
    uv = [VENV / "bin/uv", "pip", "install", "--no-cache", "--python", VENV / "bin/python"]
    # Progress on a terminal only.
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    verified = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--requirement", "/dev/stdin"]
    run(*pip, *verified, input=pick("uv"), text=True)
    run(*uv, *quiet, *verified, input=wanted, text=True)
    # Disables the SAM CLI's weekly check for a newer version.
    (TOOLS / "sam").mkdir(exist_ok=True)
    (TOOLS / "sam/metadata.json").write_text('{"lastVersionCheck": 9999999999.0}\n')
    installed.write_text(wanted)


def npm_packages(file: str) -> None:
    lock = TOP / file
    # The installed packages. Written last.
    installed = lock.parent / "node_modules/locked.json"
    if installed.is_file() and installed.read_text() == lock.read_text():
        return
    say(f"installing the packages of {file} ({TABLE['locked'][file]})")
    run("npm", "ci", "--prefix", lock.parent, "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
    shutil.copy(lock, installed)


def cargo_program(name: str) -> None:
    """Builds a program into target/tools/bin. cargo needs no network if this version is there."""
    if not (TOOLS / "bin" / name).exists():
        say(f"building {name}")
    version = TABLE["cargo"][name]
    run("cargo", "install", "--quiet", "--locked", "--root", TOOLS, "--target-dir", TOOLS / "build", f"{name}@{version}")


def read(address: str) -> bytes:
    url = urllib.parse.urlsplit(address)
    try:
        # Fails fast if the host does not answer: urllib has no separate timeout for connecting.
        if url.scheme not in urllib.request.getproxies():
            socket.create_connection((url.hostname, url.port or 443), timeout=CONNECT_SECONDS).close()
        with urllib.request.urlopen(address, timeout=STALL_SECONDS) as response:
            return response.read()
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable(f"{address}: {error}") from error


def verified(address: str, sha256: str) -> bytes:
    content = read(address)
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise Unavailable(f"{address}: checksum is {found}, expected {sha256}")
    return content


def unpack_zip(address: str, sha256: str, folder: Path) -> None:
    zipfile.ZipFile(io.BytesIO(verified(address, sha256))).extractall(folder)


def unpack_deb(address: str, sha256: str, folder: Path) -> None:
    """Unpacks a Debian package without installing it. apt fetches it through its own proxies, and verifies the checksum."""
    etc = Path("/etc/apt")
    # Debian's cloud images have their archives in a list of mirrors.
    files = [etc / "sources.list", *sorted(etc.glob("sources.list.d/*")), *sorted(etc.glob("mirrors/*.list"))]
    lines = [line for file in files if file.is_file() for line in file.read_text(errors="replace").splitlines()]
    sources = "\n".join(line for line in lines if not line.startswith("#"))
    archives = dict.fromkeys(re.findall(r"https?://\S+/debian(?=/?(?:\s|$))", sources))
    options = ["APT::Sandbox::User=root", "Acquire::Retries=1", "Acquire::http::Timeout=15", "Acquire::https::Timeout=15"]
    apt = ["/usr/lib/apt/apt-helper", *(f"-o{option}" for option in options), "download-file"]
    with tempfile.TemporaryDirectory() as temporary:
        for archive in archives:
            deb = Path(temporary) / "package.deb"
            if succeeds(*apt, address.format(archive=archive), deb, f"SHA256:{sha256}", stdout=subprocess.DEVNULL):
                folder.mkdir(parents=True)
                return run("dpkg", "-x", deb, folder)
    # An address may contain a password.
    tried = ", ".join(re.sub("//[^/]*@", "//", archive) for archive in archives) or "none"
    raise Unavailable(f"no Debian archive in this machine's apt sources has it (tried: {tried})")


def published_checksum(address: str, file: str) -> dict[str, str]:
    """The checksum that a file next to the program has for it."""
    lines = [line.split() for line in read(urllib.parse.urljoin(address, file)).decode().splitlines()]
    return {ARCH: line[0] for line in lines if len(line) == 2 and address.endswith(f"/{line[1].lstrip('*./')}")}


def mesh_program(row: dict) -> None:
    """Fetches a program of the mesh with the checksum of its publisher, unless it is there."""
    program = TOOLS / "mesh" / row["program"]
    if program.exists():
        return
    machine = {"amd64": "x86_64", "arm64": "aarch_64"}.get(ARCH, ARCH)
    facts = {"version": row["version"], "arch": ARCH, "machine": machine}
    address = row["address"].format(**facts)
    say(f"fetching {row['program']} {row['version']}")
    sums = published_checksum(address, row["checksums"].format(**facts))
    if ARCH not in sums:
        raise Unavailable(f"no checksum of {address}")
    program.parent.mkdir(parents=True, exist_ok=True)
    if address.endswith(".zip"):
        unpack_zip(address, sums[ARCH], program.parent)
    else:
        program.write_bytes(verified(address, sums[ARCH]))
    program.chmod(0o755)


def consul_version(program: Path) -> tuple[int, ...]:
    """Major and minor version, or () if the program does not run or is not Consul."""
    try:
        output = subprocess.run([program, "version"], capture_output=True, text=True).stdout
    except OSError:
        return ()
    match = re.match(r"Consul v?(\d+)\.(\d+)", output)
    return tuple(map(int, match.groups())) if match else ()


def fetched_consul(row: dict, version: str) -> Path:
    """The program of a row of the table. Fetches it unless it is there."""
    facts = {"version": version, "arch": ARCH, "archive": "{archive}"}
    folder = TOOLS / row["folder"].format(**facts)
    program = folder / row["program"]
    if consul_version(program):
        return program
    say(f"fetching Consul {version} for {ARCH} from {row['origin']}")
    address = row["address"].format(**facts)
    checksums = row["sha256"]
    if version != row["version"]:
        checksums = published_checksum(address, row["checksums"].format(**facts))
    if ARCH not in checksums:
        raise Unavailable(f"no checksum of Consul {version} for {ARCH}")
    shutil.rmtree(folder, ignore_errors=True)
    unpack = unpack_deb if "{archive}" in address else unpack_zip
    unpack(address, checksums[ARCH], folder)
    program.chmod(0o755)
    return program


def consuls(link: Path) -> Iterator[tuple[str, Path]]:
    """Consul programs and their origin, best first."""
    if os.environ.get("CONSUL_BIN"):
        yield "CONSUL_BIN", Path(os.environ["CONSUL_BIN"]).resolve()
    for folder in os.get_exec_path():
        program = shutil.which("consul", path=folder)
        if program and Path(folder).resolve() != link.parent.resolve():
            yield "PATH", Path(program).absolute()
    for row in TABLE["consul"]:
        try:
            yield row["origin"], fetched_consul(row, row["version"])
        except Unavailable as problem:
            say(f"{row['origin']}: {problem}")


def link_consul() -> None:
    """Links target/tools/bin/consul to a Consul for the tests."""
    link = TOOLS / "bin/consul"
    named = os.environ.get("CONSUL_BIN")
    if consul_version(link) >= OLDEST_CONSUL and (not named or link.resolve() == Path(named).resolve()):
        return
    for origin, program in consuls(link):
        version = consul_version(program)
        if version >= OLDEST_CONSUL:
            link.parent.mkdir(exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(program)
            return say(f"Consul {version[0]}.{version[1]} from {origin}")
        say(f"{origin}: {program} is not Consul 1.8 or newer; trying the next")
    fail(
        "no Consul server found; see above.",
        "Install Consul 1.8 or newer (https://developer.hashicorp.com/consul/install) and put it on PATH, or run",
        "  CONSUL_BIN=/path/to/consul make setup",
    )


def starts(browser: str) -> bool:
    # An installed program may not start: Ubuntu's chromium-browser only prints that a snap is to be installed.
    return succeeds(browser, "--version", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def find_browser() -> None:
    """Finds a Chromium, or installs Debian's as root. Without one, the tests that need it are skipped with a message."""
    named = os.environ.get("CHROMIUM")
    if any(map(starts, [named] if named else ["chromium", "chromium-browser", "google-chrome"])):
        return
    if named:
        fail(f'CHROMIUM={named} does not start: "{named}" --version says why; or unset it')
    if os.geteuid() == 0 and shutil.which("apt-get"):
        say(f"installing chromium (about {TABLE['apt']['chromium']})")
        os.environ["DEBIAN_FRONTEND"] = "noninteractive"
        install = ["apt-get", "install", "--yes", "--quiet", "--quiet", "--no-install-recommends", "chromium"]
        updated = succeeds("apt-get", "update", "--quiet", "--quiet")
        if updated and succeeds(*install, stdout=subprocess.DEVNULL) and starts("chromium"):
            return
    say("no Chromium found: the tests of the HTML report and the site will be skipped.")
    say("Install one, for example: sudo apt-get install chromium; or name it: CHROMIUM=/path/to/chromium make test")


def main(command: str = "", version: str = "") -> None:
    os.environ["PATH"] = f"{VENV / 'bin'}:{os.environ['PATH']}"
    python_lock, *npm_locks = TABLE["locked"]
    if command in ("tools", "wheel"):
        check_compilers()
    if command == "tools":
        python_packages(python_lock)
        for lock in npm_locks:
            npm_packages(lock)
        link_consul()
    elif command == "wheel":
        python_packages(python_lock, "maturin", "ziglang")
        cargo_program("cargo-auditable")
    elif command == "browser":
        find_browser()
    elif command == "consul":
        row = TABLE["consul"][0]
        fetched_consul(row, version or row["version"])
    elif command == "mesh":
        for row in TABLE["mesh"]:
            mesh_program(row)
    elif command in TABLE["cargo"]:
        cargo_program(command)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Unavailable as problem:
        fail(str(problem))

"""Packages what is built into target/dist.

dist.py licences              The licences of all dependencies, which the wheel has as well
dist.py package ARCHITECTURE  Zips, templates, archives, SBOMs, release notes and the schema, from target/lambda and the wheel
dist.py sums                  SHA256SUMS of the files of a release
dist.py tag TAG               Fails unless TAG is the version, the changelog has its section, the README installs it, and the alarms name its page
"""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
import zlib
from functools import cache
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
DIST = TOP / "target/dist"
VERSION = tomllib.loads((TOP / "Cargo.toml").read_text())["workspace"]["package"]["version"]
FUNCTIONS = ["task-events", "reconcile", "audit"]
# The packages whose binaries are released.
RELEASED = ["ecs-mesh-controller", "audit-function", "cli"]
LICENCES = DIST / "THIRD-PARTY-LICENSES.txt"
LICENCE = re.compile(r"(un)?licen[cs]e.*|copying.*|notice.*|copyright.*", re.IGNORECASE)
NOTES = DIST / "release-notes.md"
# Where scripts/publish.sh copies the zips in a bucket.
KEY = f"ecs-mesh-controller/{VERSION}"
# Times in archives are fixed: an archive differs only if a file differs.
ZIP_TIME = (1980, 1, 1, 0, 0, 0)


# ---- the functions and their templates


def zip_function(name: str) -> None:
    """The zip that Lambda takes: an executable named bootstrap."""
    entry = zipfile.ZipInfo("bootstrap", ZIP_TIME)
    entry.external_attr = 0o100755 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(DIST / f"{name}.zip", "w", compresslevel=9) as archive:
        archive.writestr(entry, (TOP / "target/lambda" / name / "bootstrap").read_bytes())


def replace(text: str, pattern: str, replacement: str, count: int) -> str:
    text, found = re.subn(pattern, replacement, text)
    if found != count:
        sys.exit(f"template.yaml: {pattern!r} matches {found} times, expected {count}")
    return text


def without_build(template: str, code_uri: str, architecture: str) -> str:
    """The template for functions that are built for an architecture, its default. `code_uri` has {} for the function's name."""
    default = r"(?m)^(  Architecture:\n    Type: String\n    Default: ).*$"
    template = replace(template, default, rf"\g<1>{architecture}", 1)
    template = replace(template, r"(?m)^    CodeUri: \.\n", "", 1)
    template = replace(template, r"(?m)^      CodeUri: crates/.*\n", "", 1)
    build = r"(?m)^    Metadata:\n      BuildMethod: .*\n      BuildProperties:\n        Binary: (.*)\n    Properties:\n"
    built = "    Properties:\n      CodeUri: " + code_uri.replace("{}", r"\1") + "\n"
    return replace(template, build, built, len(FUNCTIONS))


def packaged(template: str, architecture: str) -> str:
    """The template next to the zips."""
    return without_build(template, "{}.zip", architecture)


def stackset(template: str, architecture: str) -> str:
    """Plain CloudFormation for StackSets. The functions' code is in a bucket of each region."""
    # The translator asks botocore for a region, to know the partition.
    os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
    try:
        import yaml
        from samtranslator.translator.transform import transform
        from samtranslator.yaml_helper import yaml_parse
    except ImportError as error:
        sys.exit(f"stackset.yaml needs aws-sam-translator ({error}): run make tools, and put target/tools/venv/bin on PATH")

    class NoManagedPolicies:
        def load(self) -> dict:
            return {}

    sam = yaml_parse(without_build(template, "{}", architecture))
    sam["Parameters"]["CodeBucketPrefix"] = {
        "Type": "String",
        "Description": (
            "The functions' code is in the bucket PREFIX-REGION of each region. This is PREFIX; have your account ID in it. "
            "Create the buckets before the stacks: the owner of a bucket decides what the functions run."
        ),
        "AllowedPattern": "^[a-z0-9][a-z0-9.-]{1,47}$",
        "ConstraintDescription": "must be the name of a bucket without -REGION, at most 48 characters.",
    }
    groups = sam["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    next(group for group in groups if "Architecture" in group["Parameters"])["Parameters"].insert(0, "CodeBucketPrefix")
    for resource in sam["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            name = resource["Properties"]["CodeUri"]
            resource["Properties"]["CodeUri"] = {
                "Bucket": {"Fn::Sub": "${CodeBucketPrefix}-${AWS::Region}"},
                "Key": {"Fn::Sub": f"{KEY}/${{Architecture}}/{name}.zip"},
            }
    plain = json.loads(json.dumps(transform(sam, {}, NoManagedPolicies())))
    text = yaml.safe_dump(plain, sort_keys=False, width=120)
    if "AWS::Serverless" in text:
        sys.exit("the plain template still has AWS::Serverless")
    return f"# Made by make dist from template.yaml, for StackSets: docs/how-to/install-stacksets.md\n{text}"


# ---- dependencies


@cache
def metadata() -> dict:
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    return json.loads(subprocess.run(command, cwd=TOP, check=True, stdout=subprocess.PIPE).stdout)


def shipped_packages() -> list[dict]:
    """The packages that are linked into what is released, on any platform, without this workspace's own."""
    packages = {package["id"]: package for package in metadata()["packages"]}
    nodes = {node["id"]: node["deps"] for node in metadata()["resolve"]["nodes"]}
    waiting = [identity for identity, package in packages.items() if package["name"] in RELEASED and not package["source"]]
    seen = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if is_linked and dependency["pkg"] not in seen:
                seen.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    return sorted((packages[one] for one in seen if packages[one]["source"]), key=lambda one: (one["name"], one["version"]))


def licences() -> str:
    """Each licence text once, under the packages that have it."""
    texts: dict[str, list[str]] = {}
    for package in shipped_packages():
        title = f"{package['name']} {package['version']} ({package['license']})"
        directory = Path(package["manifest_path"]).parent
        # Sources in another language have their licence in a folder of their own.
        files = [file for file in sorted(directory.rglob("*")) if LICENCE.fullmatch(file.name)]
        found = [file.read_text(errors="replace").strip() for file in files if file.is_file()]
        for text in found or [f"{package['repository'] or package['name']} has no file with its licence."]:
            texts.setdefault(text, []).append(title)
    rule = "\n" + "-" * 80 + "\n"
    return rule.join("\n".join(titles) + "\n\n" + text + "\n" for text, titles in texts.items())


def recorded(binary: Path) -> list[dict]:
    """The packages that cargo-auditable has recorded in a binary: https://github.com/rust-secure-code/cargo-auditable"""
    with tempfile.TemporaryDirectory() as directory:
        section = Path(directory, "section")
        subprocess.run(["objcopy", "--dump-section", f".dep-v0={section}", binary, Path(directory, "copy")], check=True)
        return json.loads(zlib.decompress(section.read_bytes()))["packages"]


def write_sbom(binary: Path, name: str, target: str) -> None:
    """What is recorded in the binary as CycloneDX, with the licences and checksums that cargo knows."""
    locked = tomllib.loads((TOP / "Cargo.lock").read_text())["package"]
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in locked}
    licence = {(one["name"], one["version"]): one["license"] for one in metadata()["packages"]}
    packages = recorded(binary)
    references = [f"{package['name']}@{package['version']}" for package in packages]
    components = []
    for package, reference in zip(packages, references):
        key = package["name"], package["version"]
        component = {"type": "library", "bom-ref": reference, "name": key[0], "version": key[1]}
        # The workspace's own packages have no address: others have published packages with these names.
        if package["source"] != "local":
            component["purl"] = f"pkg:cargo/{reference}"
        component["licenses"] = [{"expression": licence[key].replace("/", " OR ")}]
        component["scope"] = "excluded" if package.get("kind") == "build" else "required"
        if checksum := checksums[key]:
            component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        components.append(component)
    root = next(index for index, package in enumerate(packages) if package.get("root"))
    sbom = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {"type": "application", "bom-ref": references[root], "name": f"ecs-mesh-{name}", "version": VERSION}
        },
        "components": components[:root] + components[root + 1 :],
        "dependencies": [
            {"ref": reference, "dependsOn": sorted({references[index] for index in package.get("dependencies", [])})}
            for package, reference in zip(packages, references)
        ],
    }
    (DIST / f"ecs-mesh-{name}-{VERSION}-{target}.cdx.json").write_text(json.dumps(sbom, indent=2) + "\n")


# ---- archives


def archive(name: str, files: dict[str, bytes | Path]) -> None:
    """A tar archive with the directory `name`."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, data in sorted(files.items()):
            data = data.read_bytes() if isinstance(data, Path) else data
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size = len(data)
            entry.mode = 0o755 if path.endswith(".sh") or path == "ecs-mesh" else 0o644
            tar.addfile(entry, io.BytesIO(data))
    (DIST / f"{name}.tar.gz").write_bytes(gzip.compress(content.getvalue(), mtime=0))


def command_line(target: str) -> None:
    """The command of the wheel, with its completions and manual pages, and its SBOM."""
    [wheel] = DIST.glob(f"ecs_mesh-{VERSION}-*.whl")
    with tempfile.TemporaryDirectory() as directory, zipfile.ZipFile(wheel) as content:
        binary = Path(directory, "ecs-mesh")
        binary.write_bytes(content.read(f"ecs_mesh-{VERSION}.data/scripts/ecs-mesh"))
        binary.chmod(0o755)
        files: dict[str, bytes | Path] = {"ecs-mesh": binary, "LICENSE": TOP / "LICENSE", LICENCES.name: LICENCES}
        for shell, name in [("bash", "ecs-mesh.bash"), ("zsh", "_ecs-mesh"), ("fish", "ecs-mesh.fish")]:
            script = subprocess.run([binary, "completions", shell], check=True, stdout=subprocess.PIPE).stdout
            files[f"completions/{name}"] = script
        subprocess.run([binary, "man", "--output-dir", Path(directory, "man1")], check=True)
        files |= {f"man1/{page.name}": page for page in Path(directory, "man1").iterdir()}
        archive(f"ecs-mesh-{VERSION}-{target}", files)
        write_sbom(binary, "command-line", target)


def controller(architecture: str) -> None:
    """The functions with what deploys them."""
    template = (TOP / "template.yaml").read_text()
    for name in FUNCTIONS:
        zip_function(name)
        write_sbom(TOP / "target/lambda" / name / "bootstrap", name, architecture)
    (DIST / "template.yaml").write_text(packaged(template, architecture))
    (DIST / "stackset.yaml").write_text(stackset(template, architecture))
    shutil.copy(TOP / "scripts/publish.sh", DIST)
    names = [f"{name}.zip" for name in FUNCTIONS] + ["template.yaml", "stackset.yaml", "publish.sh", LICENCES.name]
    files: dict[str, bytes | Path] = {name: DIST / name for name in names}
    terraform = TOP / "deploy/terraform"
    sources = [path for path in terraform.rglob("[!.]*.*") if path.suffix in (".tf", ".tfvars", ".hcl")]
    files |= {f"terraform/{path.relative_to(terraform)}": path for path in sources}
    archive(f"ecs-mesh-controller-{VERSION}-{architecture}", files | {"LICENSE": TOP / "LICENSE"})


# ---- texts


def release_notes(changelog: str) -> str:
    """The section of this version, or what is unreleased."""
    sections = dict(re.findall(r"(?ms)^## (\S+).*?$\n(.*?)(?=^## |\Z)", changelog))
    return sections.get(VERSION, sections.get("Unreleased", "")).strip() + "\n"


def check_tag(tag: str) -> None:
    if tag != f"v{VERSION}":
        sys.exit(f"{tag} is not the version of Cargo.toml: v{VERSION}")
    if not re.search(rf"(?m)^## {re.escape(VERSION)}\b", (TOP / "CHANGELOG.md").read_text()):
        sys.exit(f"CHANGELOG.md has no section {VERSION}: rename Unreleased")
    readme = (TOP / "README.md").read_text()
    installs = re.search(rf"(?m)^pip install git\+https://(?!\S*OWNER)\S+@{re.escape(tag)}(\s|$)", readme)
    if not installs or "There is no release yet" in readme:
        sys.exit(f"README.md does not install {tag}: `pip install git+https://github.com/…@{tag}` in place of a build")
    page = re.search(r"(?m)^  RunbookUrl:\n(?:    .*\n)*?    Default: (\S+)", (TOP / "template.yaml").read_text())[1]
    if "/OWNER/" in page or f"/{tag}/" not in page:
        sys.exit(f"the default of RunbookUrl in template.yaml is not the page of {tag}: {page}")


def schema_store() -> None:
    """The files of a pull request to SchemaStore: https://github.com/SchemaStore/schemastore/blob/master/CONTRIBUTING.md"""
    address = "https://json.schemastore.org/ecs-mesh.json"
    schema = json.loads((TOP / "docs/reference/schema/config.schema.json").read_text()) | {"$id": address}
    entry = {
        "name": "ecs-mesh.toml",
        "description": "Configuration of ecs-mesh, which checks ECS task definitions for Consul's service mesh",
        "fileMatch": ["ecs-mesh.toml"],
        "url": address,
    }
    example = re.search(r"(?s)```toml\n(.*?)```", (TOP / "docs/reference/configuration.md").read_text())[1]
    files = {
        "src/schemas/json/ecs-mesh.json": json.dumps(schema, indent=2) + "\n",
        "src/test/ecs-mesh/ecs-mesh.toml": example,
        "catalog-entry.json": json.dumps(entry, indent=2) + "\n",
    }
    archive(f"ecs-mesh-schemastore-{VERSION}", {path: text.encode() for path, text in files.items()})


def sums() -> str:
    # Without the artefacts of an earlier version that are still there.
    name = re.compile(rf"ecs[-_]mesh.*-{re.escape(VERSION)}[-.]")
    files = [file for file in sorted(DIST.iterdir()) if name.match(file.name)]
    return "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)


def main() -> None:
    DIST.mkdir(parents=True, exist_ok=True)
    match sys.argv[1:]:
        case ["licences"]:
            LICENCES.write_text(licences())
        case ["package", "arm64" | "x86_64" as architecture]:
            controller(architecture)
            command_line({"arm64": "aarch64"}.get(architecture, architecture) + "-unknown-linux-gnu")
            schema_store()
            NOTES.write_text(release_notes((TOP / "CHANGELOG.md").read_text()))
        case ["sums"]:
            (DIST / "SHA256SUMS").write_text(sums())
        case ["tag", tag]:
            check_tag(tag)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()

"""Writes crates/audit-read/src/definition/api/models.rs: the maps of App Mesh's resources and of an ECS service, and the words
that ECS accepts in a task definition, as AWS's service models have them.

    aws_shapes.py           writes it
    aws_shapes.py --check   fails if it is not what this writes, or if shapes.rs has other keys than the service model
"""

import json
import re
import sys
from pathlib import Path

from botocore.loaders import Loader

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "crates/audit-read/src/definition/api/models.rs"
SHAPES = FILE.with_name("shapes.rs")
MODELS = {"appmesh": "2019-01-25", "ecs": "2014-11-13"}
KINDS = ["Mesh", "VirtualNode", "VirtualRouter", "Route", "VirtualService", "VirtualGateway", "GatewayRoute"]
# What `aws appmesh describe-…` prints in addition to the input.
DESCRIBED = ["metadata", "status"]
# Words that only the documentation has: https://docs.aws.amazon.com/app-mesh/latest/APIReference/API_HttpRetryPolicy.html
WORDS = {"HttpRetryPolicyEvent": ["server-error", "gateway-error", "client-error", "stream-error"]}
# What another rule judges, with a message of its own, and what is left to judge here.
ELSEWHERE = {
    ("WeightedTarget", "weight"): "Whole(0, u64::MAX)",
    ("CreateService", "serviceName"): "Any",
    ("CreateService", "clientToken"): "Any",
}
# The template may omit what CloudFormation generates or does not require.
OPTIONAL = {
    ("CapacityProviderStrategyItem", "capacityProvider"),
    ("AwsVpcConfiguration", "subnets"),
    ("DeploymentController", "type"),
    ("LogConfiguration", "logDriver"),
    ("SubjectAlternativeNameMatchers", "exact"),
}
# What CloudFormation and Terraform require, and the model does not:
# https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-appmesh-virtualnode-duration.html
REQUIRED = {("Duration", "unit"), ("Duration", "value")}
# The words of a task definition, and those that the model lacks: Windows has `default` and `nat`.
WORD_LISTS = {
    "ApplicationProtocol": [],
    "CPUArchitecture": [],
    "Compatibility": [],
    "DeviceCgroupPermission": [],
    "EFSAuthorizationConfigIAM": [],
    "EFSTransitEncryption": [],
    "EnvironmentFileType": [],
    "FirelensConfigurationType": [],
    "IpcMode": [],
    "LogDriver": ["none"],
    "NetworkMode": ["default", "nat"],
    "PidMode": [],
    "ResourceType": [],
    "Scope": [],
    "TaskDefinitionPlacementConstraintType": [],
    "TransportProtocol": [],
    "UlimitName": [],
    "VersionConsistency": [],
}
# The maps of shapes.rs, and the shapes of the model whose keys they have together.
MAPS = {
    "TASK": ["RegisterTaskDefinitionRequest", "TaskDefinition"],
    "CONTAINER": ["ContainerDefinition"],
    "REPOSITORY_CREDENTIALS": ["RepositoryCredentials"],
    "PORT_MAPPING": ["PortMapping"],
    "RESTART_POLICY": ["ContainerRestartPolicy"],
    "PAIR": ["KeyValuePair"],
    "TAG": ["Tag"],
    "ENVIRONMENT_FILE": ["EnvironmentFile"],
    "MOUNT_POINT": ["MountPoint"],
    "VOLUME_FROM": ["VolumeFrom"],
    "LINUX": ["LinuxParameters"],
    "CAPABILITIES": ["KernelCapabilities"],
    "DEVICE": ["Device"],
    "TMPFS": ["Tmpfs"],
    "SECRET": ["Secret"],
    "DEPENDENCY": ["ContainerDependency"],
    "HOST_ENTRY": ["HostEntry"],
    "ULIMIT": ["Ulimit"],
    "LOGS": ["LogConfiguration"],
    "HEALTH_CHECK": ["HealthCheck"],
    "SYSTEM_CONTROL": ["SystemControl"],
    "RESOURCE": ["ResourceRequirement"],
    "FIRELENS": ["FirelensConfiguration"],
    "VOLUME": ["Volume"],
    "HOST": ["HostVolumeProperties"],
    "DOCKER_VOLUME": ["DockerVolumeConfiguration"],
    "EFS": ["EFSVolumeConfiguration"],
    "S3_FILES": ["S3FilesVolumeConfiguration"],
    "AUTHORIZATION": ["EFSAuthorizationConfig"],
    "PLACEMENT_CONSTRAINT": ["TaskDefinitionPlacementConstraint"],
    "PROXY": ["ProxyConfiguration"],
    "ACCELERATOR": ["InferenceAccelerator"],
    "EPHEMERAL_STORAGE": ["EphemeralStorage"],
    "PLATFORM": ["RuntimePlatform"],
}
# The maps of shapes.rs with keys of no shape of the model.
WITHOUT_MODEL = {"FIRELENS_OPTIONS"}
HEAD = """\
//! Written by `scripts/aws_shapes.py`: the maps of App Mesh's resources and of an ECS service, and ECS's words. Sources:
//! AWS's service models {sources}, <https://github.com/boto/botocore/tree/develop/botocore/data>

use super::shapes::{{
    Accepts::{{Any, Counted, EachOf, Flag, Map, Maps, OneOf, Texts, Union, Whole, Written}},
    Shape, key, must,
}};

"""


class Model:
    def __init__(self, service: str, version: str):
        self.shapes = Loader().load_service_model(service, "service-2", version)["shapes"]
        self.written: dict[str, str] = {}
        self.prefix = service.upper()

    def accepts(self, name: str) -> str:
        shape = self.shapes[name]
        least, most = shape.get("min"), shape.get("max")
        words = WORDS.get(name) or shape.get("enum")
        match shape["type"]:
            case "structure":
                return f"{'Union' if shape.get('union') else 'Map'}(&{self.structure(name)})"
            case "list":
                items = self.accepts(shape["member"]["shape"])
                if items.startswith("OneOf("):
                    items = items.replace("OneOf(", "EachOf(", 1)
                elif items.startswith(("Map(", "Union(")):
                    items = "Maps(" + items.split("(", 1)[1]
                else:
                    items = "Texts"
                return f"Counted({least or 0}, {most or 'u64::MAX'}, &{items})" if least or most else items
            case "string" if words:
                return f"OneOf(&[{', '.join(json.dumps(word) for word in words)}])"
            case "string" if least or most:
                return f"Written({least or 0}, {most or 'u64::MAX'})"
            case "integer" | "long" if least is not None:
                return f"Whole({least}, {number(most) if most else 'u64::MAX'})"
            case "boolean":
                return "Flag"
        return "Any"

    def structure(self, name: str) -> str:
        constant = f"{self.prefix}_{in_capitals(name)}"
        if name not in self.written:
            self.written[name] = ""
            shape = self.shapes[name]
            self.write(constant, name, shape["members"], shape.get("required", []))
        return constant

    def write(self, constant: str, name: str, members: dict, required: list[str]) -> None:
        keys = []
        for key, member in members.items():
            accepts = ELSEWHERE.get((name, key)) or self.accepts(member["shape"])
            must = key in required and (name, key) not in OPTIONAL or (name, key) in REQUIRED
            keys.append(f"{'must' if must else 'key'}({json.dumps(key)}, {accepts})")
        shown = json.dumps(name[0].lower() + name[1:])
        visible = "static" if constant.startswith(self.prefix) else "pub(crate) static"
        self.written[name] = f"{visible} {constant}: Shape = Shape {{ name: {shown}, keys: &[{', '.join(keys)}] }};\n"


def in_capitals(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).upper()


def number(value: int) -> str:
    return f"{value:_}" if value > 9999 else str(value)


def text() -> str:
    models = {service: Model(service, version) for service, version in MODELS.items()}
    mesh, ecs = models["appmesh"], models["ecs"]
    for kind in KINDS:
        create = mesh.shapes[f"Create{kind}Input"]
        own = kind[0].lower() + kind[1:] + "Name"
        members = dict(create["members"])
        for key in DESCRIBED:
            members[key] = {"shape": "Arn"}
        required = [key for key in create["required"] if key != own]
        mesh.write(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).upper(), kind, members, required)
    create = ecs.shapes["CreateServiceRequest"]
    # A template may also deploy again, and prints what it generates.
    members = create["members"] | {key: {"shape": "String"} for key in ("forceNewDeployment", "name", "serviceArn")}
    ecs.write("SERVICE", "CreateService", members, [])
    sources = " and ".join(f"`{service}` of {version}" for service, version in MODELS.items())
    words = "".join(
        f"pub(super) const {in_capitals(name)}: &[&str] = &[{', '.join(map(json.dumps, ecs.shapes[name]['enum'] + more))}];\n"
        for name, more in WORD_LISTS.items()
    )
    shapes = "".join(shape for model in models.values() for shape in model.written.values())
    return HEAD.format(sources=sources) + shapes + words


def drift() -> str | None:
    """The maps of shapes.rs whose keys are not those of the service model."""
    shapes = Model("ecs", MODELS["ecs"]).shapes
    maps = re.findall(r"static (\w+): Shape =\s+Shape \{(.*?)\};\n", SHAPES.read_text(), re.DOTALL)
    found = {name: set(re.findall(r'\b(?:key|must)\(\s*"(\w+)"', body)) for name, body in maps if name not in WITHOUT_MODEL}
    expected = {name: {key for shape in of for key in shapes[shape]["members"]} for name, of in MAPS.items()}
    differences = [
        f"{name}: {', '.join(sorted(found.get(name, set()) ^ expected.get(name, set())))}"
        for name in sorted(found.keys() | expected.keys())
        if found.get(name) != expected.get(name)
    ]
    return f"{SHAPES.name} has other keys than the service model: {'; '.join(differences)}" if differences else None


def main() -> str | None:
    written = text()
    if "--check" in sys.argv[1:]:
        return drift() if FILE.read_text() == written else f"{FILE.name} is not what scripts/aws_shapes.py writes"
    FILE.write_text(written)
    return None


if __name__ == "__main__":
    sys.exit(main())

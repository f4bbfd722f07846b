"""Collects the parameters of a deployment from a clone, and asks for those that have no value yet.

    STACK=ecs-mesh-controller PARAMETERS="Mode=observe" deploy.py ARCHITECTURE FILE

A parameter has a value if PARAMETERS, the deployed stack or the template gives one. FILE gets the new values, as YAML for
`sam deploy --parameter-overrides file://FILE`; the stack keeps its others.
"""

import json
import os
import re
import shlex
import sys
from pathlib import Path

import boto3
import yaml
from botocore.exceptions import BotoCoreError, ClientError

TEMPLATE = Path(__file__).resolve().parent.parent / "template.yaml"


class Plain(yaml.SafeLoader):
    """Reads a template without its functions, which no parameter has."""


Plain.add_multi_constructor("!", lambda loader, suffix, node: None)


def given(text: str) -> dict[str, str]:
    """The values of PARAMETERS, in the form of a shell: NAME=VALUE NAME='a value with blanks'."""
    values = {}
    for word in shlex.split(text):
        name, equals, value = word.partition("=")
        if not equals:
            sys.exit(f"PARAMETERS has {word!r}: write NAME=VALUE, and quote a value that has blanks")
        values[name] = value
    return values


def deployed(stack: str) -> set[str]:
    """The parameters of the deployed stack; none if there is no such stack."""
    try:
        stacks = boto3.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError" and "does not exist" in str(error):
            return set()
        sys.exit(f"cannot read stack {stack}: {error}")
    except BotoCoreError as error:
        sys.exit(f"cannot read stack {stack}: {error} Set AWS credentials and AWS_DEFAULT_REGION, or AWS_PROFILE.")
    return {parameter["ParameterKey"] for parameter in stacks[0].get("Parameters", [])}


def refusal(name: str, value: str, parameter: dict) -> str | None:
    """Why CloudFormation would refuse the value."""
    if allowed := parameter.get("AllowedValues"):
        return None if value in map(str, allowed) else f"{name} must be one of {', '.join(map(str, allowed))}"
    pattern = parameter.get("AllowedPattern", "").replace("[][", r"[\]\[")
    if (pattern and not re.fullmatch(pattern, value)) or len(value) > parameter.get("MaxLength", 4096):
        return f"{name} {parameter.get('ConstraintDescription', 'is refused')}"
    return None


def asked(name: str, parameter: dict) -> str:
    print(f"\n{name}: {parameter['Description']}", file=sys.stderr)
    while True:
        value = input("> ").strip()
        reason = refusal(name, value, parameter)
        if reason is None:
            return value
        print(reason, file=sys.stderr)


def main() -> None:
    architecture, file = sys.argv[1:]
    stack = os.environ["STACK"]
    parameters = yaml.load(TEMPLATE.read_text(), Plain)["Parameters"]
    # The functions are built for this machine.
    values = given(os.environ.get("PARAMETERS", "")) | {"Architecture": architecture}
    for name, value in values.items():
        if name not in parameters:
            sys.exit(f"template.yaml has no parameter {name}. See docs/reference/parameters.md")
        if reason := refusal(name, value, parameters[name]):
            sys.exit(reason)
    known = values.keys() | deployed(stack)
    missing = [name for name, parameter in parameters.items() if "Default" not in parameter and name not in known]
    if missing and not sys.stdin.isatty():
        sys.exit(f"stack {stack} needs values for {', '.join(missing)}: pass PARAMETERS=\"{missing[0]}=…\"")
    values |= {name: asked(name, parameters[name]) for name in missing}
    # JSON is YAML in which every value is a text, also "on" and "true".
    Path(file).write_text(json.dumps(values, indent=2) + "\n")


if __name__ == "__main__":
    main()

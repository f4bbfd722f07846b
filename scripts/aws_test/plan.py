"""What a run will create, and cost at most: said before anything is created."""

import math
import re
from collections import Counter
from pathlib import Path

from .clean_up import LONGEST_CLEAN_UP
from .prices import (
    AS_OF, LAMBDA_REQUESTS, LAMBDA_TIME, LOGS, S3_WRITES, SQS_REQUESTS, Usage, of_stacks, of_tasks, total,
)  # fmt: skip
from .sandbox import LONGEST, STEPS, TEMPLATES
from .scenarios import SCENARIOS

# The most of everything, for the longest run and the longest clean-up.
HOURS = (LONGEST + LONGEST_CLEAN_UP) / 3600
# Consul, api, two of web, two more in a deployment, the killed one, the impostor, and two of room.
TASKS = 10
CPU, GIGABYTES = 0.25, 0.5
METRICS = 60
# The functions' largest memory in GB, and how many seconds they may run.
LAMBDA_GB, LAMBDA_SECONDS = 1, 3600
LOGGED_GB = 0.1
REQUESTS = 100_000


def resources(template: Path) -> Counter:
    """How many resources of each type a template has."""
    return Counter(re.findall(r"(?m)^    Type: (AWS::\w+::\w+)$", template.read_text()))


def most(package: Path) -> list[Usage]:
    controller, sandbox = resources(package / "template.yaml"), resources(TEMPLATES["sandbox"])
    secrets = sandbox["AWS::SecretsManager::Secret"]
    return [
        *of_tasks(HOURS * TASKS, CPU, GIGABYTES),
        *of_stacks(HOURS, secrets, controller["AWS::CloudWatch::Alarm"], METRICS),
        Usage(LAMBDA_TIME, LAMBDA_GB * LAMBDA_SECONDS),
        Usage(LAMBDA_REQUESTS, REQUESTS),
        Usage(SQS_REQUESTS, REQUESTS),
        Usage(LOGS, LOGGED_GB),
        Usage(S3_WRITES, 100),
    ]


def bound(package: Path) -> float:
    """The most that a run costs, in dollars, rounded up to ten cents."""
    return math.ceil(total(most(package)) * 10) / 10


def text(name: str, account: str, region: str, package: Path) -> str:
    def listed(template: Path) -> str:
        return ", ".join(f"{count} {kind}" for kind, count in sorted(resources(template).items()))

    steps = [*(step.what for step in STEPS), *(f"see: {scenario.name}" for scenario in SCENARIOS), "remove everything"]
    lines = [
        f"make aws-test in account {account}, region {region}. Everything is named {name}-….",
        "",
        *(f"{number:3}. {step}" for number, step in enumerate(steps, 1)),
        "",
        "It creates a bucket and these stacks:",
        f"  {name}-sandbox: {listed(TEMPLATES['sandbox'])}",
        f"  {name}-controller: {listed(package / 'template.yaml')}",
        f"  {name}-api, {name}-web, {name}-impostor, each: {listed(TEMPLATES['service'])}",
        "",
        "Consul's HTTPS API is open to the internet meanwhile. It denies every call without a token of this run.",
        f"It takes about half an hour: at most {LONGEST // 60} minutes, and {LONGEST_CLEAN_UP // 60} for the clean-up.",
        f"It costs at most ${bound(package):.2f} (list prices of us-east-1, {AS_OF}).",
    ]
    return "\n".join(lines)

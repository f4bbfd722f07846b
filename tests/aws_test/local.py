"""make aws-test against the local stack: the same program, with stand-ins for the containers.

    local.py PROGRAM_OF_CONSUL FOLDER ARGUMENTS...
"""

import re
import sys
from pathlib import Path

import boto3

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "scripts"), str(Path(__file__).parent)]

from aws_test import __main__ as aws_test  # noqa: E402
from aws_test import aws, scenarios  # noqa: E402
from aws_test.consul import Consul  # noqa: E402
from containers import Containers, version_of  # noqa: E402


def on_ec2(params, **_):
    """On Fargate consul-ecs registers a locality, which Consul before 1.17 refuses."""
    params["TemplateBody"] = re.sub("LaunchType: FARGATE", "LaunchType: EC2", params["TemplateBody"])


def tasks_on_ec2(params, **_):
    params["launchType"] = "EC2"


def main() -> int:
    program, folder = sys.argv[1], Path(sys.argv[2])
    session = boto3.Session()
    # MiniStack's own key, while the program has the permissions of its page.
    containers = Containers(boto3.Session(aws_access_key_id="test", aws_secret_access_key="test"), program, folder)
    session.events.register("before-call.ec2.DescribeNetworkInterfaces", containers.public_address)
    version = version_of(program)
    if version < (1, 17):
        session.events.register("provide-client-params.cloudformation.CreateStack", on_ec2)
        session.events.register("provide-client-params.ecs.RunTask", tasks_on_ec2)
    if version < (1, 9):
        # It has no such intentions, and no proxy runs that would ask for them.
        Consul.allow = lambda *_: None
    say = aws_test.say

    def told(text: str) -> None:
        say(text)
        if "waits for the kernel" in text:
            containers.to_kill.set()

    aws_test.say = told
    # Everything takes a moment only.
    aws.PAUSE = 0.1
    impostor = scenarios.SCENARIOS[-1]
    scenarios.SCENARIOS[-1] = impostor._replace(expected=[it._replace(within=10) for it in impostor.expected])
    arguments = ["--folder", str(folder), *sys.argv[3:]]
    if "--clean-up" in arguments:
        return aws_test.main(arguments, session)
    containers.start()
    try:
        return aws_test.main(arguments, session)
    finally:
        containers.stop()
        if containers.failure:
            say(f"the stand-in for the containers has failed: {containers.failure!r}")


if __name__ == "__main__":
    sys.exit(main())

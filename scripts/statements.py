"""Prints which statements of the functions' roles the test suites need: those without which IAM would refuse a call.

    statements.py

Reads what the suites of the last run recorded (target/test/SUITE.statements). Fails if a role grants an action that no call needs,
unless UNTRIED says why no test reaches it.
"""

import json
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What the tests do not reach on the local stack, by statement.
LAMBDA = "Lambda itself calls it"
UNTRIED = {
    "WriteOwnLogs": {"logs:CreateLogStream": LAMBDA, "logs:PutLogEvents": LAMBDA},
    "ReadAndReturnEventsAndSendDelayedMessages": {
        "sqs:DeleteMessage": LAMBDA,
        "sqs:GetQueueAttributes": LAMBDA,
        "sqs:ReceiveMessage": LAMBDA,
    },
    "ReadTaskRoles": {"iam:GetRole": "the deployments of the tests set up no auth method of type aws-iam"},
    "ReadTasksOfTheAccount": {"ecs:DescribeContainerInstances": "only sweeps call it, and both functions have this policy"},
    "UseTheKeyOfTheSecrets": {"*": "MiniStack checks no permission of keys for secrets"},
    "AttachToTheVpc": {"*": LAMBDA},
}


def sids() -> list[str]:
    """The statements of the template's roles and policies that allow something, in its order."""
    text = (ROOT / "template.yaml").read_text()
    return list(dict.fromkeys(re.findall(r"- Sid: (\w+)\n +Effect: Allow\n +Action", text)))


def main() -> int:
    granted, needed = defaultdict(set), defaultdict(set)
    recordings = sorted((ROOT / "target" / "test").glob("*.statements"))
    if not recordings:
        sys.exit("statements: nothing is recorded: run the suites first (make test)")
    template = sids()
    for path in recordings:
        for line in map(json.loads, path.read_text().splitlines()):
            # The roles of tasks in the tests have statements of their own.
            if line["sid"] not in template:
                continue
            # CloudFormation names a role after the stack, the logical ID and something random.
            stack, logical_id, _ = line["role"].rsplit("-", 2)
            if "granted" in line:
                granted[line["sid"]].add((logical_id, line["granted"]))
            else:
                needed[line["sid"], logical_id, line["needed"]].add(stack)
    needless = []
    print("| statement | role | action | deployments of tests that need it |\n| --- | --- | --- | --- |")
    for sid in template:
        for role, action in sorted(granted[sid]) or [("", "*")]:
            stacks, reason = sorted(needed[sid, role, action]), UNTRIED.get(sid, {}).get(action)
            shown = ", ".join(stacks[:4]) + (f" and {len(stacks) - 4} more" if len(stacks) > 4 else "")
            print(f"| {sid} | {role} | `{action}` | {shown or reason or 'none'} |")
            if not stacks and not reason:
                needless.append(f"{role or sid}: {action}")
    if needless:
        print(f"statements: no call needs {', '.join(needless)}: remove it, or test what needs it", file=sys.stderr)
    return 1 if needless else 0


if __name__ == "__main__":
    sys.exit(main())

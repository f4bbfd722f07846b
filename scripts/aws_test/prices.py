"""What AWS charges for, in the units of Cost Explorer.

List prices of us-east-1, without the free tier, as of 2026-11-28. Other regions differ by up to a third.
Sources: https://aws.amazon.com/fargate/pricing/, …/vpc/pricing/, …/lambda/pricing/, …/sqs/pricing/, …/secrets-manager/pricing/,
…/cloudwatch/pricing/, …/s3/pricing/
"""

from typing import NamedTuple

AS_OF = "2026-11-28"
MONTH_HOURS = 730


class Price(NamedTuple):
    # The usage type in us-east-1, and its unit.
    usage_type: str
    unit: str
    dollars: float


FARGATE_CPU = Price("USE1-Fargate-vCPU-Hours:perCPU", "hours", 0.04048)
FARGATE_MEMORY = Price("USE1-Fargate-GB-Hours", "hours", 0.004445)
ADDRESS = Price("USE1-PublicIPv4:InUseAddress", "hours", 0.005)
# x86-64: arm64 costs a fifth less.
LAMBDA_TIME = Price("Lambda-GB-Second", "seconds", 0.0000166667)
LAMBDA_REQUESTS = Price("Request", "requests", 0.20 / 1e6)
SQS_REQUESTS = Price("Requests-Tier1", "requests", 0.40 / 1e6)
SECRETS = Price("USE1-AWSSecretsManager-Secrets", "secret months", 0.40)
ALARMS = Price("CW:AlarmMonitorUsage", "alarm months", 0.10)
DASHBOARDS = Price("DashboardsUsageHour", "dashboard months", 3.00)
METRICS = Price("CW:MetricMonitorUsage", "metric months", 0.30)
LOGS = Price("DataProcessing-Bytes", "GB", 0.50)
S3_WRITES = Price("Requests-Tier1 (S3)", "requests", 0.005 / 1000)


class Usage(NamedTuple):
    price: Price
    quantity: float

    @property
    def dollars(self) -> float:
        return self.quantity * self.price.dollars


def of_tasks(task_hours: float, cpu: float, gigabytes: float) -> list[Usage]:
    """Tasks on Fargate, each with a public address."""
    return [
        Usage(FARGATE_CPU, task_hours * cpu),
        Usage(FARGATE_MEMORY, task_hours * gigabytes),
        Usage(ADDRESS, task_hours),
    ]


def of_stacks(hours: float, secrets: int, alarms: int, metrics: int) -> list[Usage]:
    """What is charged by the month, and by the hour in proportion. The controller's stack has one dashboard."""
    months = hours / MONTH_HOURS
    counts = {SECRETS: secrets, ALARMS: alarms, METRICS: metrics, DASHBOARDS: 1}
    return [Usage(price, months * count) for price, count in counts.items()]


def total(usages: list[Usage]) -> float:
    return sum(usage.dollars for usage in usages)

"""What an account has: everything that make aws-test can create."""

# Each service with the lists that may have something of a run, and under what: operation, key, arguments.
LISTS = [
    ("cloudformation", "list_stacks", "StackSummaries", {}),
    ("s3", "list_buckets", "Buckets", {}),
    ("ec2", "describe_vpcs", "Vpcs", {}),
    ("ec2", "describe_subnets", "Subnets", {}),
    ("ec2", "describe_security_groups", "SecurityGroups", {}),
    ("ec2", "describe_internet_gateways", "InternetGateways", {}),
    ("ec2", "describe_route_tables", "RouteTables", {}),
    ("ecs", "list_clusters", "clusterArns", {}),
    ("ecs", "list_task_definitions", "taskDefinitionArns", {"status": "ACTIVE"}),
    ("ecs", "list_task_definitions", "taskDefinitionArns", {"status": "INACTIVE"}),
    ("iam", "list_roles", "Roles", {}),
    ("iam", "list_policies", "Policies", {"Scope": "Local"}),
    ("secretsmanager", "list_secrets", "SecretList", {"IncludePlannedDeletion": True}),
    ("sqs", "list_queues", "QueueUrls", {}),
    ("sns", "list_topics", "Topics", {}),
    ("events", "list_rules", "Rules", {}),
    ("lambda", "list_functions", "Functions", {}),
    ("lambda", "list_event_source_mappings", "EventSourceMappings", {}),
    ("logs", "describe_log_groups", "logGroups", {}),
    ("cloudwatch", "describe_alarms", "MetricAlarms", {}),
    ("cloudwatch", "list_dashboards", "DashboardEntries", {}),
]
NAMES = ("StackName", "Name", "VpcId", "SubnetId", "GroupId", "InternetGatewayId", "RouteTableId", "RoleName", "PolicyName")
NAMES += ("TopicArn", "FunctionName", "UUID", "logGroupName", "AlarmName", "DashboardName")


def name_of(found) -> str:
    return found if isinstance(found, str) else next(found[name] for name in NAMES if name in found)


def contents(session) -> set[str]:
    """The names of everything, without stacks that are deleted."""
    names = set()
    for service, operation, key, arguments in LISTS:
        for found in getattr(session.client(service), operation)(**arguments).get(key, []):
            if not isinstance(found, dict) or found.get("StackStatus") != "DELETE_COMPLETE":
                names.add(f"{service} {operation} {name_of(found)}")
    return names

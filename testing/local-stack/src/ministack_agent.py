"""The container agent's side of MiniStack's ECS. MiniStack runs no containers, and answers the calls of agents without effect:
https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_SubmitContainerStateChange.html

Here the calls change what DescribeTasks answers. Real agents report a container's health, and lose contact, through other
interfaces; here both are fields of their calls: `healthStatus` and `connectivity`. `address` is that of the task's interface. `isHidden` makes ECS's answers incomplete: it
counts such a task, and neither lists nor describes it. `createdAt` makes a task older. `status` is PENDING, RUNNING, or STOPPED
with ECS's `reason` for a task that could not start.
"""

import itertools
import json
import uuid

from ministack.services import ecs

run_task = ecs._run_task
addresses = itertools.count(1)


def interface_of(subnet):
    """An elastic network interface, as an attachment of a task."""
    number = next(addresses)
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    details = {
        "subnetId": subnet,
        "networkInterfaceId": f"eni-{number:017x}",
        "macAddress": "02:00:00:%02x:%02x:%02x" % (number >> 16 & 255, number >> 8 & 255, number & 255),
        "privateIPv4Address": address,
    }
    attachment = {
        "id": ecs.new_uuid(),
        "type": "ElasticNetworkInterface",
        "status": "ATTACHED",
        "details": [{"name": name, "value": value} for name, value in details.items()],
    }
    return attachment, address


def run_with_network_interface(data):
    answer = run_task(data)
    if answer[0] != 200:
        return answer
    body = json.loads(answer[2])
    tasks = [ecs._tasks[task["taskArn"]] for task in body["tasks"]]
    for task in tasks:
        if task["_network_mode"] == "awsvpc":
            attachment, address = interface_of(task["_subnet"] or "subnet-1")
            task["attachments"] = [attachment]
            for container in task["containers"]:
                interface = {"attachmentId": attachment["id"], "privateIpv4Address": address}
                container["networkInterfaces"] = [interface]
    body["tasks"] = [ecs._sanitize(task) for task in tasks]
    return ecs.json_response(body)


def task_of(data):
    task = ecs._resolve_task(data.get("task", ""), ecs._resolve_cluster_name(data.get("cluster", "default")))
    return task, task and ecs.resource_lock("ecs-task", task["taskArn"])


def submit_container_state_change(data):
    task, lock = task_of(data)
    found = [it for it in (task or {"containers": []})["containers"] if it["name"] == data.get("containerName")]
    if not found:
        return ecs.error_response_json("InvalidParameterException", "no such task or container", 400)
    container = found[0]
    with lock:
        container["healthStatus"] = data.get("healthStatus", container["healthStatus"])
        container["exitCode"] = data.get("exitCode", container["exitCode"])
        if "reason" in data:
            container["reason"] = data["reason"]
        if data.get("status", container["lastStatus"]) != container["lastStatus"]:
            container["lastStatus"] = data["status"]
            # A change of the health alone is no new version, and no event.
            ecs._bump_task_version(task)
    is_essential = task["_container_essentials"][task["containers"].index(container)]
    if is_essential and container["lastStatus"] == "STOPPED":
        ecs._mark_task_stopped(task["taskArn"], task, "Essential container in task exited", "EssentialContainerExited")
    return ecs.json_response({"acknowledgment": "ACCEPT"})


def set_address(task, address):
    for detail in task["attachments"][0]["details"]:
        if detail["name"] == "privateIPv4Address":
            detail["value"] = address
    for container in task["containers"]:
        container["networkInterfaces"][0]["privateIpv4Address"] = address


def submit_task_state_change(data):
    task, lock = task_of(data)
    if not task:
        return ecs.error_response_json("InvalidParameterException", "no such task", 400)
    with lock:
        for field in ("connectivity", "createdAt", "desiredStatus"):
            task[field] = data.get(field, task[field])
        if "connectivity" in data:
            task["connectivityAt"] = ecs._iso()
        if "address" in data:
            set_address(task, data["address"])
        task["_is_hidden"] = data.get("isHidden", False)
        if "status" in data:
            is_running = data["status"] == "RUNNING"
            task["startedAt"] = ecs._iso() if is_running else None
            task["lastStatus"] = "RUNNING" if is_running else "PENDING"
        ecs._bump_task_version(task)
    if data.get("status") == "STOPPED":
        ecs._mark_task_stopped(task["taskArn"], task, data["reason"], "TaskFailedToStart")
    elif "status" in data:
        ecs._refresh_service_state(ecs._cluster_name_from_arn(task["clusterArn"]), task["group"])
    return ecs.json_response({"acknowledgment": "ACCEPT"})


# The EC2 instance of each container instance.
hosts = {}


def register_container_instance(data):
    """The agent's first call: https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterContainerInstance.html"""
    arn = data["containerInstanceArn"]
    hosts[arn] = json.loads(data["instanceIdentityDocument"])["instanceId"]
    return ecs.json_response({"containerInstance": {"containerInstanceArn": arn, "ec2InstanceId": hosts[arn]}})


def describe_container_instances(data):
    known = [arn for arn in data["containerInstances"] if arn in hosts]
    described = [{"containerInstanceArn": arn, "ec2InstanceId": hosts[arn]} for arn in known]
    missing = [{"arn": arn, "reason": "MISSING"} for arn in data["containerInstances"] if arn not in hosts]
    return ecs.json_response({"containerInstances": described, "failures": missing})


def without_hidden(handle):
    """The answers of ListTasks or DescribeTasks without the hidden tasks."""

    def incomplete(data):
        status, headers, body = handle(data)
        hidden = {arn for arn, task in ecs._tasks.items() if task.get("_is_hidden")}
        if status != 200 or not hidden:
            return status, headers, body
        answer = json.loads(body)
        if "taskArns" in answer:
            answer["taskArns"] = [arn for arn in answer["taskArns"] if arn not in hidden]
        if "tasks" in answer:
            missing = [task["taskArn"] for task in answer["tasks"] if task["taskArn"] in hidden]
            answer["tasks"] = [task for task in answer["tasks"] if task["taskArn"] not in hidden]
            answer["failures"] += [{"arn": arn, "reason": "MISSING"} for arn in missing]
        return ecs.json_response(answer)

    return incomplete


def asked_tasks(data):
    cluster = ecs._resolve_cluster_name(data.get("cluster", "default"))
    found = [ecs._resolve_task(task, cluster) for task in data.get("tasks", [])]
    return [task["taskArn"] for task in found if task]


def install():
    # IDs of tasks have 32 hexadecimal digits: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-account-settings.html
    ecs.new_uuid = lambda: uuid.uuid4().hex
    # Services start their tasks by the module's function.
    ecs._run_task = run_with_network_interface
    ecs._ACTION_MAP["RunTask"] = run_with_network_interface
    ecs._ACTION_MAP["SubmitContainerStateChange"] = submit_container_state_change
    ecs._ACTION_MAP["SubmitTaskStateChange"] = submit_task_state_change
    ecs._ACTION_MAP["RegisterContainerInstance"] = register_container_instance
    ecs._ACTION_MAP["DescribeContainerInstances"] = describe_container_instances
    for action in ("ListTasks", "DescribeTasks"):
        ecs._ACTION_MAP[action] = without_hidden(ecs._ACTION_MAP[action])

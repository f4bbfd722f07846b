"""CloudFormation's calls with the permissions of the stack's caller: MiniStack makes them with all permissions.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/fas-requests-and-permission-evaluation.html
"""

import handler_permissions
import ministack_iam
from ministack.core import iam_evaluator
from ministack.core.responses import get_account_id, get_region
from ministack.services.cloudformation import changesets, engine, provisioners, stacks
from ministack.services.cloudformation import handlers as operations

apply_transforms = engine._apply_transforms
provision_resource = provisioners._provision_resource
update_resource = provisioners._update_resource
delete_resource = provisioners._delete_resource


def refuse(action, resource, keys):
    """Fails if the caller may not call an action, with the sentence of AWS."""
    service, region = action.split(":")[0], get_region()
    key = ministack_iam.caller.get()
    denied = ministack_iam.enforce(key, action, service, region, resource_arn=resource, service_context=keys)
    if denied:
        user = getattr(denied, "principal_arn", key)
        # https://github.com/galaxyproject/cloudlaunch/issues/205: IAM names a policy that does not exist without an ARN.
        shown = resource.rsplit(":policy", 1)[-1] if action == "iam:CreatePolicy" else resource
        shown = f"policy {shown.removeprefix('/')}" if action == "iam:CreatePolicy" else shown
        reason = f"because no identity-based policy allows the {action} action"
        raise PermissionError(f"User: {user} is not authorized to perform: {action} on resource: {shown} {reason}")


def check(kind, operation, name, properties):
    """Fails unless the caller may call all that the handler calls."""
    if iam_evaluator.is_root_access_key(ministack_iam.caller.get()):
        return
    for action in handler_permissions.actions(kind, operation, properties):
        resources, keys = handler_permissions.called_on(kind, action, name, properties, get_region(), get_account_id())
        for resource in resources:
            refuse(action, resource, keys)


def new_name(kind, logical_id, properties, stack):
    """The name that the template gives to a resource, or one like CloudFormation's."""
    name = properties.get(handler_permissions.NAMES.get(kind), f"{stack}-{logical_id}-{'A' * 12}")
    return name.lower() if kind == handler_permissions.BUCKET else name


def provision(kind, logical_id, properties, stack):
    check(kind, "create", new_name(kind, logical_id, properties, stack), properties)
    return provision_resource(kind, logical_id, properties, stack)


def update(kind, physical_id, old, new, *further):
    if old != new:
        check(kind, "update", physical_id, {**old, **new})
    return update_resource(kind, physical_id, old, new, *further)


def delete(kind, physical_id, properties, *further):
    check(kind, "delete", physical_id, properties)
    return delete_resource(kind, physical_id, properties, *further)


def transform(template, *further):
    # https://github.com/aws/serverless-application-model/issues/179: the macro is a resource, of the account "aws".
    if engine._SAM_TRANSFORM in engine.declared_transforms(template):
        resource = f"arn:aws:cloudformation:{get_region()}:aws:transform/{engine._SAM_TRANSFORM.removeprefix('AWS::')}"
        refuse("cloudformation:CreateChangeSet", resource, {})
    return apply_transforms(template, *further)


def install():
    """Puts these functions in the place of MiniStack's."""
    # MiniStack creates a resource anew, and deletes it, also within an update.
    for module in (stacks, provisioners):
        module._provision_resource = provision
        module._delete_resource = delete
    stacks._update_resource = update
    for module in (changesets, operations):
        module._apply_transforms = transform

"""What MiniStack's CloudFormation takes otherwise than AWS: the names of nested fields of container definitions, which it leaves as
the template has them, and a number that a parameter gives, which it leaves a text.
"""

from ministack.services.cloudformation import provisioners

MAPPING = provisioners._RESOURCE_HANDLERS["AWS::Lambda::EventSourceMapping"]
create_mapping, update_mapping = MAPPING["create"], MAPPING["update"]


def container_definitions(definitions):
    """As ECS's API has them."""
    return [provisioners._pascal_to_camel(definition) for definition in definitions]


def with_number(properties):
    scaling = properties.get("ScalingConfig")
    if not scaling:
        return properties
    return {**properties, "ScalingConfig": {"MaximumConcurrency": int(scaling["MaximumConcurrency"])}}


def create(logical_id, properties, *further):
    return create_mapping(logical_id, with_number(properties), *further)


def update(physical_id, old, new, *further):
    return update_mapping(physical_id, with_number(old), with_number(new), *further)


def install():
    """Puts these functions in the place of MiniStack's."""
    provisioners._normalize_container_defs = container_definitions
    MAPPING["create"], MAPPING["update"] = create, update

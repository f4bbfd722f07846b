//! The target groups of a service's load balancers.

use document::Node;

use super::{resource::TemplateResource, scope::Scopes};

/// The type of the targets of each load balancer of a service, whose target groups the template declares.
pub(super) fn target_types(
    service: &TemplateResource<'_>,
    resources: &[TemplateResource<'_>],
    scopes: &mut Scopes<'_, '_>,
) -> Vec<Option<String>> {
    let balancers = service.properties.get("LoadBalancers").map(Node::items).unwrap_or_default();
    balancers.iter().map(|balancer| target_type(service, balancer, resources, scopes)).collect()
}

fn target_type(
    service: &TemplateResource<'_>,
    balancer: &Node,
    resources: &[TemplateResource<'_>],
    scopes: &mut Scopes<'_, '_>,
) -> Option<String> {
    let id = scopes.of(service.condition()).resource_of(balancer.get("TargetGroupArn")?)?;
    let is_it = |resource: &&TemplateResource<'_>| {
        resource.id == id && resource.kind == "AWS::ElasticLoadBalancingV2::TargetGroup"
    };
    let group = resources.iter().find(is_it)?;
    let properties = group.resolved(scopes.of(group.condition()));
    match properties.get("TargetType") {
        None => (!properties.is_unknown()).then(|| "instance".to_owned()),
        Some(kind) => kind.text().map(str::to_owned),
    }
}

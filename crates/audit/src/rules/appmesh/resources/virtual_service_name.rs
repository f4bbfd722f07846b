use crate::{
    app_mesh::{ResourceKind, Resources},
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-virtual-service-name",
    summary: "the name of a virtual service does not resolve to the task itself",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "apps that call the service connect to their own task, without Envoy",
    explanation: "\
Apps call a virtual service by its name, which must not resolve to a loopback address: connections to 127.0.0.1 stay \
in the app's own task, and are not redirected to Envoy. Use the name of the real service in service discovery.",
    sources: &["https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_services.html"],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[],
        at: "[virtualService orders.shop.local].virtualService.virtualServiceName",
        fails: Some(r#""localhost""#),
        repaired: Some(r#""orders.shop.local""#),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for service in resources.of(ResourceKind::VirtualService) {
        let Some(name) = service.name.whole().filter(|name| is_loopback(name)) else { continue };
        let message = format!("the virtual service {name} resolves to the caller's own task");
        let help = "name it after the service discovery name of the real service, such as orders.shop.local";
        findings(service, Draft::new(service.span, message, help));
    }
}

fn is_loopback(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_lowercase();
    let is_address = name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    name == "localhost" || name.ends_with(".localhost") || is_address
}

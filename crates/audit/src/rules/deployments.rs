//! How ECS services deploy tasks of the mesh.

use super::prelude::*;
use audit_read::definition::ServiceUse;

pub(super) static CONSUL_DEPLOYMENT_STRATEGY: Rule =
    Rule::of_task(page!("consul-deployment-strategy"), Applies::Consul, check_deployment_strategy);

fn check_deployment_strategy(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_service()) else { return };
    if consul.configuration.number("service.port", 1) == Some(0) {
        return;
    }
    for service in &subject.definition.services {
        let Some((field, how)) = shifting(service) else { continue };
        let message = format!(
            "the service {} deploys with {how}, but requests through the mesh reach the new tasks at once",
            service.name
        );
        let help = "use the strategy ROLLING, or shift the mesh's requests with a service splitter";
        findings.add(Draft::new(field.span(), message, help).in_file(&service.file));
    }
}

/// What shifts the requests of a service from one revision to the next.
fn shifting(service: &ServiceUse) -> Option<(&Field<Text>, &str)> {
    let strategy = service.strategy.text().filter(|strategy| matches!(*strategy, "BLUE_GREEN" | "LINEAR" | "CANARY"));
    let controller = service.controller.text().filter(|controller| *controller == "CODE_DEPLOY");
    strategy.map(|how| (&service.strategy, how)).or(controller.map(|how| (&service.controller, how)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{audit, example::Base, rules::tests::material};
    use audit_read::definition::{Dialect, service_use};
    use document::{Route, SourceFile, parse_json};
    use std::sync::Arc;

    /// What the rule says of a service with this configuration that runs this definition.
    fn said(service: &str, definition: &str) -> Vec<String> {
        let file = Arc::new(SourceFile::new("service.json", service));
        let node = parse_json(&file.text, &Route::default()).unwrap();
        let mut material = material(definition);
        material.definitions[0].services.extend(service_use(file, "basket".to_owned(), &node, Dialect::Ecs).0);
        let of_rule = |finding: &crate::finding::Finding| finding.rule.id == CONSUL_DEPLOYMENT_STRATEGY.id;
        audit(&material).into_iter().filter(of_rule).map(|finding| finding.message).collect()
    }

    #[test]
    fn requests_of_the_mesh_are_not_shifted() {
        for strategy in ["BLUE_GREEN", "LINEAR", "CANARY"] {
            let service = format!(r#"{{"deploymentConfiguration":{{"strategy":"{strategy}"}}}}"#);
            let message = format!(
                "the service basket deploys with {strategy}, but requests through the mesh reach the new tasks at once"
            );
            assert_eq!(said(&service, Base::Dataplane.json()), [message]);
        }
        let code_deploy = r#"{"deploymentController":{"type":"CODE_DEPLOY"}}"#;
        assert_eq!(said(code_deploy, Base::Client.json()).len(), 1);
    }

    #[test]
    fn what_the_mesh_does_not_send_requests_to_is_not_reported() {
        let blue_green = r#"{"deploymentConfiguration":{"strategy":"BLUE_GREEN"}}"#;
        for service in [
            r#"{"deploymentConfiguration":{"strategy":"ROLLING","maximumPercent":200}}"#,
            r#"{"deploymentController":{"type":"ECS"}}"#,
            "{}",
        ] {
            assert_eq!(said(service, Base::Dataplane.json()), [""; 0], "{service}");
        }
        let outbound = Base::Dataplane.json().replace(r#"\"port\":9090"#, r#"\"port\":0"#);
        assert_eq!(said(blue_green, &outbound), [""; 0], "it gets no requests");
        for base in [Base::AppMesh, Base::MeshGateway] {
            assert_eq!(said(blue_green, base.json()), [""; 0]);
        }
    }
}

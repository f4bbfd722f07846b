//! What the audit of the definitions that run adds.

use std::{path::Path, sync::Arc};

use audit::{audit, ignore};
use audit_read::input::read_source;
use document::SourceFile;
use serde_json::json;

use super::*;
use crate::examples::definition;

const RIGHT: &str = include_str!("../../../../audit/src/bases/dataplane.json");

/// The findings about a definition after these replacements.
fn of_definition(changes: &[(&str, &str)]) -> Vec<SurveyFinding> {
    let text = changes.iter().fold(RIGHT.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    let mut gathered = Gathered::default();
    read_source(Arc::new(SourceFile::new("web.json", text)), true, &mut gathered.material).unwrap();
    let sorted =
        ignore::sort(audit(&gathered.material), &gathered.material, &ignore::Config::default(), Path::new("."));
    let definitions = Report::new(&gathered, &sorted, audit::severity::Threshold::Error);
    found(|world| world.definitions = definitions)
}

fn named<'f>(findings: &'f [SurveyFinding], id: &str) -> &'f SurveyFinding {
    findings.iter().find(|finding| finding.id == id).unwrap_or_else(|| panic!("{id}: {findings:#?}"))
}

#[test]
fn right_definition_is_no_finding() {
    assert_eq!(of_definition(&[]), []);
}

#[test]
fn release_whose_support_has_ended_is_found_for_information() {
    let findings = of_definition(&[("consul-ecs:0.10.1", "consul-ecs:0.8.1"), ("dataplane:2.0.1", "dataplane:1.4.6")]);
    let ended = named(&findings, "consul-end-of-support");
    assert_eq!((ended.severity, ended.objects.len()), (Severity::Info, 1));
    assert!(ended.objects[0].why.contains("whose support has ended"), "{ended:?}");
    assert_eq!(ended.commands, ["ecs-mesh explain consul-end-of-support", "ecs-mesh check --cluster prod"]);
    // Other findings that only inform are not the survey's
    assert!(
        findings.iter().all(|it| it.severity > Severity::Info || it.id == "consul-end-of-support"),
        "{findings:#?}"
    );
}

#[test]
fn defect_of_a_release_says_what_this_one_does() {
    let findings = of_definition(&[("consul-ecs:0.10.1", "consul-ecs:0.8.0"), ("dataplane:2.0.1", "dataplane:1.4.6")]);
    let defect = named(&findings, "consul-release-defect");
    let generic = "What the finding says of the release";
    assert!(
        !defect.cost.contains(generic) || defect.objects.iter().all(|it| it.why.contains("At run time: ")),
        "{defect:?}"
    );
}

#[test]
fn servers_of_hcp_and_a_mistake_in_the_configuration_are_found() {
    let host = "mesh.private.consul.0f0f0f0f-1111-4222-8333-444455556666.aws.hashicorp.cloud";
    let findings = of_definition(&[("consul.example.internal", host)]);
    assert_eq!(named(&findings, "consul-hcp-servers").severity, Severity::Error);
    let findings = of_definition(&[("\\\"bootstrapDir\\\"", "\\\"bootstrapdir\\\"")]);
    let mistake = named(&findings, "consul-config-schema");
    assert_eq!((mistake.severity, mistake.objects[0].name.as_str()), (Severity::Error, "web"));
}

/// The audit of a definition whose configuration is no JSON, as ECS describes it.
fn audit_of_broken(arn: &str) -> Report {
    let container = json!({
        "name": "consul-ecs-mesh-init",
        "image": "hashicorp/consul-ecs:0.9.0",
        "environment": [{ "name": "CONSUL_ECS_CONFIG_JSON", "value": "{" }],
    });
    let definition = json!({ "taskDefinitionArn": arn, "family": "web", "containerDefinitions": [container] });
    let tags = json!([{ "key": "consul.hashicorp.com/mesh", "value": "true" }]);
    let described = json!({ "taskDefinition": definition, "tags": tags });
    let mut gathered = Gathered::default();
    let file = Arc::new(SourceFile::new(arn.to_owned(), described.to_string()));
    read_source(file, true, &mut gathered.material).unwrap();
    let sorted =
        ignore::sort(audit(&gathered.material), &gathered.material, &ignore::Config::default(), Path::new("/"));
    Report::new(&gathered, &sorted, audit::severity::Threshold::Error)
}

#[test]
fn rule_names_each_cluster_whose_tasks_run_the_revision() {
    let (running, forgotten) =
        (definition().arn.to_string(), "arn:aws:ecs:us-east-1:123456789012:task-definition/old:1");
    let clusters = |audited: &str| {
        let findings = found(|world| {
            world.definitions = audit_of_broken(audited);
            for name in ["prod", "staging", "test"] {
                let mut cluster = healthy();
                cluster.arn = mesh_examples::cluster(name);
                if name != "test" {
                    cluster.services[0].state.audited.task_definitions.insert(running.clone());
                }
                world.inspection.clusters.push(cluster);
            }
            world.inspection.clusters.remove(0);
        });
        let of_rule = findings.into_iter().find(|finding| finding.id.starts_with("consul-config")).expect("a rule");
        of_rule.objects.into_iter().map(|object| object.cluster).collect::<Vec<_>>()
    };
    assert_eq!(clusters(&running), [Some("prod".to_owned()), Some("staging".to_owned())]);
    assert_eq!(clusters(forgotten), [None]);
}

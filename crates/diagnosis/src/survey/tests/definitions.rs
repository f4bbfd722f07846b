//! Findings of rules, with the clusters whose tasks run the definition.

use std::{path::Path, sync::Arc};

use audit::report::Report;
use audit_read::input::{Gathered, read_source};
use document::SourceFile;
use serde_json::json;

use super::found;
use crate::examples::{definition, healthy};

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
    let found = audit::audit(&gathered.material);
    let sorted = audit::ignore::sort(found, &gathered.material, &audit::ignore::Config::default(), Path::new("/"));
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

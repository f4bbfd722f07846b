//! What helps: advice that a reader follows must not lead to the next finding.

use audit::finding::Finding;

use crate::{
    example::Base,
    reading::{all_findings_in, ids, repaired},
};

type Changes<'c> = [(&'c str, &'c str)];

/// A definition of Consul Dataplane with these changes, and its findings.
fn changed(changes: &Changes<'_>) -> (String, Vec<Finding>) {
    let definition = Base::Dataplane.with(changes.iter().map(|(path, value)| (*path, Some(*value)))).unwrap();
    let text = serde_json::to_string_pretty(&definition).unwrap();
    let found = all_findings_in("task.json", &text);
    (text, found)
}

/// The rules and helps of its findings.
fn helps(changes: &Changes<'_>) -> Vec<(&'static str, String)> {
    changed(changes).1.into_iter().map(|finding| (finding.rule.id, finding.help)).collect()
}

const IMAGE: &str = "containerDefinitions[consul-dataplane].image";
const CONDITION: &str = "containerDefinitions[web].dependsOn[consul-dataplane].condition";

#[test]
fn one_finding_says_for_what_to_wait() {
    for condition in ["\"COMPLETE\"", "\"SUCCESS\""] {
        let of = &[(CONDITION, condition)];
        assert_eq!(helps(of), [("ecs-dependency-essential", "wait for HEALTHY".to_owned())]);
        let (text, _) = changed(of);
        let fixed = repaired("task.json", &text);
        assert_eq!(ids(&all_findings_in("task.json", &fixed.after.text)), [""; 0], "the fix leaves nothing");
    }
    // health-sync has no health check.
    let of_health_sync = r#"{ "containerName": "consul-ecs-health-sync", "condition": "COMPLETE" }"#;
    let helps = helps(&[("containerDefinitions[web].dependsOn[consul-ecs-health-sync]", of_health_sync)]);
    assert_eq!(helps, [("ecs-dependency-essential", "remove the dependency, or wait for START".to_owned())]);
}

#[test]
fn a_release_without_the_defect_goes_with_the_other_program() {
    let of = |tag: &str| {
        let (_, found) = changed(&[(IMAGE, &format!("\"hashicorp/consul-dataplane:{tag}\""))]);
        let defect = found.into_iter().find(|finding| finding.rule.id == "consul-release-defect");
        defect.map(|finding| finding.help)
    };
    let help = of("1.0.0").unwrap();
    assert!(
        help.starts_with("use consul-dataplane 2.") && help.ends_with(", which goes with consul-ecs 0.10"),
        "{help}"
    );
    assert_eq!(of("1.7.11").as_deref(), Some("use consul-dataplane 1.7.12 or newer"));
}

#[test]
fn a_wrong_port_has_two_corrections() {
    let help = "set service.port to 9090. If the app really listens on 8080, change its containerPort to 8080";
    assert_eq!(helps(&[("config.service.port", "8080")]), [("consul-service-port", help.to_owned())]);
}

#[test]
fn a_token_next_to_a_login_is_removed() {
    let token = r#"{ "name": "CONSUL_HTTP_TOKEN", "value": "00000000-0000-0000-0000-00000000beef" }"#;
    let of = |container: &str| {
        let definition: serde_json::Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
        let containers = definition["containerDefinitions"].as_array().unwrap();
        let found = containers.iter().find(|it| it["name"] == container).unwrap();
        let mut variables = found["environment"].as_array().cloned().unwrap_or_default();
        variables.push(serde_json::from_str(token).unwrap());
        let path = format!("containerDefinitions[{container}].environment");
        helps(&[(&path, &serde_json::Value::from(variables).to_string())])
    };
    let remove = "remove it: the task logs in with its role (consulLogin.enabled). Revoke the token in Consul";
    assert_eq!(of("consul-ecs-mesh-init"), [("consul-credential-in-plain", remove.to_owned())]);
    // The app may need one of its own.
    let help =
        "put the value into Secrets Manager, refer to it under secrets as CONSUL_HTTP_TOKEN, and replace the old value";
    assert_eq!(of("web"), [("consul-credential-in-plain", help.to_owned())]);
}

#[test]
fn another_bootstrap_directory_may_be_the_mistake() {
    let changes = &[("config.bootstrapDir", "\"/consul/data\"")];
    let helps = helps(changes);
    let rules: Vec<&str> = helps.iter().map(|(rule, _)| *rule).collect();
    for rule in ["consul-mesh-init-mounts", "consul-dataplane-command", "consul-proxy-mount"] {
        assert!(rules.contains(&rule), "{rules:?}");
    }
    for (rule, help) in &helps {
        assert!(help.contains(", or set bootstrapDir to /consul, where "), "{rule}: {help}");
    }
    // It is not certain which of the two is wrong.
    let (text, found) = changed(changes);
    assert!(found.iter().all(|finding| finding.fix.is_none()), "{:?}", ids(&found));
    assert_eq!(repaired("task.json", &text).after.text, text);
}

#[test]
fn a_misspelt_container_is_renamed() {
    let unknown = &[("containerDefinitions[web].dependsOn[consul-dataplane].containerName", "\"consul-dataplan\"")];
    assert_eq!(helps(unknown), [("ecs-dependency-unknown", "did you mean consul-dataplane?".to_owned())]);
    let unknown = &[("containerDefinitions[web].dependsOn[consul-dataplane].containerName", "\"database\"")];
    let (_, helps) = helps(unknown).remove(0);
    let mut names: Vec<&str> = helps.split([' ', ',']).filter(|word| word.starts_with("consul-")).collect();
    names.sort_unstable();
    assert_eq!(names, ["consul-dataplane", "consul-ecs-health-sync", "consul-ecs-mesh-init"], "{helps}");
    let renamed = &[("containerDefinitions[consul-dataplane].name", "\"consul-data-plane\"")];
    let (_, found) = changed(renamed);
    let [finding] = found.as_slice() else { panic!("{:?}", ids(&found)) };
    assert_eq!(finding.message, "the container consul-dataplane is missing, and consul-data-plane has its image");
    assert_eq!(&finding.file.text[finding.span.start..finding.span.end], "\"consul-data-plane\"");
}

#[test]
fn an_image_of_another_generation_becomes_the_one_of_its_neighbour() {
    let old =
        &[("containerDefinitions[consul-ecs-health-sync].image", "\"public.ecr.aws/hashicorp/consul-ecs:0.7.0\"")];
    let help = "use the image of consul-ecs-mesh-init: public.ecr.aws/hashicorp/consul-ecs:0.10.1";
    assert_eq!(helps(old), [("consul-image-generation", help.to_owned())]);
    let both = &[
        ("containerDefinitions[consul-ecs-mesh-init].image", "\"hashicorp/consul-ecs:0.7.0\""),
        ("containerDefinitions[consul-ecs-health-sync].image", "\"hashicorp/consul-ecs:0.7.0\""),
    ];
    let help = "use an image of consul-ecs 0.8 or newer, or the containers of the image's generation";
    assert_eq!(helps(both), [("consul-image-generation", help.to_owned())]);
}

#[test]
fn a_missing_certificate_names_the_same_one_of_another_container() {
    let secrets = "containerDefinitions[consul-ecs-health-sync].secrets";
    let https = r#"[{ "name": "CONSUL_HTTPS_CACERT_PEM", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-cert-GhIjKl" }]"#;
    let (_, found) = changed(&[(secrets, https)]);
    let messages: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "consul-ecs-health-sync has no CONSUL_GRPC_CACERT_PEM, but CONSUL_GRPC_CACERT_PEM on consul-ecs-mesh-init exists"
        ]
    );
}

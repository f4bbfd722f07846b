//! What findings say: which value is wrong, and what helps.

use audit::finding::Finding;
use serde_json::{Value, json};

use crate::{
    example::Base,
    reading::{all_findings_in, findings, findings_in, repaired},
    template::yaml_template,
};

/// The messages and helps of one rule for a definition of Consul Dataplane with one change.
fn said(rule: &str, path: &str, value: &Value) -> Vec<(String, String)> {
    let broken = Base::Dataplane.with([(path, Some(&*value.to_string()))]).unwrap();
    let found = findings(&broken).into_iter().filter(|finding| finding.rule.id == rule);
    found.map(|finding| (finding.message, finding.help)).collect()
}

#[test]
fn a_command_of_consul_dataplane_is_reported_by_what_is_wrong_with_it() {
    for (command, expected) in [
        (
            json!(["-config-file", "/consul/consul-dataplane.json"]),
            "the command of consul-dataplane does not begin with consul-dataplane",
        ),
        (
            json!(["consul-dataplane", "-config-file", "/consul/config.json"]),
            "consul-dataplane reads /consul/config.json, which mesh-init does not write",
        ),
        (
            json!(["consul-dataplane", "-config-file=s3cr3t"]),
            "consul-dataplane reads a file that mesh-init does not write",
        ),
        (json!(["consul-dataplane", "-addresses", "10.0.0.1"]), "consul-dataplane starts without -config-file"),
        (json!(["envoy", "-c", "/consul/envoy.json"]), "consul-dataplane runs envoy …"),
        (json!([]), "consul-dataplane has no command"),
    ] {
        let said = said("consul-dataplane-command", "containerDefinitions[consul-dataplane].command", &command);
        assert_eq!(said.iter().map(|(message, _)| message.as_str()).collect::<Vec<_>>(), [expected], "{command}");
    }
    for command in [
        json!(["consul-dataplane", "-config-file=/consul/consul-dataplane.json"]),
        json!(["privileged-consul-dataplane", "--config-file", "/consul/consul-dataplane.json", "-log-level=debug"]),
    ] {
        let said = said("consul-dataplane-command", "containerDefinitions[consul-dataplane].command", &command);
        assert_eq!(said, [], "{command}");
    }
}

#[test]
fn no_help_proposes_the_task_itself_as_a_server() {
    for (hosts, expected) in [
        ("consul.example.internal:8501", "write consul.example.internal"),
        ("https://10.0.0.5", "write 10.0.0.5"),
        ("localhost:8501", "write the address or the DNS name of Consul's servers"),
        ("http://127.0.0.1:8500/", "write the address or the DNS name of Consul's servers"),
        ("[::1]", "write the address or the DNS name of Consul's servers"),
    ] {
        let said = said("consul-server-hosts", "config.consulServers.hosts", &json!(hosts));
        let [(_, help)] = said.as_slice() else { panic!("{hosts}: {said:?}") };
        assert!(help.starts_with(&format!("{expected};")), "{hosts}: {help}");
    }
}

#[test]
fn a_limit_of_minus_one_is_no_number_of_files() {
    let limits = json!([{ "name": "nofile", "softLimit": -1, "hardLimit": -1 }]);
    let said = said("consul-proxy-open-files", "containerDefinitions[consul-dataplane].ulimits", &limits);
    let [(message, _)] = said.as_slice() else { panic!("{said:?}") };
    assert!(message.starts_with("consul-dataplane may open any number of files"), "{message}");
}

/// What the findings of one rule cause at run time.
fn effects(rule: &str, path: &str, value: &Value) -> Vec<String> {
    all_found(rule, path, value).into_iter().map(|finding| finding.effect).collect()
}

/// The findings of one rule, also of one about old releases.
fn all_found(rule: &str, path: &str, value: &Value) -> Vec<Finding> {
    let broken = Base::Dataplane.with([(path, Some(&*value.to_string()))]).unwrap();
    let mut found = all_findings_in("task.json", &broken.to_string());
    found.retain(|finding| finding.rule.id == rule);
    found
}

#[test]
fn a_proxy_that_waits_for_the_end_of_mesh_init_does_not_start_too_early() {
    let condition = "containerDefinitions[consul-dataplane].dependsOn[consul-ecs-mesh-init].condition";
    let of = |condition_value: &str| effects("consul-proxy-order", condition, &json!(condition_value));
    let after_a_failure =
        "if mesh-init fails, the proxy starts all the same, and fails because its configuration does not exist";
    assert_eq!(of("COMPLETE"), [after_a_failure]);
    assert_eq!(of("START"), ["the proxy starts before its program and its configuration exist, and fails"]);
    assert_eq!(of("SUCCESS"), [""; 0]);
}

#[test]
fn a_release_with_a_defect_causes_what_that_defect_does() {
    let image = "containerDefinitions[consul-dataplane].image";
    let of = |tag: &str| effects("consul-release-defect", image, &json!(format!("hashicorp/consul-dataplane:{tag}")));
    assert_eq!(of("1.3.0"), ["a large configuration of Envoy exceeds the size limit of its messages"]);
    assert_eq!(of("1.9.4"), ["HashiCorp has withdrawn it because of critical issues"]);
    assert_eq!(of("1.9.12"), [""; 0]);
    let message = |tag: &str| {
        let found = all_found("consul-release-defect", image, &json!(format!("hashicorp/consul-dataplane:{tag}")));
        found.into_iter().map(|finding| finding.message).collect::<Vec<_>>()
    };
    assert_eq!(message("1.9.4"), ["consul-dataplane 1.9.4 is withdrawn"]);
    assert_eq!(message("1.3.0"), ["consul-dataplane 1.3.0 has a known defect"]);
}

#[test]
fn a_pair_of_releases_is_corrected_to_lines_that_go_together() {
    let image = "containerDefinitions[consul-dataplane].image";
    let help = |tag: &str| said("consul-release-pair", image, &json!(format!("hashicorp/consul-dataplane:{tag}")));
    let said = help("1.4.2");
    let [(_, newest)] = said.as_slice() else { panic!("{said:?}") };
    assert!(newest.starts_with("use one of consul-dataplane ") && !newest.contains("update"), "{newest}");
    let older = Base::Dataplane.json().replace("consul-ecs:0.10.1", "consul-ecs:0.8.1");
    let found = findings_in("task.json", &older);
    let pair = found.iter().find(|finding| finding.rule.id == "consul-release-pair").expect("another line");
    let wanted = ", or update to the newest pair: consul-ecs 0.10 and consul-dataplane 2.0";
    assert!(pair.help.ends_with(wanted), "{}", pair.help);
}

#[test]
fn two_upstreams_with_one_port_are_both_named_and_a_free_port_is_proposed() {
    let upstreams = |second: u64| {
        json!([
            { "destinationName": "orders", "localBindPort": 1234 },
            { "destinationName": "stock", "localBindPort": second },
            { "destinationName": "mail", "localBindPort": 1235 },
        ])
    };
    let said = |second: u64| said("consul-upstream-port", "config.proxy.upstreams", &upstreams(second));
    let message = "the upstream orders also uses port 1234 of the upstream stock";
    let help = "give the upstream another port, such as 1236, and let the app call it there";
    assert_eq!(said(1234), [(message.to_owned(), help.to_owned())]);
    assert_eq!(said(1300), []);
}

#[test]
fn a_mount_of_an_undefined_volume_is_corrected_and_no_volume_is_added() {
    for container in ["consul-dataplane", "consul-ecs-health-sync", "consul-ecs-mesh-init"] {
        let path = format!("containerDefinitions[{container}].mountPoints[consul_data].sourceVolume");
        let said = said("consul-volumes", &path, &json!("consul-data"));
        let message = format!("the volume consul-data, which {container} mounts, is not defined");
        assert_eq!(said, [(message, "mount the volume consul_data".to_owned())]);
        let broken = Base::Dataplane.with([(&*path, Some("\"consul-data\""))]).unwrap();
        let after = repaired("task.json", &serde_json::to_string_pretty(&broken).unwrap()).after;
        let (after, correct): (Value, Value) =
            (serde_json::from_str(&after.text).unwrap(), serde_json::from_str(Base::Dataplane.json()).unwrap());
        assert_eq!(after, correct, "{container}");
    }
}

#[test]
fn a_volume_that_no_container_mounts_is_renamed_and_a_missing_one_is_added() {
    let help = |volumes: Value| {
        let said = said("consul-volumes", "volumes", &volumes);
        said.into_iter().map(|(_, help)| help).collect::<Vec<_>>()
    };
    let binary = json!({ "name": "consul_binary" });
    assert_eq!(help(json!([{ "name": "consul-data" }, binary])), ["rename the volume consul-data to consul_data"]);
    assert_eq!(help(json!([{ "name": "data" }, binary])), ["add { \"name\": \"consul_data\" } to volumes"]);
}

#[test]
fn a_secret_with_a_misspelt_name_is_named() {
    let name = |secret: &str| {
        let path = format!("containerDefinitions[consul-ecs-mesh-init].secrets[{secret}].name");
        said("consul-ca-certificates", &path, &json!("CONSUL_HTTPS_CA_CERT_PEM"))
    };
    let message = "consul-ecs-mesh-init has CONSUL_HTTPS_CA_CERT_PEM, which consul-ecs does not read";
    let help = "rename it to CONSUL_HTTPS_CACERT_PEM";
    assert_eq!(name("CONSUL_HTTPS_CACERT_PEM"), [(message.to_owned(), help.to_owned())]);
    let other = said(
        "consul-ca-certificates",
        "containerDefinitions[consul-ecs-mesh-init].secrets[CONSUL_HTTPS_CACERT_PEM].name",
        &json!("DATABASE_PASSWORD"),
    );
    assert!(other[0].0.starts_with("consul-ecs-mesh-init has no CONSUL_HTTPS_CACERT_PEM"), "{other:?}");
}

#[test]
fn helps_name_keys_as_the_file_spells_them() {
    let help = |rule: &str, path: &str, value: &str| {
        let broken = Base::Dataplane.with([(path, Some(value))]).unwrap();
        let found = findings_in("template.yaml", &yaml_template(&broken));
        found.into_iter().find(|finding| finding.rule.id == rule).map(|finding| finding.help)
    };
    let read_only = "containerDefinitions[consul-dataplane].mountPoints[consul_data].readOnly";
    assert_eq!(help("consul-proxy-mount-read-only", read_only, "false").as_deref(), Some("set ReadOnly to true"));
    assert_eq!(help("consul-proxy-mount-read-only", read_only, "true"), None);
    let volumes = help("consul-volumes", "volumes", "[{\"name\": \"consul_binary\"}]");
    assert_eq!(volumes.as_deref(), Some("add { Name: consul_data } to Volumes"));
}

//! What findings say: which value is wrong, and what helps.

use serde_json::{Value, json};

use crate::{example::Base, reading::findings};

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

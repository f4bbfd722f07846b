//! The checks that the agent of a client task runs on its service. Source:
//! <https://github.com/hashicorp/consul/blob/v1.15.10/agent/structs/check_type.go>

use super::prelude::*;
use document::{HOLE, Node, Span};

pub(super) static CONSUL_SERVICE_CHECKS: Rule =
    Rule::of_task(page!("consul-service-checks"), Applies::ConsulClient, check_service_checks);

/// What an agent may ask, by the field of the check.
const KINDS: [&str; 8] = ["http", "tcp", "udp", "grpc", "h2ping", "args", "scriptArgs", "dockerContainerId"];

fn check_service_checks(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let mut names: Vec<&str> = Vec::new();
    for (index, check) in consul.configuration.list("service.checks").into_iter().flatten().enumerate() {
        if check.is_unknown() {
            continue;
        }
        for (span, wrong, help) in defects(check) {
            findings.add(Draft::new(span, format!("service.checks[{index}] {wrong}"), help));
        }
        let Some((node, id)) = check.get("checkId").and_then(|node| Some((node, node.text()?))) else { continue };
        if names.contains(&id) && !id.is_empty() {
            let wrong = format!("service.checks[{index}] has the ID {id} of another check");
            findings.add(Draft::new(node.place.span, wrong, "give each check an ID of its own"));
        }
        names.push(id);
    }
}

type Defect = (Span, String, &'static str);

fn defects(check: &Node) -> Vec<Defect> {
    let set = |key: &str| check.get(key).filter(|node| node.text() != Some("") && !is_empty_list(node));
    let kinds: Vec<&str> = KINDS.into_iter().filter(|key| set(key).is_some()).collect();
    let whole = check.place.span;
    let is_alias = set("aliasService").is_some() || set("aliasNode").is_some();
    let mut defects = Vec::new();
    match (kinds.as_slice(), set("ttl")) {
        // Of a check with other fields alone, the schema says more.
        ([], None) if !is_alias && ["name", "checkId", "interval", "timeout"].iter().any(|key| set(key).is_some()) => {
            let help = "add http, tcp or grpc with an interval, or a ttl";
            defects.push((whole, "asks nothing: it has no kind".to_owned(), help));
        }
        ([first, second, ..], _) if !["args", "scriptArgs", "dockerContainerId"].contains(second) => {
            let wrong = format!("has {first} and {second}, and Consul uses one of them");
            defects.push((whole, wrong, "write a check for each"));
        }
        ([kind, ..], None) if set("interval").is_none() => {
            let wrong = format!("has {kind}, but no interval");
            defects.push((whole, wrong, "add an interval: 10s"));
        }
        ([kind, ..], Some(ttl)) => {
            let wrong = format!("has {kind} and a ttl: Consul either asks or waits");
            defects.push((ttl.place.span, wrong, "remove ttl, or what it asks"));
        }
        ([], Some(_)) if let Some(interval) = set("interval") => {
            let wrong = "has a ttl and an interval: Consul either asks or waits".to_owned();
            defects.push((interval.place.span, wrong, "remove the interval"));
        }
        _ => {}
    }
    defects.extend(KINDS.into_iter().filter_map(|key| address(key, set(key)?)));
    defects
}

fn is_empty_list(node: &Node) -> bool {
    matches!(&node.value, document::Value::List(items) if items.is_empty())
}

/// An address in another form than its kind has.
fn address(kind: &str, node: &Node) -> Option<Defect> {
    let text = node.text().filter(|text| !text.contains([HOLE, '$', '<', '{']))?;
    let is_url = text.contains("://");
    let has_port = text.split('/').next().is_some_and(|host| host.contains(':'));
    let (is_wrong, help) = match kind {
        "http" => {
            (!text.starts_with("http://") && !text.starts_with("https://"), "write a URL: http://localhost:8080/health")
        }
        "tcp" | "udp" | "grpc" | "h2ping" => (is_url || !has_port, "write the host and the port: localhost:8080"),
        _ => return None,
    };
    is_wrong.then(|| (node.place.span, format!("has {text:?} as {kind}"), help))
}

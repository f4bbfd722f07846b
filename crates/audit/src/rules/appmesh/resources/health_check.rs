use std::ops::RangeInclusive;

use crate::{
    app_mesh::{ResourceKind, Resources},
    document::{Node, Span, Value},
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

/// The ranges that App Mesh accepts.
const RANGES: [(&str, RangeInclusive<i64>); 4] = [
    ("healthyThreshold", 2..=10),
    ("unhealthyThreshold", 2..=10),
    ("intervalMillis", 5000..=300_000),
    ("timeoutMillis", 2000..=60_000),
];

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-health-check",
    summary: "App Mesh accepts the health check of a listener",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "App Mesh refuses the virtual node, or the check checks something else",
    explanation: "\
A health check of a virtual node has thresholds of 2 to 10, an interval of 5000 to 300000 milliseconds and a timeout \
of 2000 to 60000 milliseconds, shorter than the interval. A check over HTTP or HTTP/2 needs a path; one over TCP or \
gRPC has none.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/APIReference/API_HealthCheckPolicy.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_nodes.html",
    ],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[],
        at: "[virtualNode orders].virtualNode.spec.listeners[0].healthCheck.path",
        fails: None,
        repaired: Some(r#""/health""#),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for kind in [ResourceKind::VirtualNode, ResourceKind::VirtualGateway] {
        for resource in resources.of(kind) {
            let listeners = resource.spec("listeners").map(Node::items).unwrap_or_default();
            for listener in listeners {
                let Some(check) = listener.get("healthCheck") else { continue };
                for (span, wrong, help) in defects(check).into_iter().chain(other_port(listener, check)) {
                    let message = format!("the health check of {} {wrong}", resource.label());
                    findings(resource, Draft::new(span, message, help));
                }
            }
        }
    }
}

type Defect = (Span, String, String);

fn defects(check: &Node) -> Vec<Defect> {
    let mut out: Vec<Defect> = RANGES.iter().filter_map(|(key, range)| out_of_range(check, key, range)).collect();
    // If a value is out of its range, nothing else is reported about it.
    if out.is_empty() {
        out.extend(late(check));
    }
    out.extend(path(check));
    out
}

/// The health check must use the port of the listener.
fn other_port(listener: &Node, check: &Node) -> Option<Defect> {
    let node = check.get("port")?;
    let (checked, port) = (node.number()?, listener.get("portMapping")?.get("port")?.number()?);
    let wrong = format!("connects to port {checked}, but the listener is on {port}");
    (checked != port).then(|| (node.place.span, wrong, "give both the same port".to_owned()))
}

fn out_of_range(check: &Node, key: &str, range: &RangeInclusive<i64>) -> Option<Defect> {
    let node = check.get(key)?;
    let value = node.number().filter(|value| !range.contains(value))?;
    let help = format!("choose a value from {} to {}", range.start(), range.end());
    Some((node.place.span, format!("has the {key} {value}"), help))
}

fn late(check: &Node) -> Option<Defect> {
    let node = check.get("timeoutMillis")?;
    let (timeout, interval) = (node.number()?, check.get("intervalMillis")?.number()?);
    let wrong = format!("may take {timeout} ms, but runs every {interval} ms");
    (timeout >= interval).then(|| (node.place.span, wrong, "make the timeout shorter than the interval".to_owned()))
}

fn path(check: &Node) -> Option<Defect> {
    let protocol = check.get("protocol")?;
    let protocol_name = protocol.text()?;
    match (check.get("path"), matches!(protocol_name, "http" | "http2")) {
        (None, true) => Some((
            protocol.place.span,
            format!("is over {protocol_name} and has no path"),
            "add a path, such as /health".to_owned(),
        )),
        (Some(path), false) if !matches!(path.value, Value::Unknown) => {
            let wrong = format!("is over {protocol_name} and has a path, which is ignored");
            Some((path.place.span, wrong, "remove the path, or check over http".to_owned()))
        }
        _ => None,
    }
}

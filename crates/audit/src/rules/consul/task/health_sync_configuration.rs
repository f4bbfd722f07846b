use crate::{
    document::{HOLE, Node, Span, Value},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Configuration, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-health-sync-configuration",
    summary: "health-sync has the same configuration as mesh-init",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "health-sync looks for checks under names that mesh-init never registered, and the registered ones stay critical",
    explanation: "\
Both containers read `CONSUL_ECS_CONFIG_JSON`, and derive from it the IDs of the service and its checks, the addresses \
of the Consul servers, and the login. The IDs are equal only if the configurations are. Formatting does not matter, \
nor does the log level.",
    sources: &["https://developer.hashicorp.com/consul/docs/ecs/reference/configuration-reference"],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "config@consul-ecs-health-sync.service.name",
        fails: Some(r#""shop""#),
        repaired: Some(r#""web""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let (Some(health_sync), Some(_)) = (consul.health_sync, consul.mesh_init) else { return };
    let own = Configuration::of(subject.definition, health_sync);
    let (Some(wanted), Some(found)) = (consul.configuration.json(), own.json()) else { return };
    // Another rule reports a missing or invalid configuration.
    let are_maps = [wanted, found].iter().all(|node| matches!(node.value, Value::Map(_)));
    let Some(difference) = difference(wanted, found, "").filter(|_| are_maps) else { return };
    let message =
        format!("the configuration of {} differs from mesh-init's at {}", health_sync.label(), difference.path);
    let help = "give both the same value of CONSUL_ECS_CONFIG_JSON";
    let draft = Draft::new(difference.span, message, help).of(health_sync);
    findings.add(draft.note(wanted.place.span, "mesh-init's configuration"));
}

struct Difference {
    path: String,
    span: Span,
}

/// The first path at which the two certainly differ. `path` is the path so far, and empty at the top.
fn difference(wanted: &Node, found: &Node, path: &str) -> Option<Difference> {
    let here = Some(Difference { path: path.to_owned(), span: found.place.span });
    match (&wanted.value, &found.value) {
        (Value::Unknown, _) | (_, Value::Unknown) | (Value::Null, Value::Null) => None,
        (Value::Map(_), Value::Map(_)) => map_difference(wanted, found, path),
        (Value::List(left), Value::List(right)) if left.len() == right.len() => {
            let mut pairs = left.iter().zip(right).enumerate();
            pairs.find_map(|(index, (wanted, found))| difference(wanted, found, &format!("{path}[{index}]")))
        }
        (Value::Text(left), Value::Text(right)) => {
            let is_certain = !left.contains(HOLE) && !right.contains(HOLE);
            here.filter(|_| is_certain && left != right)
        }
        (Value::Number(left), Value::Number(right)) => here.filter(|_| left != right),
        (Value::Bool(left), Value::Bool(right)) => here.filter(|_| left != right),
        _ => here,
    }
}

fn map_difference(wanted: &Node, found: &Node, path: &str) -> Option<Difference> {
    let mut keys = wanted.entries().iter().chain(found.entries()).map(|entry| entry.key.as_str());
    keys.by_ref().filter(|key| *key != "logLevel").find_map(|key| {
        let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        match (wanted.get(key), found.get(key)) {
            (Some(wanted), Some(found)) => difference(wanted, found, &path),
            (None, None) => None,
            (None, Some(more)) => Some(Difference { path, span: more.place.span }),
            (Some(_), None) => Some(Difference { path, span: found.place.span }),
        }
    })
}

use serde_json::json;

use crate::{
    definition::{Container, Maybe, ProxyConfiguration, Tag, TaskDefinition},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{AppMeshTask, Subject, is_xray_daemon},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-ignored-user",
    summary: "Envoy runs as the user whose traffic is not redirected",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: true,
    effect: "Envoy's own traffic is redirected to Envoy again, and no connection leaves the task",
    explanation: "\
Envoy's own traffic must not be redirected. `IgnoredUID` is the user whose traffic is excluded, and has to be the \
number in `user` of the Envoy container; the examples use 1337. `IgnoredGID` does the same with a group.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/getting-started-ecs.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ProxyConfiguration.html",
    ],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "proxyConfiguration.properties[IgnoredUID].value",
        fails: Some(r#""1338""#),
        repaired: Some(r#""1337""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some((proxy, envoy)) = subject.app_mesh.as_ref().and_then(AppMeshTask::proxied) else { return };
    match (value(proxy, "IgnoredUID"), value(proxy, "IgnoredGID")) {
        (Maybe::Known(uid), _) => by_user(subject.definition, envoy, uid, findings),
        (Maybe::Absent, Maybe::Known(gid)) => by_group(envoy, gid, findings),
        (Maybe::Absent, Maybe::Absent) => {
            let user = envoy.user.text().filter(|user| can_be_let_out(user));
            let fix =
                user.and_then(|user| Fix::append(&proxy.properties, json!({ "name": "IgnoredUID", "value": user })));
            let message = format!("neither IgnoredUID nor IgnoredGID lets {} out", envoy.label());
            let help = "add the property IgnoredUID with the user that the Envoy container runs as";
            findings.add(Draft::new(proxy.properties.place.span, message, help).fix(fix));
        }
        (Maybe::Unknown, _) | (_, Maybe::Unknown) => {}
    }
}

/// A property with a value.
fn value<'d>(proxy: &'d ProxyConfiguration, name: &str) -> Maybe<&'d Tag> {
    match proxy.property(name) {
        Maybe::Known(property) if property.value.text().is_some_and(|text| text.trim().is_empty()) => Maybe::Absent,
        found => found,
    }
}

/// Whether all traffic of this user or group may bypass Envoy. With root, that would include most apps.
fn can_be_let_out(id: &str) -> bool {
    id.parse::<u32>().is_ok_and(|id| id != 0)
}

fn by_user(definition: &TaskDefinition, envoy: &Container, property: &Tag, findings: &mut Findings) {
    let Some(ignored) = property.value.text() else { return };
    let place = &envoy.user.place;
    let label = envoy.label();
    let (span, message, fix) = match (envoy.user.text(), envoy.user.is_absent()) {
        (None, true) => {
            let message = format!("{label} sets no user, but the user whose traffic is not redirected is {ignored}");
            (place.span, message, Fix::set(place, ignored).filter(|_| can_be_let_out(ignored)))
        }
        (Some(user), _) => {
            let (uid, group) = user.split_at(user.find(':').unwrap_or(user.len()));
            if uid == ignored || uid.parse::<u32>().is_err() {
                return;
            }
            let message = format!("{label} runs as the user {uid}, but IgnoredUID is {ignored}");
            // If the X-Ray daemon runs as the same user as Envoy, the property is wrong.
            let is_shared = |container: &Container| is_xray_daemon(container) && container.user.text() == Some(uid);
            let fix = if can_be_let_out(uid) && definition.containers.items.iter().any(is_shared) {
                Fix::set(&property.value.place, uid)
            } else {
                Fix::set(place, format!("{ignored}{group}")).filter(|_| can_be_let_out(ignored))
            };
            (property.value.span(), message, fix)
        }
        (None, false) => return,
    };
    let help = "set user of the Envoy container and IgnoredUID to the same number";
    findings.add(Draft::new(span, message, help).of(envoy).note(envoy.span(), "the Envoy container").fix(fix));
}

fn by_group(envoy: &Container, property: &Tag, findings: &mut Findings) {
    // Without a group in the definition, the image determines it.
    let group = envoy.user.text().and_then(|user| user.split(':').nth(1));
    if let (Some(ignored), Some(group)) = (property.value.text(), group)
        && ignored != group
        && group.parse::<u32>().is_ok()
    {
        let message = format!("{} runs as the group {group}, but IgnoredGID is {ignored}", envoy.label());
        let fix = Fix::set(&property.value.place, group).filter(|_| can_be_let_out(group));
        let help = "set the group of the Envoy container and IgnoredGID to the same number";
        findings.add(Draft::new(property.value.span(), message, help).of(envoy).fix(fix));
    }
}

//! The grammar of the policies of a task's roles. Source:
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html>

use std::collections::BTreeSet;

use super::prelude::*;
use audit_read::definition::PolicyDocument;
use document::{HOLE, Node, Span};

pub(super) static ECS_ROLE_POLICY: Rule =
    Rule::of_task(page!("ecs-role-policy"), Applies::EveryTask, check_role_policy);

const KEYS: [&str; 9] =
    ["Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource", "NotResource", "Condition"];
const VERSIONS: [&str; 2] = ["2012-10-17", "2008-10-17"];
const EFFECTS: [&str; 2] = ["Allow", "Deny"];

fn check_role_policy(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    let mut seen: BTreeSet<(&str, Span)> = BTreeSet::new();
    for role in definition.declared_role.iter().chain(&definition.declared_execution_role) {
        for document in &role.documents {
            for (span, message, help) in defects(document) {
                if seen.insert((&document.file.name, span)) {
                    findings.add(Draft::new(span, message, help).in_file(&document.file));
                }
            }
        }
    }
}

fn defects(document: &PolicyDocument) -> Vec<(Span, String, String)> {
    let mut defects = Vec::new();
    let mut check = |node: Option<&Node>, what: &str, allowed: [&str; 2]| {
        let Some((node, text)) = node.and_then(|node| Some((node, node.text()?))) else { return };
        if !allowed.contains(&text) && !text.contains(HOLE) {
            let message = format!("the {what} of a policy is {}", Text::known(text).shown());
            let [first, second] = allowed;
            defects.push((node.place.span, message, format!("write {first} or {second}")));
        }
    };
    check(document.node.get("Version"), "version", VERSIONS);
    if let Some(path) = document.managed_elsewhere {
        let message = format!("there is no managed policy of this ARN: the policy is {path}");
        return vec![(document.node.place.span, message, format!("write arn:aws:iam::aws:policy/{path}"))];
    }
    let statements = document.statements().unwrap_or_default();
    for statement in statements {
        check(statement.get("Effect").or_else(|| statement.get("effect")), "effect", EFFECTS);
    }
    // Terraform knows the arguments of its own data source.
    for entry in statements.iter().flat_map(Node::entries).filter(|entry| !is_terraform_s(&entry.key)) {
        if !KEYS.contains(&entry.key.as_str()) && !entry.key.contains(HOLE) {
            let meant = KEYS.iter().find(|key| key.eq_ignore_ascii_case(&entry.key)).copied();
            let meant = meant.or_else(|| crate::spelling::nearest(&entry.key, KEYS));
            let help = meant.map_or_else(|| "remove it".to_owned(), |meant| format!("write {meant}"));
            defects.push((entry.key_span, format!("a statement of a policy has the unknown key {}", entry.key), help));
        }
    }
    defects
}

/// Whether a key may be an argument or block of `aws_iam_policy_document`.
fn is_terraform_s(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_lowercase())
}

//! With `Mode=observe`, the roles grant no call that changes anything outside of the stack, except events.

use std::collections::BTreeSet;

use audit_read::document::{Node, Value};

use super::{granted, granted_by, set, template};

/// The template's conditions that no deployment with `Mode=observe` meets.
fn unmet_in_observe(template: &Node) -> BTreeSet<&str> {
    let conditions = template.get("Conditions").expect("conditions").entries();
    let acts = |it: &Node| it.get("Condition").and_then(Node::text) == Some("Acts");
    let is_mode = |it: &Node| it.items().first().is_some_and(|it| it.get("Ref").and_then(Node::text) == Some("Mode"));
    let unmet = conditions.iter().filter(|condition| {
        condition.node.get("Fn::Equals").is_some_and(is_mode)
            || condition.node.get("Fn::And").is_some_and(|all| all.items().iter().any(acts))
    });
    unmet.map(|condition| condition.key.as_str()).collect()
}

/// The text of the template for `Mode=observe`: a choice that depends on the mode is what is chosen then.
fn template_in_observe() -> Node {
    fn chosen(node: &mut Node, unmet: &BTreeSet<String>) {
        let choice = node.get("Fn::If").map(|choice| choice.items().to_vec());
        if let Some([condition, _, otherwise]) = choice.as_deref()
            && condition.text().is_some_and(|name| unmet.contains(name))
        {
            *node = otherwise.clone();
        }
        match &mut node.value {
            Value::List(items) => items.iter_mut().for_each(|item| chosen(item, unmet)),
            Value::Map(entries) => entries.iter_mut().for_each(|entry| chosen(&mut entry.node, unmet)),
            _ => {}
        }
    }
    let mut template = template();
    let unmet = unmet_in_observe(&template).into_iter().map(str::to_owned).collect();
    chosen(&mut template, &unmet);
    template
}

#[test]
fn with_mode_observe_no_role_of_the_controller_may_write() {
    let of_both = set(&[
        "kms:GenerateDataKey",
        "secretsmanager:CreateSecret",
        "secretsmanager:PutSecretValue",
        "secretsmanager:RestoreSecret",
        "secretsmanager:TagResource",
    ]);
    let of_reconcile = &of_both | &set(&["secretsmanager:DeleteSecret"]);
    for (role, writes) in [("TaskEventsRole", of_both), ("ReconcileRole", of_reconcile), ("AuditRole", set(&[]))] {
        let observing = granted_by(&template_in_observe(), role);
        assert_eq!(granted(role).difference(&observing).cloned().collect::<BTreeSet<_>>(), writes, "{role}");
    }
}

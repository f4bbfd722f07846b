//! Texts of CloudFormation templates with a variable that a lost `Fn::Sub` would have replaced.

use std::{collections::BTreeSet, sync::Arc};

use super::prelude::*;
use audit_read::definition::BareVariable;
use document::{Node, SourceFile, Value, trees};

pub(super) static ECS_SUB_MISSING: Rule =
    Rule::of_task(page!("ecs-sub-missing"), Applies::EveryTask, check_sub_missing);

fn check_sub_missing(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    let of_roles = definition.declared_role.iter().chain(&definition.declared_execution_role);
    let of_roles = of_roles.flat_map(|role| role.bare_variables.iter().map(|bare| (&role.file, bare)));
    let own = definition.bare_variables.iter().map(|bare| (&definition.file, bare));
    let mut declared = None;
    for (file, bare) in own.chain(of_roles) {
        let names = declared.get_or_insert_with(|| declared_names(&definition.file));
        findings.extend(draft(file, bare, names));
    }
}

fn draft(file: &Arc<SourceFile>, bare: &BareVariable, declared: &BTreeSet<String>) -> Option<Draft> {
    // `Fn::Sub` makes `${Name}` of `${!Name}`. A text of a parameter's default is elsewhere in the file.
    let source = file.text.get(bare.span.start..bare.span.end).filter(|source| !source.contains("${!"))?;
    let is_lost = |variable: &&String| {
        let name = variable.split('.').next().unwrap_or_default();
        (declared.contains(name) || variable.starts_with("AWS::")) && source.contains(&format!("${{{variable}}}"))
    };
    let variable = bare.variables.iter().find(is_lost)?;
    let message = format!("the text ${{{variable}}} stays as it is: CloudFormation replaces it only under Fn::Sub");
    let help = if file.text.trim_start().starts_with('{') {
        "put the value under Fn::Sub: { \"Fn::Sub\": \"…\" }"
    } else {
        "write !Sub before the value"
    };
    Some(Draft::new(bare.span, message, help).in_file(file))
}

/// The parameters and resources that a template declares; none if something else than `Fn::Sub` may replace variables: a
/// macro, `AWS::Include` or `Fn::ForEach`.
fn declared_names(file: &SourceFile) -> BTreeSet<String> {
    let trees = trees(file).unwrap_or_default();
    if file.text.contains("Fn::ForEach") || file.text.contains("Fn::Transform") || trees.iter().any(has_a_macro) {
        return BTreeSet::new();
    }
    let sections = trees.iter().flat_map(|tree| ["Parameters", "Resources"].map(|section| tree.entries_of(section)));
    sections.flatten().map(|entry| entry.key.clone()).collect()
}

/// Whether a template has another transform than those of AWS, which replace no variables.
fn has_a_macro(template: &Node) -> bool {
    let is_of_aws = |node: &Node| node.text().is_some_and(|name| name.starts_with("AWS::") && name != "AWS::Include");
    template.get("Transform").is_some_and(|node| match &node.value {
        Value::List(items) => !items.iter().all(is_of_aws),
        _ => !is_of_aws(node),
    })
}

//! Texts of CloudFormation templates with a variable that a lost `Fn::Sub` would have replaced.

use std::sync::Arc;

use super::prelude::*;
use audit_read::definition::BareVariable;
use document::SourceFile;

pub(super) static ECS_SUB_MISSING: Rule =
    Rule::of_task(page!("ecs-sub-missing"), Applies::EveryTask, check_sub_missing);

fn check_sub_missing(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    let of_roles = definition.declared_role.iter().chain(&definition.declared_execution_role);
    let of_roles = of_roles.flat_map(|role| role.bare_variables.iter().map(|bare| (&role.file, bare)));
    let own = definition.bare_variables.iter().map(|bare| (&definition.file, bare));
    findings.extend(own.chain(of_roles).filter_map(|(file, bare)| draft(file, bare)));
}

fn draft(file: &Arc<SourceFile>, bare: &BareVariable) -> Option<Draft> {
    let variable = bare.variables.first()?;
    let message = format!("the text ${{{variable}}} stays as it is: CloudFormation replaces it only under Fn::Sub");
    let help = if file.text.trim_start().starts_with('{') {
        "put the value under Fn::Sub: { \"Fn::Sub\": \"…\" }"
    } else {
        "write !Sub before the value"
    };
    Some(Draft::new(bare.span, message, help).in_file(file))
}

//! Which task definition a service runs, by the references in its argument.

use std::collections::BTreeSet;

use hcl_edit::{
    expr::Traversal,
    visit::{Visit, visit_traversal},
};

use super::{
    module::Module,
    syntax::{Attribute, Expression},
    traversal::names_of,
};

/// What a reference leads to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    /// A resource of this module.
    Resource(String),
    /// What a called module declares.
    Module(String),
}

/// The task definition that an argument refers to, if it is certainly one.
pub(super) fn target(module: &Module<'_>, attribute: &Attribute) -> Option<Target> {
    let mut found = References::default();
    found.read(&attribute.expression);
    let mut seen = BTreeSet::new();
    let mut targets = BTreeSet::new();
    while let Some(names) = found.names.pop() {
        if !seen.insert(names.clone()) {
            continue;
        }
        match names.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["aws_ecs_task_definition", name, ..] => drop(targets.insert(Target::Resource((*name).to_owned()))),
            ["module", name, ..] => drop(targets.insert(Target::Module((*name).to_owned()))),
            ["local", name, ..] => {
                if let Some(local) = module.directory.locals.get(*name) {
                    found.read(&local.expression);
                }
            }
            _ => {}
        }
    }
    let mut targets = targets.into_iter();
    targets.next().filter(|_| targets.next().is_none())
}

#[derive(Default)]
struct References {
    names: Vec<Vec<String>>,
}

impl References {
    fn read(&mut self, expression: &Expression) {
        match expression {
            Expression::Native(native) => self.visit_expr(native),
            Expression::Json(json) => {
                if let Some(Ok(template)) = json.text().map(hcl_edit::parser::parse_template) {
                    self.visit_template(&template);
                }
            }
        }
    }
}

impl Visit for References {
    fn visit_traversal(&mut self, traversal: &Traversal) {
        self.names.push(names_of(traversal));
        visit_traversal(self, traversal);
    }
}

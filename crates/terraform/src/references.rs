//! What an expression refers to, without evaluating it.

use hcl_edit::{
    expr::{Expression as Native, Traversal},
    parser::parse_template,
    visit::{Visit, visit_traversal},
};

use crate::{syntax::Expression, traversal::attribute_name};

/// The names that each reference of an expression begins with, such as `aws_ecs_task_definition` and `web`.
pub fn references(expression: &Expression) -> Vec<Vec<String>> {
    let mut found = References::default();
    match expression {
        Expression::Native(native) => found.visit_expr(native),
        Expression::Json(json) => {
            if let Some(Ok(template)) = json.text().map(parse_template) {
                found.visit_template(&template);
            }
        }
    }
    found.names
}

#[derive(Default)]
struct References {
    names: Vec<Vec<String>>,
}

impl Visit for References {
    fn visit_traversal(&mut self, traversal: &Traversal) {
        self.names.push(names_of(traversal));
        visit_traversal(self, traversal);
    }
}

pub(crate) fn names_of(traversal: &Traversal) -> Vec<String> {
    let Native::Variable(root) = &traversal.expr else { return Vec::new() };
    let rest = traversal.operators.iter().map_while(|operator| attribute_name(operator.value()));
    std::iter::once(root.as_str()).chain(rest).map(str::to_owned).collect()
}

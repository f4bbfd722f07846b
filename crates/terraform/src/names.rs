//! What the names in the expressions of a module stand for. Source:
//! <https://developer.hashicorp.com/terraform/language/expressions/references>

use std::{rc::Rc, sync::Arc};

use document::{HOLE, Node, Route, SourceFile, Span};
use hcl_edit::expr::{Expression as Native, TraversalOperator};

use crate::{
    budget::Budget,
    call::of_template,
    causes::Causes,
    expression::{evaluate, native},
    module::Module,
    outputs::of_call,
    scope::{Frame, Provided, Scope},
    syntax::Block,
    traversal::{attribute_name, attribute_of_resource},
    tree::Refusal,
    values::{map, text, unknown},
    variables::{local, variable},
};

impl Scope for Module<'_> {
    fn evaluate(&self, expression: &Native, route: Option<&Route>, frame: Frame<'_>) -> Option<Node> {
        native(self, expression, route, frame)
    }

    fn reference(&self, root: &str, operators: &[&TraversalOperator], span: Span, frame: Frame<'_>) -> Option<Node> {
        let (first, rest) = operators.split_first()?;
        match (root, attribute_name(first)) {
            ("var", Some(name)) => variable(self, name, rest, frame, span),
            ("local", Some(name)) => local(self, name, rest, frame, span),
            ("path", Some(name)) => Some(path(self, name, span)),
            ("module", Some(_)) => of_call(self, operators, span, frame),
            ("data", Some("template_file")) => match template_file(self, operators, frame) {
                Some((template, variables)) => rendered(self, &template, variables, span, frame),
                None => Some(attribute_of_resource(self, root, operators, span, frame)),
            },
            ("each" | "count", _) => Some(self.unknown(frame, span, &format!("{root} is not known"))),
            _ if let Some(name) = name_of_resource(self, root, operators, frame) => Some(name.placed(span)),
            ("aws_iam_role", _) if let Some(arn) = arn_of_role(self, operators, span, frame) => Some(arn),
            _ => match missing_resource(self, root, operators) {
                Some(name) => Some(self.undeclared(frame, span, &name)),
                None => Some(attribute_of_resource(self, root, operators, span, frame)),
            },
        }
    }

    fn undeclared(&self, frame: Frame<'_>, span: Span, name: &str) -> Node {
        self.undeclared_in(&self.directory, frame, span, name)
    }

    fn read_file(&self, path: &str) -> Result<String, Refusal> {
        self.evaluation.directories.read(&self.location.root, path)
    }

    fn file(&self, number: usize) -> Arc<SourceFile> {
        self.directory.file(number)
    }

    fn budget(&self) -> &Budget {
        &self.evaluation.budget
    }

    fn causes(&self) -> &Causes {
        &self.evaluation.causes
    }

    fn provided(&self) -> Option<Provided> {
        self.provided
    }

    fn is_called(&self) -> bool {
        self.inputs.is_some()
    }
}

/// The resource or data source that a reference names, if the module does not declare it. The types of resources have a provider's
/// name before an underscore.
fn missing_resource(module: &Module<'_>, root: &str, operators: &[&TraversalOperator]) -> Option<String> {
    let directory = &module.directory;
    let mut names = operators.iter().map(|operator| attribute_name(operator));
    let mut next = || names.next().flatten();
    let (blocks, kind, name) = match root {
        "data" => (&directory.data, next()?, next()?),
        _ if root.contains('_') => (&directory.resources, root, next()?),
        _ => return None,
    };
    let is_declared = blocks.iter().any(|block| block.label(0) == Some(kind) && block.label(1) == Some(name));
    if root == "data" {
        return (!is_declared).then(|| format!("data.{kind}.{name}"));
    }
    let misspells = module.evaluation.directories.interest.misspells;
    let attribute = next().filter(|attribute| misspells(kind, attribute));
    match attribute {
        _ if !is_declared => Some(format!("{kind}.{name}")),
        Some(attribute) => Some(format!("the attribute {attribute} of {kind}.{name}")),
        None => None,
    }
}

fn path(module: &Module<'_>, name: &str, span: Span) -> Node {
    match name {
        "module" if !module.location.callers.is_empty() => text(module.location.relative.to_string_lossy(), span),
        "module" | "root" => text(".", span),
        _ => unknown(span),
    }
}

/// The template and the variables of `data.template_file.NAME.rendered`. `None` if it is another attribute, has several
/// instances, or has no template that Terraform accepts. Source:
/// <https://registry.terraform.io/providers/hashicorp/template/latest/docs/data-sources/file>
fn template_file(
    module: &Module<'_>,
    operators: &[&TraversalOperator],
    frame: Frame<'_>,
) -> Option<(Node, Option<Node>)> {
    let [_, name, rendered] = operators else { return None };
    let directory = Rc::clone(&module.directory);
    let is_it = |block: &&Block| block.label(0) == Some("template_file") && block.label(1) == attribute_name(name);
    let body = &directory.data.iter().find(is_it)?.body;
    let has_instances = ["count", "for_each"].iter().any(|name| body.attribute(name).is_some());
    if has_instances || attribute_name(rendered) != Some("rendered") {
        return None;
    }
    let value = |name: &str| {
        let attribute = body.attribute(name)?;
        evaluate(module, &attribute.expression, Frame { depth: frame.depth + 1, ..Frame::of(attribute.file) })
    };
    Some((value("template")?, value("vars")))
}

/// The ARN of a role of this module. A path or name that its block does not say is unknown.
fn arn_of_role(module: &Module<'_>, operators: &[&TraversalOperator], span: Span, frame: Frame<'_>) -> Option<Node> {
    let [name, attribute] = operators else { return None };
    let name = attribute_name(name).filter(|_| attribute_name(attribute) == Some("arn"))?;
    let directory = Rc::clone(&module.directory);
    let is_it = |block: &&Block| block.label(0) == Some("aws_iam_role") && block.label(1) == Some(name);
    let body = &directory.resources.iter().find(is_it)?.body;
    if ["count", "for_each"].iter().any(|name| body.attribute(name).is_some()) {
        return None;
    }
    let part = |name: &str| {
        let argument = body.attribute(name)?;
        let frame = Frame { depth: frame.depth + 1, ..Frame::of(argument.file) };
        Some(evaluate(module, &argument.expression, frame)?.as_text().unwrap_or_else(|| HOLE.to_string()))
    };
    let path = part("path").unwrap_or_else(|| "/".to_owned());
    let name = part("name")?;
    Some(text(format!("arn:{HOLE}:iam::{HOLE}:role{path}{name}"), span))
}

/// The attribute `name` of a resource of this module that has one instance, if its block says it.
fn name_of_resource(
    module: &Module<'_>,
    kind: &str,
    operators: &[&TraversalOperator],
    frame: Frame<'_>,
) -> Option<Node> {
    let [name, attribute] = operators else { return None };
    let name =
        attribute_name(name).filter(|_| kind.starts_with("aws_") && attribute_name(attribute) == Some("name"))?;
    let directory = Rc::clone(&module.directory);
    let is_it = |block: &&Block| block.label(0) == Some(kind) && block.label(1) == Some(name);
    let body = &directory.resources.iter().find(is_it)?.body;
    let has_instances = ["count", "for_each"].iter().any(|name| body.attribute(name).is_some());
    let argument = body.attribute("name").filter(|_| !has_instances)?;
    let frame = Frame { depth: frame.depth + 1, ..Frame::of(argument.file) };
    evaluate(module, &argument.expression, frame).filter(|value| value.text().is_some())
}

/// The text of a template with its variables.
fn rendered(
    module: &Module<'_>,
    template: &Node,
    variables: Option<Node>,
    span: Span,
    frame: Frame<'_>,
) -> Option<Node> {
    let variables = variables.unwrap_or_else(|| map(Vec::new(), span));
    let Some(template) = template.text() else { return Some(unknown(span)) };
    of_template(module, template, &variables, false, span, frame)
}

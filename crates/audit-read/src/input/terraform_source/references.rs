//! References: `var.x`, `local.x["key"].list[0]`, `module.web.arn`, `aws_iam_role.task.arn`. Sources:
//! <https://developer.hashicorp.com/terraform/language/expressions/references>,
//! <https://developer.hashicorp.com/terraform/language/values>

use std::rc::Rc;

use hcl_edit::expr::{Expression as Native, FuncCall, Object, ObjectKey, Traversal, TraversalOperator};

use super::{
    eval::Frame,
    module::{Called, Callee, Input, Known, Module, callee},
    syntax::{Attribute, Block, Expression},
    values::{
        OPEN_KEY, as_bool, as_type, cost, depth, entry, indexed, item, list, map, map_of_one_type, member, node,
        of_one_type, set, text, unknown,
    },
};
use document::{Entry, HOLE, Node, Place, Span, Value};

impl Module<'_> {
    pub(super) fn traversal(&self, traversal: &Traversal, span: Span, frame: Frame<'_>) -> Option<Node> {
        let operators: Vec<&TraversalOperator> = traversal.operators.iter().map(hcl_edit::Decorated::value).collect();
        let Native::Variable(root) = &traversal.expr else {
            let value = self.native(&traversal.expr, None, frame)?;
            return self.steps(value, &operators, span, frame);
        };
        let root = root.as_str();
        if let Some(bound) = frame.bound(root) {
            if !self.world.pay(frame.depth, cost(bound)) {
                return Some(unknown(span));
            }
            return self.steps(bound.clone(), &operators, span, frame);
        }
        let (first, rest) = operators.split_first()?;
        let name = attribute_name(first);
        match (root, name) {
            ("var", Some(name)) => self.variable(name, rest, frame, span),
            ("local", Some(name)) => self.local(name, rest, frame, span),
            ("path", Some(name)) => Some(self.path(name, span)),
            ("module", Some(_)) => self.of_call(&operators, span, frame),
            ("data", Some("template_file")) => match self.template_file(&operators, span, frame) {
                Some(rendered) => rendered,
                None => Some(self.attribute_of_resource(root, &operators, span, frame)),
            },
            ("each" | "count", _) => Some(self.unknown(frame, span, format!("{root} is not known"))),
            _ => Some(self.attribute_of_resource(root, &operators, span, frame)),
        }
    }

    fn path(&self, name: &str, span: Span) -> Node {
        match name {
            "module" if !self.location.callers.is_empty() => text(self.location.relative.to_string_lossy(), span),
            "module" | "root" => text(".", span),
            _ => unknown(span),
        }
    }

    /// An attribute of a resource, of a data source or of another module. An ARN is at least known to be one.
    pub(super) fn attribute_of_resource(
        &self,
        root: &str,
        operators: &[&TraversalOperator],
        span: Span,
        frame: Frame<'_>,
    ) -> Node {
        let names = std::iter::once(root).chain(operators.iter().map_while(|operator| attribute_name(operator)));
        let reference = names.collect::<Vec<_>>().join(".");
        let unknown = self.unknown(frame, span, format!("{reference} is known only to Terraform"));
        let is_arn = operators.last().and_then(|operator| attribute_name(operator)) == Some("arn");
        if is_arn && (root.starts_with("aws_") || root == "data") {
            return text(format!("arn:{HOLE}"), span);
        }
        unknown
    }

    /// `data.template_file.NAME.rendered`. `None` if it is another attribute, or has several instances. Source:
    /// <https://registry.terraform.io/providers/hashicorp/template/latest/docs/data-sources/file>
    #[expect(clippy::option_option, reason = "another attribute is not the same as invalid")]
    fn template_file(&self, operators: &[&TraversalOperator], span: Span, frame: Frame<'_>) -> Option<Option<Node>> {
        let [_, name, rendered] = operators else { return None };
        let directory = Rc::clone(&self.directory);
        let is_it = |block: &&Block| block.label(0) == Some("template_file") && block.label(1) == attribute_name(name);
        let body = &directory.data.iter().find(is_it)?.body;
        let has_instances = ["count", "for_each"].iter().any(|name| body.attribute(name).is_some());
        if has_instances || attribute_name(rendered) != Some("rendered") {
            return None;
        }
        let value = |name: &str| {
            let attribute = body.attribute(name)?;
            self.evaluate(&attribute.expression, Frame { depth: frame.depth + 1, ..Frame::of(attribute.file) })
        };
        let (template, variables) = (value("template")?, value("vars"));
        let variables = variables.unwrap_or_else(|| map(Vec::new(), span));
        let Some(template) = template.text() else { return Some(Some(unknown(span))) };
        Some(self.of_template(template, &variables, span, frame))
    }

    /// The value at the end of attributes and indices.
    pub(super) fn steps(
        &self,
        mut value: Node,
        operators: &[&TraversalOperator],
        span: Span,
        frame: Frame<'_>,
    ) -> Option<Node> {
        for (index, operator) in operators.iter().enumerate() {
            if value.is_unknown() {
                return Some(unknown(span));
            }
            value = match operator {
                TraversalOperator::GetAttr(name) => member(&value, name.as_str(), span)?,
                TraversalOperator::LegacyIndex(at) => item(&value, usize::try_from(*at.value()).ok()?, span)?,
                TraversalOperator::Index(key) => {
                    let key = self.native(key, None, frame)?;
                    indexed(&value, &key, span)?
                }
                TraversalOperator::AttrSplat(_) | TraversalOperator::FullSplat(_) => {
                    let rest = operators.get(index + 1..).unwrap_or_default();
                    return self.splat(value, rest, span, frame);
                }
            };
        }
        Some(value)
    }

    /// `list[*].name`; a single value counts as a list of it, null as an empty list.
    fn splat(&self, value: Node, operators: &[&TraversalOperator], span: Span, frame: Frame<'_>) -> Option<Node> {
        let items = match value.value {
            Value::Null => Vec::new(),
            Value::List(items) => items,
            _ => vec![value],
        };
        let inner = Frame { depth: frame.depth + 1, ..frame };
        if !self.world.pay(inner.depth, items.len()) {
            return Some(unknown(span));
        }
        let items = items.into_iter().map(|item| self.steps(item, operators, span, inner));
        Some(list(items.collect::<Option<_>>()?, span))
    }
}

pub(super) fn attribute_name(operator: &TraversalOperator) -> Option<&str> {
    match operator {
        TraversalOperator::GetAttr(name) => Some(name.as_str()),
        _ => None,
    }
}

/// The names that a reference begins with, such as `aws_ecs_task_definition` and `web`.
pub(super) fn names_of(traversal: &Traversal) -> Vec<String> {
    let Native::Variable(root) = &traversal.expr else { return Vec::new() };
    let rest = traversal.operators.iter().map_while(|operator| attribute_name(operator.value()));
    std::iter::once(root.as_str()).chain(rest).map(str::to_owned).collect()
}

/// Instead of the number of a file: inputs are from another module.
const ELSEWHERE: usize = usize::MAX;

/// Values of references nested deeper than this are unknown.
const MAX_NESTING: usize = 64;

impl Module<'_> {
    /// `local.NAME`, and the `steps` behind it.
    pub(super) fn local(&self, name: &str, steps: &[&TraversalOperator], frame: Frame<'_>, span: Span) -> Option<Node> {
        let directory = Rc::clone(&self.directory);
        let Some(attribute) = directory.locals.get(name) else {
            return Some(self.unknown(frame, span, self.undeclared(&format!("local.{name}"))));
        };
        self.remembered(&format!("local.{name}"), steps, attribute.file, frame, span, |frame| {
            self.evaluate(&attribute.expression, frame)
        })
    }

    /// `var.NAME`, and the `steps` behind it.
    fn variable(&self, name: &str, steps: &[&TraversalOperator], frame: Frame<'_>, span: Span) -> Option<Node> {
        let directory = Rc::clone(&self.directory);
        let Some(block) = directory.variables.get(name) else {
            return Some(self.unknown(frame, span, self.undeclared(&format!("var.{name}"))));
        };
        if is_sensitive(block) {
            return Some(self.unknown(frame, span, format!("var.{name} is sensitive")));
        }
        let kind = block.body.attribute("type");
        let typed = |value: Node| match kind {
            Some(kind) => convert(self, value, &kind.expression),
            None => value,
        };
        let takes_default =
            |value: &Node| matches!(value.value, Value::Null) && literal_bool(block, "nullable") == Some(false);
        let default = block.body.attribute("default");
        let known = format!("var.{name}");
        let set: Option<&Attribute> = match &self.inputs {
            Some(inputs) => {
                let input = inputs.get(name).filter(|input| !takes_default(&input.value));
                if let Some(Input { value, cause }) = input {
                    let file = if self.made_at.is_some() { frame.file } else { ELSEWHERE };
                    return self.remembered(&known, steps, file, frame, span, |_| {
                        self.world.because_of(cause.as_ref());
                        Some(typed(value.clone()))
                    });
                }
                None
            }
            None => directory.values.get(name),
        };
        let Some(attribute) = set.or(default) else {
            return Some(self.unknown(frame, span, format!("var.{name} has no value")));
        };
        self.remembered(&known, steps, attribute.file, frame, span, |frame| {
            let mut value = self.evaluate(&attribute.expression, frame)?;
            if takes_default(&value) {
                let default = default?;
                value = self.evaluate(&default.expression, Frame { file: default.file, ..frame })?;
            }
            Some(typed(value))
        })
    }

    /// An output, for `caller`, which refers to it at `span`.
    pub(super) fn output(&self, name: &str, caller: &Module<'_>, frame: Frame<'_>, span: Span) -> Option<Node> {
        let shown = format!("{}.{name}", self.address);
        let Some(block) = self.directory.outputs.get(name) else {
            return Some(caller.unknown(frame, span, self.undeclared(&shown)));
        };
        let attribute = block.body.attribute("value")?;
        if is_sensitive(block) {
            return Some(caller.unknown(frame, span, format!("{shown} is sensitive")));
        }
        let value = self.remembered(&format!("output.{name}"), &[], attribute.file, frame, span, |frame| {
            self.evaluate(&attribute.expression, frame)
        });
        value.map(|value| value.placed(span))
    }

    /// A value that is evaluated once, then followed by `steps`. In its own file it keeps its places; in others it has
    /// the place of the reference.
    fn remembered(
        &self,
        name: &str,
        steps: &[&TraversalOperator],
        file: usize,
        frame: Frame<'_>,
        span: Span,
        evaluate: impl FnOnce(Frame<'_>) -> Option<Node>,
    ) -> Option<Node> {
        let known = self.known.borrow().get(name).cloned();
        let known = match known {
            Some(Known::Open) => return None,
            Some(known) => known,
            None => {
                self.known.borrow_mut().insert(name.to_owned(), Known::Open);
                let inner = Frame { file, bindings: None, depth: frame.depth + 1 };
                let (value, cause) = self.world.with_cause(|| evaluate(inner));
                let value = value.map(|mut value| {
                    if depth(&value) > MAX_NESTING {
                        value = unknown(value.place.span);
                    }
                    if self.made_at.is_none() {
                        value.remove_routes();
                    }
                    Rc::new(value)
                });
                let known = Known::Value { value, file, cause };
                self.known.borrow_mut().insert(name.to_owned(), known.clone());
                known
            }
        };
        let Known::Value { value, file, cause } = known else { return None };
        self.world.because_of(cause.as_ref());
        let value = value?;
        // Only the part that is wanted is copied.
        let (mut part, mut steps): (&Node, _) = (&value, steps);
        while let Some((inner, rest)) = attribute_of(part, steps) {
            (part, steps) = (inner, rest);
        }
        if !self.world.pay(frame.depth, cost(part)) {
            return Some(unknown(span));
        }
        let is_here = file == frame.file && !part.is_unknown();
        self.steps(if is_here { part.clone() } else { part.placed(span) }, steps, span, frame)
    }
}

/// The attribute of a map that the first step leads to, and the steps behind it.
fn attribute_of<'n, 's, 'o>(
    value: &'n Node,
    steps: &'s [&'o TraversalOperator],
) -> Option<(&'n Node, &'s [&'o TraversalOperator])> {
    let (first, rest) = steps.split_first()?;
    let name = attribute_name(first)?;
    value.entries().iter().find(|entry| entry.key == name).map(|entry| (&entry.node, rest))
}

/// Terraform shows no value of a sensitive variable or output.
fn is_sensitive(block: &Block) -> bool {
    block.body.attribute("sensitive").is_some() && literal_bool(block, "sensitive") != Some(false)
}

/// A boolean argument. Terraform takes only literals; strings are converted.
fn literal_bool(block: &Block, name: &str) -> Option<bool> {
    let expression = &block.body.attribute(name)?.expression;
    let own = match expression {
        Expression::Native(native) => native.as_bool(),
        Expression::Json(json) => as_bool(json),
    };
    own.or_else(|| expression.literal()?.parse().ok())
}

impl Module<'_> {
    /// The value of a reference that begins with `module`. Outputs of other modules are known only to Terraform.
    pub(super) fn of_call(&self, operators: &[&TraversalOperator], span: Span, frame: Frame<'_>) -> Option<Node> {
        let directory = Rc::clone(&self.directory);
        let elsewhere = || Some(self.attribute_of_resource("module", operators, span, frame));
        let (first, rest) = operators.split_first()?;
        let call = directory.calls.iter().find(|call| call.label(0) == attribute_name(first));
        let Some(call) = call else { return elsewhere() };
        // To find a directory takes longer than other references do.
        if !self.world.pay(frame.depth, 50) {
            return Some(unknown(span));
        }
        let Callee::Directory(_, source) = callee(self, call) else { return elsewhere() };
        let Some(callees) = self.callees(call, &source, frame.depth + 1) else {
            let name = call.label(0).unwrap_or_default();
            return Some(self.unknown(frame, span, format!("the inputs of module.{name} depend on its own outputs")));
        };
        let attribute = |name| call.body.attribute(name).is_some();
        let callees = callees.as_slice();
        match rest {
            _ if !attribute("count") && !attribute("for_each") => self.outputs(callees.first()?, rest, span, frame),
            [TraversalOperator::Index(key), rest @ ..] => {
                let key = self.native(key, None, frame)?.as_text()?;
                if key.contains(HOLE) {
                    return Some(unknown(span));
                }
                self.outputs(instance(callees, &key)?, rest, span, frame)
            }
            _ => {
                let outputs = |called: &Called<'_>| called.module.all_outputs(self, frame, span);
                let all = if callees.iter().any(|called| key_of(called).contains(HOLE)) {
                    unknown(span)
                } else if attribute("count") {
                    list(callees.iter().map(outputs).collect(), span)
                } else {
                    map(callees.iter().map(|called| entry(key_of(called), outputs(called))).collect(), span)
                };
                self.steps(all, rest, span, frame)
            }
        }
    }

    /// The value of a reference that follows the call: only the output that it names is evaluated.
    fn outputs(
        &self,
        called: &Called<'_>,
        operators: &[&TraversalOperator],
        span: Span,
        frame: Frame<'_>,
    ) -> Option<Node> {
        let Some((name, rest)) = operators.split_first().and_then(|(first, rest)| Some((attribute_name(first)?, rest)))
        else {
            return self.steps(called.module.all_outputs(self, frame, span), operators, span, frame);
        };
        self.steps(called.module.output(name, self, frame, span)?, rest, span, frame)
    }

    /// All outputs as a map, for `caller`, which refers to them at `span`.
    fn all_outputs(&self, caller: &Module<'_>, frame: Frame<'_>, span: Span) -> Node {
        let names = self.directory.outputs.keys();
        let value = |name| self.output(name, caller, frame, span).unwrap_or_else(|| unknown(span));
        map(names.map(|name| entry(name, value(name))).collect(), span)
    }
}

/// The instance with this key. If it is not known which instances there are, the only one stands for all of them.
fn instance<'c, 'w>(callees: &'c [Called<'w>], key: &str) -> Option<&'c Called<'w>> {
    callees.iter().find(|called| {
        let own = key_of(called);
        own == key || own.contains(HOLE)
    })
}

fn key_of(called: &Called<'_>) -> String {
    called.instance.key().and_then(Node::as_text).unwrap_or_default()
}

/// The value as the type `kind`. What cannot be converted stays as it is: Terraform refuses it.
pub(super) fn convert(module: &Module<'_>, value: Node, kind: &Expression) -> Node {
    match kind {
        Expression::Native(kind) => as_kind(module, value, kind),
        // In JSON, the type is an expression in a string.
        Expression::Json(kind) => match kind.text().and_then(|text| hcl_edit::parser::parse_expr(text).ok()) {
            Some(kind) => as_kind(module, value, &kind),
            None => value,
        },
    }
}

fn as_kind(module: &Module<'_>, value: Node, kind: &Native) -> Node {
    match kind {
        _ if matches!(value.value, Value::Null | Value::Unknown) => value,
        Native::Variable(name) => of_name(value, name.as_str()),
        Native::FuncCall(call) => of_collection(module, value, call),
        _ => value,
    }
}

fn of_name(value: Node, kind: &str) -> Node {
    let Node { value, place } = value;
    let value = match (kind, value) {
        // Short for `list(any)` and `map(any)`.
        ("list", Value::List(items)) => Value::List(of_one_type(items)),
        ("map", Value::Map(entries)) => Value::Map(map_of_one_type(entries)),
        (_, value @ (Value::List(_) | Value::Map(_))) => value,
        (kind, value) => {
            let scalar = Node { value, place: Place::default() };
            as_type(&scalar, kind).unwrap_or(scalar.value)
        }
    };
    Node { value, place }
}

fn of_collection(module: &Module<'_>, mut value: Node, call: &FuncCall) -> Node {
    let Some(of) = call.args.get(0) else { return value };
    match (call.name.name.as_str(), &mut value.value) {
        (kind @ ("list" | "set"), Value::List(items)) => {
            let converted: Vec<Node> =
                std::mem::take(items).into_iter().map(|item| as_kind(module, item, of)).collect();
            *items = match kind {
                "set" => set(converted, value.place.span),
                _ if is_any(of) => of_one_type(converted),
                _ => converted,
            };
        }
        ("map", Value::Map(entries)) => {
            let each = std::mem::take(entries).into_iter();
            *entries = each.map(|entry| Entry { node: as_kind(module, entry.node, of), ..entry }).collect();
            if is_any(of) {
                *entries = map_of_one_type(std::mem::take(entries));
            }
        }
        ("tuple", Value::List(items)) => {
            let kinds: Vec<&Native> = of.as_array().map(|kinds| kinds.iter().collect()).unwrap_or_default();
            let each = std::mem::take(items).into_iter().enumerate();
            *items = each
                .map(|(index, item)| match kinds.get(index) {
                    Some(kind) => as_kind(module, item, kind),
                    None => item,
                })
                .collect();
        }
        ("object", Value::Map(entries)) => {
            if let Some(kinds) = of.as_object() {
                *entries = of_object(module, std::mem::take(entries), kinds, value.place.span);
            }
        }
        ("optional", _) => return as_kind(module, value, of),
        _ => {}
    }
    value
}

/// Whether a type is `any`, so that values keep their own.
fn is_any(kind: &Native) -> bool {
    kind.as_variable().is_some_and(|name| name.as_str() == "any")
}

/// Attributes that the type does not have are dropped; optional ones get their defaults.
fn of_object(module: &Module<'_>, entries: Vec<Entry>, kinds: &Object, span: document::Span) -> Vec<Entry> {
    let mut out = Vec::new();
    let mut given = entries;
    let open = given.iter().position(|entry| entry.key == OPEN_KEY).map(|at| given.remove(at));
    for (key, kind) in kinds {
        let name = match key {
            ObjectKey::Ident(name) => name.as_str(),
            ObjectKey::Expression(name) => match name.as_str() {
                Some(name) => name,
                None => continue,
            },
        };
        let own = given.iter().position(|entry| entry.key == name).map(|at| given.swap_remove(at));
        match own {
            Some(own) if !matches!(own.node.value, Value::Null) => {
                out.push(Entry { node: as_kind(module, own.node, kind.expr()), ..own });
            }
            _ if open.is_some() => {}
            own => {
                let call = kind.expr().as_func_call().filter(|call| call.name.name.as_str() == "optional");
                let default = call.and_then(|call| Some((call.args.get(1)?, call.args.get(0)?)));
                let default = default.and_then(|(value, kind)| {
                    let value = module.native(value, None, Frame::of(0))?;
                    Some(as_kind(module, value.placed(span), kind))
                });
                let null = call.map(|_| entry(name, node(Value::Null, span)));
                out.extend(default.map(|value| entry(name, value)).or(own).or(null));
            }
        }
    }
    out.extend(open);
    out
}

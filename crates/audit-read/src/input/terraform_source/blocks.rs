//! The arguments and nested blocks of a block as a map of values.

use super::{
    for_expression::pairs,
    frame::{Binding, Frame},
    instance::Instance,
    module::Module,
    syntax::{Attribute, Block, Body, Expression},
    values::{entry, map, text, unknown},
};
use crate::document::{Entry, Node, Place, Route, Span, Step, Value};

/// Arguments of a call that are not inputs of the module.
const META: [&str; 6] = ["source", "version", "providers", "count", "for_each", "depends_on"];

/// A block whose arguments are evaluated.
pub(super) struct Reader<'r, 'w> {
    pub(super) module: &'r Module<'w>,
    pub(super) block: &'r Block,
    pub(super) instance: &'r Instance,
    /// How deep the expressions are nested that need the arguments.
    pub(super) depth: usize,
}

impl Reader<'_, '_> {
    /// The arguments called `names` and the nested blocks called `nested`, which become lists of maps.
    pub(super) fn values(&self, names: &[&str], nested: &[&str]) -> Node {
        let body = &self.block.body;
        let mut entries: Vec<Entry> = Vec::new();
        for name in names {
            entries.push(body.attribute(name).map_or_else(
                || self.absent(name),
                |attribute| Entry {
                    key: attribute.name.clone(),
                    key_span: self.span_in_block(attribute.file, attribute.name_span),
                    node: self.value(attribute),
                },
            ));
        }
        for name in nested {
            entries.push(self.nested(name).map_or_else(|| self.absent(name), |blocks| entry(*name, blocks)));
        }
        map(entries, self.block.name_span())
    }

    /// Null, where an argument or nested block would be.
    fn absent(&self, name: &str) -> Entry {
        let place = Place { span: self.block.name_span(), route: self.route_of(name), parts: None };
        entry(name, Node { value: Value::Null, place })
    }

    /// The arguments of a call that are inputs of the module.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &Attribute> {
        self.block.body.attributes.iter().filter(|attribute| !META.contains(&attribute.name.as_str()))
    }

    /// The value of an argument.
    pub(super) fn value(&self, attribute: &Attribute) -> Node {
        self.instance.within(attribute.file, self.depth, |frame| {
            let route = self.route(attribute);
            let value = match &route {
                Some(route) => self.module.evaluate_at(&attribute.expression, route, frame),
                None => self.module.evaluate(&attribute.expression, frame),
            };
            let value = value.unwrap_or_else(|| {
                let reason = format!("{} cannot be evaluated", attribute.name);
                self.module.unknown(frame, attribute.name_span, reason)
            });
            self.in_block(attribute.file, value)
        })
    }

    /// The route to an argument, for edits. They do not reach override files, and not modules that others call: an
    /// edit for one call would change the others.
    fn route(&self, attribute: &Attribute) -> Option<Route> {
        self.route_of(&attribute.name).filter(|_| attribute.file == self.block.file)
    }

    /// The route to an argument that the block may lack, or to its nested blocks. Of several instances,
    /// `dynamic` blocks may give others what this one lacks: an edit would damage them.
    fn route_of(&self, name: &str) -> Option<Route> {
        let block = self.block.route.as_ref().filter(|_| self.module.inputs.is_none())?;
        let is_dynamic = self.block.body.blocks("dynamic").any(|block| block.label(0) == Some(name));
        let is_shared = is_dynamic && !self.instance.suffix.is_empty();
        (!is_shared).then(|| block.then(Step::Key(name.to_owned())))
    }

    /// A value from another file has the place of the block's name.
    fn in_block(&self, file: usize, value: Node) -> Node {
        if file == self.block.file { value } else { value.placed(self.block.name_span()) }
    }

    fn span_in_block(&self, file: usize, span: Span) -> Span {
        if file == self.block.file { span } else { self.block.name_span() }
    }

    /// The nested blocks of one type, including those of `dynamic`.
    fn nested(&self, kind: &str) -> Option<Node> {
        let mut items = Vec::new();
        for block in &self.block.body.blocks {
            if block.kind == kind {
                items.push(
                    self.instance.within(block.file, self.depth, |frame| self.content(&block.body, block.span, frame)),
                );
            } else if block.kind == "dynamic" && block.label(0) == Some(kind) {
                self.instance.within(block.file, self.depth, |frame| self.dynamic(block, kind, frame, &mut items));
            }
        }
        let span = items.first().map(|item: &Node| item.place.span)?;
        // In JSON, a single block is a map, to which no other can be added.
        let is_list = match self.block.body.attribute(kind).map(|attribute| &attribute.expression) {
            Some(Expression::Json(json)) => matches!(json.value, Value::List(_)),
            _ => true,
        };
        let route = self.route_of(kind).filter(|_| is_list);
        Some(Node { value: Value::List(items), place: Place { span, route, parts: None } })
    }

    fn dynamic(&self, block: &Block, kind: &str, frame: Frame<'_>, items: &mut Vec<Node>) {
        let content = block.body.blocks("content").next();
        let collection = block
            .body
            .attribute("for_each")
            .and_then(|attribute| self.module.evaluate(&attribute.expression, Frame { file: attribute.file, ..frame }));
        let pairs = collection.as_ref().and_then(pairs).flatten();
        let (Some(content), Some(pairs)) = (content, pairs) else {
            items.push(unknown(block.span));
            return;
        };
        let iterator = block.body.attribute("iterator").and_then(|attribute| attribute.expression.name());
        let name = iterator.as_deref().unwrap_or(kind);
        for (key, value) in pairs {
            if value.is_unknown() || !self.module.world.pay(frame.depth, 1) {
                items.push(unknown(block.span));
                continue;
            }
            let bound = map(vec![entry("key", key), entry("value", value)], block.span);
            let binding = Binding { name, value: &bound, next: frame.bindings };
            let inner = Frame { bindings: Some(&binding), depth: frame.depth + 1, ..frame };
            items.push(self.content(&content.body, block.span, inner));
        }
    }

    fn content(&self, body: &Body, span: Span, frame: Frame<'_>) -> Node {
        let entries = body.attributes.iter().map(|attribute| {
            let frame = Frame { file: attribute.file, ..frame };
            let value = self.module.evaluate(&attribute.expression, frame);
            let node = self.in_block(attribute.file, value.unwrap_or_else(|| unknown(attribute.name_span)));
            Entry {
                key: attribute.name.clone(),
                key_span: self.span_in_block(attribute.file, attribute.name_span),
                node,
            }
        });
        Node { value: Value::Map(entries.collect()), place: Place::fixed(span) }
    }
}

/// A single value as a string: the provider's arguments have types.
pub(super) fn texts(values: &mut Node, names: &[&str]) {
    let Value::Map(entries) = &mut values.value else { return };
    for entry in entries.iter_mut().filter(|entry| names.contains(&entry.key.as_str())) {
        if matches!(entry.node.value, Value::Number(_) | Value::Bool(_)) {
            let converted = super::values::as_text(&entry.node).unwrap_or_default();
            entry.node = text(converted, entry.node.place.span);
        }
    }
}

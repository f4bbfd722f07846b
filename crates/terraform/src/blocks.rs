//! The arguments and nested blocks of a block as a map of values. Source:
//! <https://developer.hashicorp.com/terraform/language/expressions/dynamic-blocks>

use document::{Entry, Node, PathStep, Place, Route, Span, Value};

use crate::{
    expression::{evaluate, evaluate_at},
    instances::Instance,
    scope::{Binding, Frame, Scope},
    syntax::{Attribute, Block, Body, Expression},
    values::{Outcome, entry, map, pairs, unknown},
};

/// Arguments of a call that are not inputs of the module.
const META: [&str; 6] = ["source", "version", "providers", "count", "for_each", "depends_on"];

/// A block whose arguments are evaluated, for one of its instances.
#[derive(Clone, Copy)]
pub struct Reader<'r> {
    pub(crate) scope: &'r dyn Scope,
    pub(crate) block: &'r Block,
    pub(crate) instance: &'r Instance,
    /// How deep the expressions are nested that need the arguments.
    pub(crate) depth: usize,
}

impl<'r> Reader<'r> {
    /// The same for another block of the module.
    #[must_use]
    pub fn of(self, block: &'r Block) -> Self {
        Self { block, ..self }
    }

    pub fn block(&self) -> &'r Block {
        self.block
    }

    /// An unknown value in the place of the block's name, and why it is unknown.
    pub fn unknown(&self, reason: &str) -> Node {
        self.scope.unknown(Frame::of(self.block.file), self.block.name_span(), reason)
    }

    /// The arguments called `names` and the nested blocks called `nested`, which become lists of maps.
    pub fn values(&self, names: &[&str], nested: &[&str]) -> Node {
        let body = &self.block.body;
        let mut entries: Vec<Entry> = Vec::new();
        for name in names {
            entries.push(body.attribute(name).map_or_else(
                || self.absent(name),
                |attribute| {
                    let span = self.span_in_block(attribute.file, attribute.name_span);
                    Entry::new(&*attribute.name, span, self.value(attribute))
                },
            ));
        }
        for name in nested {
            // Source: https://developer.hashicorp.com/terraform/language/attr-as-blocks
            let blocks = || self.nested(name).or_else(|| body.attribute(name).map(|list| self.value(list)));
            entries.push(blocks().map_or_else(|| self.absent(name), |blocks| entry(*name, blocks)));
        }
        map(entries, self.block.name_span())
    }

    /// Null, where an argument or nested block would be.
    fn absent(&self, name: &str) -> Entry {
        let place = Place { span: self.block.name_span(), route: self.route_of(name), parts: None };
        entry(name, Node { value: Value::Null, place })
    }

    /// The arguments of a call that are inputs of the module.
    pub fn arguments(&self) -> impl Iterator<Item = &Attribute> {
        self.block.body.attributes.iter().filter(|attribute| !META.contains(&attribute.name.as_str()))
    }

    /// The value of an argument.
    pub fn value(&self, attribute: &Attribute) -> Node {
        self.instance.within(attribute.file, self.depth, |frame| {
            let route = self.route(attribute);
            let value = match &route {
                Some(route) => evaluate_at(self.scope, &attribute.expression, route, frame),
                None => evaluate(self.scope, &attribute.expression, frame),
            };
            let value = value.unwrap_or_else(|| {
                let reason = format!("{} cannot be evaluated", attribute.name);
                self.scope.unknown(frame, attribute.name_span, &reason)
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
        let block = self.block.route.as_ref().filter(|_| !self.scope.is_called())?;
        let is_dynamic = self.block.body.blocks("dynamic").any(|block| block.label(0) == Some(name));
        let is_shared = is_dynamic && !self.instance.suffix.is_empty();
        (!is_shared).then(|| block.then(PathStep::Key(name.to_owned())))
    }

    /// A value from another file has the place of the block's name.
    fn in_block(&self, file: usize, value: Node) -> Node {
        if file == self.block.file { value } else { value.placed(self.block.name_span()) }
    }

    fn span_in_block(&self, file: usize, span: Span) -> Span {
        if file == self.block.file { span } else { self.block.name_span() }
    }

    /// The nested blocks of one type, including the blocks that `dynamic` makes.
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
            .and_then(|attribute| evaluate(self.scope, &attribute.expression, Frame { file: attribute.file, ..frame }));
        let pairs = collection.as_ref().map(pairs).and_then(Outcome::known);
        let (Some(content), Some(pairs)) = (content, pairs) else {
            items.push(unknown(block.span));
            return;
        };
        let iterator = block.body.attribute("iterator").and_then(|attribute| attribute.expression.name());
        let name = iterator.as_deref().unwrap_or(kind);
        for (key, value) in pairs {
            if value.is_unknown() || !self.scope.spend(frame, 1) {
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
            let value = evaluate(self.scope, &attribute.expression, frame);
            let node = self.in_block(attribute.file, value.unwrap_or_else(|| unknown(attribute.name_span)));
            Entry::new(&*attribute.name, self.span_in_block(attribute.file, attribute.name_span), node)
        });
        let mut entries: Vec<Entry> = entries.collect();
        let mut kinds: Vec<&str> = body.blocks.iter().filter_map(kind_of).collect();
        kinds.sort_unstable();
        kinds.dedup();
        entries.extend(kinds.into_iter().map(|kind| {
            let of_kind = body.blocks.iter().filter(|block| kind_of(block) == Some(kind));
            let items = of_kind.map(|block| {
                if block.kind != kind {
                    return unknown(block.span);
                }
                self.content(&block.body, block.span, Frame { file: block.file, ..frame })
            });
            entry(kind, Node { value: Value::List(items.collect()), place: Place::fixed(span) })
        }));
        Node { value: Value::Map(entries), place: Place::fixed(span) }
    }
}

/// The kind of a nested block, or of those that a dynamic block makes.
fn kind_of(block: &Block) -> Option<&str> {
    if block.kind == "dynamic" { block.label(0) } else { Some(&block.kind) }
}

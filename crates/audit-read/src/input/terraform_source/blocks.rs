//! The arguments and nested blocks of a block as a map of values, for each of the instances that `count` and `for_each`
//! make of the block. Source: <https://developer.hashicorp.com/terraform/language/meta-arguments>

use super::{
    eval::{Binding, Frame, pairs},
    module::{Cause, Module},
    syntax::{Attribute, Block, Body, Expression},
    values::{as_bool, as_number, entry, map, node, number, unknown},
};
use document::{Entry, Node, Place, Route, Span, Step, Value};

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
            Entry::new(&*attribute.name, self.span_in_block(attribute.file, attribute.name_span), node)
        });
        Node { value: Value::Map(entries.collect()), place: Place::fixed(span) }
    }
}

/// More instances of one block than this are checked as a single one, with an unknown key.
const MAX_INSTANCES: usize = 50;

/// The instances of a block; a single one with an unknown key if they are not known.
pub(super) fn instances(module: &Module<'_>, block: &Block, depth: usize) -> Vec<Instance> {
    let (count, for_each) = (block.body.attribute("count"), block.body.attribute("for_each"));
    let Some(attribute) = count.or(for_each) else {
        return if is_disabled(module, block, depth) { Vec::new() } else { vec![Instance::only()] };
    };
    let evaluate = || module.evaluate(&attribute.expression, Frame { depth, ..Frame::of(attribute.file) });
    let (value, cause) = module.world.with_cause(evaluate);
    let make = if count.is_some() { counted } else { of_each };
    let mut instances = make(value.as_ref(), attribute.name_span);
    for instance in &mut instances {
        instance.cause = cause.clone().filter(|_| instance.key().is_some_and(Node::is_unknown));
    }
    instances
}

/// `OpenTofu`'s condition of a resource or call. Source: <https://opentofu.org/docs/language/meta-arguments/enabled>
pub(super) fn enabled(block: &Block) -> Option<&Attribute> {
    block.body.blocks("lifecycle").find_map(|lifecycle| lifecycle.body.attribute("enabled"))
}

/// Whether the condition is certainly false.
fn is_disabled(module: &Module<'_>, block: &Block, depth: usize) -> bool {
    let value = |enabled: &Attribute| {
        let frame = Frame { depth, ..Frame::of(enabled.file) };
        module.world.with_cause(|| module.evaluate(&enabled.expression, frame)).0
    };
    enabled(block).and_then(value).as_ref().and_then(as_bool) == Some(false)
}

fn counted(count: Option<&Node>, span: Span) -> Vec<Instance> {
    let count = count.and_then(as_number).filter(|count| *count >= 0.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the limit of instances is smaller")]
    match count.map(|count| count as usize).filter(|count| *count <= MAX_INSTANCES) {
        Some(count) => {
            #[expect(clippy::cast_precision_loss, reason = "at most the limit of instances")]
            let index = |index: usize| number(index as f64);
            (0..count).map(|at| Instance::counted(index(at), format!("[{at}]"), span)).collect()
        }
        None => vec![Instance::counted(Value::Unknown, String::new(), span)],
    }
}

fn of_each(collection: Option<&Node>, span: Span) -> Vec<Instance> {
    let is_list = collection.is_some_and(|value| matches!(value.value, Value::List(_)));
    let pairs = collection.and_then(pairs).flatten();
    let is_known = |pairs: &Vec<(Node, Node)>| {
        let key = |(key, value): &(Node, Node)| if is_list { value.text().is_some() } else { key.text().is_some() };
        pairs.len() <= MAX_INSTANCES && pairs.iter().all(key)
    };
    let Some(pairs) = pairs.filter(is_known) else {
        return vec![Instance::each(unknown(span), unknown(span), String::new(), span)];
    };
    let instance = |(key, value): (Node, Node)| {
        // The key of an item of a set is the item.
        let key = if is_list { value.clone() } else { key };
        let suffix = format!("[{:?}]", key.text().unwrap_or_default());
        Instance::each(key, value, suffix, span)
    };
    pairs.into_iter().map(instance).collect()
}

/// An instance of a block.
pub(super) struct Instance {
    /// The end of its address: empty, `[0]` or `["key"]`.
    pub(super) suffix: String,
    /// What `each` or `count` is bound to.
    bound: Option<(&'static str, Node)>,
    /// Why it is not known which instances there are.
    pub(super) cause: Option<Cause>,
}

impl Instance {
    /// Evaluates something for this instance.
    pub(super) fn within<T>(&self, file: usize, depth: usize, evaluate: impl FnOnce(Frame<'_>) -> T) -> T {
        let binding = self.bound.as_ref().map(|(name, value)| Binding { name, value, next: None });
        evaluate(Frame { file, bindings: binding.as_ref(), depth })
    }

    /// The only one of a block.
    pub(super) fn only() -> Self {
        Self { suffix: String::new(), bound: None, cause: None }
    }

    /// Its key or number; `None` if there is only one instance.
    pub(super) fn key(&self) -> Option<&Node> {
        let (_, bound) = self.bound.as_ref()?;
        bound.get("key").or_else(|| bound.get("index"))
    }

    /// One of `for_each`.
    pub(super) fn each(key: Node, value: Node, suffix: String, span: Span) -> Self {
        let bound = map(vec![entry("key", key), entry("value", value)], span);
        Self { suffix, bound: Some(("each", bound)), cause: None }
    }

    /// One of `count`.
    pub(super) fn counted(index: Value, suffix: String, span: Span) -> Self {
        let bound = map(vec![entry("index", node(index, span))], span);
        Self { suffix, bound: Some(("count", bound)), cause: None }
    }
}

//! The instances that `count` and `for_each` make of a block. Source:
//! <https://developer.hashicorp.com/terraform/language/meta-arguments>

use document::{Node, Span, Value};

use crate::{
    causes::UnknownCause,
    expression::evaluate,
    scope::{Binding, Frame, Scope},
    syntax::{Attribute, Block},
    values::{Outcome, as_bool, as_number, entry, map, node, number, pairs, unknown},
};

/// More instances of one block than this are checked as a single one, with an unknown key.
const MAX_INSTANCES: usize = 50;

/// The instances of a block; a single one with an unknown key if they are not known.
pub(crate) fn instances(scope: &dyn Scope, block: &Block, depth: usize) -> Vec<Instance> {
    let (count, for_each) = (block.body.attribute("count"), block.body.attribute("for_each"));
    let Some(attribute) = count.or(for_each) else {
        return if is_disabled(scope, block, depth) { Vec::new() } else { vec![Instance::only()] };
    };
    let evaluate = || evaluate(scope, &attribute.expression, Frame { depth, ..Frame::of(attribute.file) });
    let (value, cause) = scope.causes().first_of(evaluate);
    let make = if count.is_some() { counted } else { of_each };
    let mut instances = make(value.as_ref(), attribute.name_span);
    for instance in &mut instances {
        instance.cause = cause.clone().filter(|_| instance.key().is_some_and(Node::is_unknown));
    }
    instances
}

/// `OpenTofu`'s condition of a resource or call. Source: <https://opentofu.org/docs/language/meta-arguments/enabled>
pub(crate) fn enabled(block: &Block) -> Option<&Attribute> {
    block.body.blocks("lifecycle").find_map(|lifecycle| lifecycle.body.attribute("enabled"))
}

/// Whether the condition is certainly false.
fn is_disabled(scope: &dyn Scope, block: &Block, depth: usize) -> bool {
    let value = |enabled: &Attribute| {
        let frame = Frame { depth, ..Frame::of(enabled.file) };
        scope.causes().first_of(|| evaluate(scope, &enabled.expression, frame)).0
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
    let pairs = collection.map(pairs).and_then(Outcome::known);
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
pub struct Instance {
    /// The end of its address: empty, `[0]` or `["key"]`.
    pub suffix: String,
    /// What `each` or `count` is bound to.
    bound: Option<(&'static str, Node)>,
    /// Why it is not known which instances there are.
    pub cause: Option<UnknownCause>,
}

impl Instance {
    /// Evaluates something for this instance.
    pub(crate) fn within<T>(&self, file: usize, depth: usize, evaluate: impl FnOnce(Frame<'_>) -> T) -> T {
        let binding = self.bound.as_ref().map(|(name, value)| Binding { name, value, next: None });
        evaluate(Frame { bindings: binding.as_ref(), depth, ..Frame::of(file) })
    }

    /// The only one of a block.
    pub fn only() -> Self {
        Self { suffix: String::new(), bound: None, cause: None }
    }

    /// Its key or number; `None` if there is only one instance.
    pub(crate) fn key(&self) -> Option<&Node> {
        let (_, bound) = self.bound.as_ref()?;
        bound.get("key").or_else(|| bound.get("index"))
    }

    /// One of `for_each`.
    fn each(key: Node, value: Node, suffix: String, span: Span) -> Self {
        let bound = map(vec![entry("key", key), entry("value", value)], span);
        Self { suffix, bound: Some(("each", bound)), cause: None }
    }

    /// One of `count`.
    fn counted(index: Value, suffix: String, span: Span) -> Self {
        let bound = map(vec![entry("index", node(index, span))], span);
        Self { suffix, bound: Some(("count", bound)), cause: None }
    }
}

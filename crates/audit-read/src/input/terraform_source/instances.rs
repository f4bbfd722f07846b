//! The instances that `count` and `for_each` make of a block. Source:
//! <https://developer.hashicorp.com/terraform/language/meta-arguments>

use super::{
    for_expression::pairs,
    frame::Frame,
    instance::Instance,
    module::Module,
    syntax::Block,
    values::{number, unknown},
};
use crate::document::{Node, Span, Value};

/// More instances of one block than this are checked as a single one, with an unknown key.
const MAX_INSTANCES: usize = 50;

/// The instances of a block; a single one with an unknown key if they are not known.
pub(super) fn instances(module: &Module<'_>, block: &Block, depth: usize) -> Vec<Instance> {
    let (count, for_each) = (block.body.attribute("count"), block.body.attribute("for_each"));
    let Some(attribute) = count.or(for_each) else {
        return vec![Instance::only()];
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

fn counted(count: Option<&Node>, span: Span) -> Vec<Instance> {
    let count = count.and_then(super::values::as_number).filter(|count| *count >= 0.0);
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

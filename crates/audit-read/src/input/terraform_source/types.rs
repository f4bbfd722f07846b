//! Converts values to the type of a variable. Source:
//! <https://developer.hashicorp.com/terraform/language/expressions/type-constraints>

use hcl_edit::expr::{Expression as Native, FuncCall, Object, ObjectKey};

use super::{
    frame::Frame,
    lists::map_of_one_type,
    module::Module,
    one_type::of_one_type,
    sets::set,
    syntax::Expression,
    values::{as_bool, as_number, as_text, entry, is_uncertain, number},
};
use crate::document::{Entry, Node, Value};

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
        (kind, value) => return of_scalar(Node { value, place }, kind),
    };
    Node { value, place }
}

fn of_scalar(mut value: Node, kind: &str) -> Node {
    let converted = match kind {
        "string" => as_text(&value).map(Value::Text),
        "number" if !is_uncertain(&value) => as_number(&value).map(number),
        "bool" if !is_uncertain(&value) => as_bool(&value).map(Value::Bool),
        "number" | "bool" => Some(Value::Unknown),
        _ => None,
    };
    if let Some(converted) = converted {
        value.value = converted;
    }
    value
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

/// Whether a type is that of the values: `any`.
fn is_any(kind: &Native) -> bool {
    kind.as_variable().is_some_and(|name| name.as_str() == "any")
}

/// Attributes that the type does not have are dropped; optional ones get their defaults.
fn of_object(module: &Module<'_>, entries: Vec<Entry>, kinds: &Object, span: crate::document::Span) -> Vec<Entry> {
    let mut out = Vec::new();
    let mut given = entries;
    let open = given.iter().position(|entry| entry.key == super::values::OPEN_KEY).map(|at| given.remove(at));
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
                out.extend(default.map(|value| entry(name, value)).or(own));
            }
        }
    }
    out.extend(open);
    out
}

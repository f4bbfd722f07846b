//! Types of variables, and values as those types. Source:
//! <https://developer.hashicorp.com/terraform/language/expressions/type-constraints>

use document::{Entry, Node, Place, Span, Value};
use hcl_edit::{
    expr::{Expression as Native, FuncCall, Object, ObjectKey},
    parser::parse_expr,
};

use crate::{
    scope::{Frame, Scope},
    sets::set,
    syntax::Expression,
    unification::{map_of_one_type, of_one_type},
    values::{OPEN_KEY, as_type, entry, node},
};

/// The value as the type `kind`. What cannot be converted stays as it is: Terraform refuses it.
pub(crate) fn convert(scope: &dyn Scope, value: Node, kind: &Expression) -> Node {
    match kind {
        Expression::Native(kind) => as_kind(scope, value, kind),
        // In JSON, the type is an expression in a string.
        Expression::Json(kind) => match kind.text().and_then(|text| parse_expr(text).ok()) {
            Some(kind) => as_kind(scope, value, &kind),
            None => value,
        },
    }
}

fn as_kind(scope: &dyn Scope, value: Node, kind: &Native) -> Node {
    match kind {
        _ if matches!(value.value, Value::Null | Value::Unknown) => value,
        Native::Variable(name) => of_name(value, name.as_str()),
        Native::FuncCall(call) => of_collection(scope, value, call),
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

fn of_collection(scope: &dyn Scope, mut value: Node, call: &FuncCall) -> Node {
    let Some(of) = call.args.get(0) else { return value };
    match (call.name.name.as_str(), &mut value.value) {
        (kind @ ("list" | "set"), Value::List(items)) => {
            let converted: Vec<Node> = std::mem::take(items).into_iter().map(|item| as_kind(scope, item, of)).collect();
            *items = match kind {
                "set" => set(converted, value.place.span),
                _ if is_any(of) => of_one_type(converted),
                _ => converted,
            };
        }
        ("map", Value::Map(entries)) => {
            let each = std::mem::take(entries).into_iter();
            *entries = each.map(|entry| Entry { node: as_kind(scope, entry.node, of), ..entry }).collect();
            if is_any(of) {
                *entries = map_of_one_type(std::mem::take(entries));
            }
        }
        ("tuple", Value::List(items)) => {
            let kinds: Vec<&Native> = of.as_array().map(|kinds| kinds.iter().collect()).unwrap_or_default();
            let each = std::mem::take(items).into_iter().enumerate();
            *items = each
                .map(|(index, item)| match kinds.get(index) {
                    Some(kind) => as_kind(scope, item, kind),
                    None => item,
                })
                .collect();
        }
        ("object", Value::Map(entries)) => {
            if let Some(kinds) = of.as_object() {
                *entries = of_object(scope, std::mem::take(entries), kinds, value.place.span);
            }
        }
        ("optional", _) => return as_kind(scope, value, of),
        _ => {}
    }
    value
}

/// Whether a type is `any`, so that values keep their own.
fn is_any(kind: &Native) -> bool {
    kind.as_variable().is_some_and(|name| name.as_str() == "any")
}

/// Attributes that the type does not have are dropped; optional ones get their defaults.
fn of_object(scope: &dyn Scope, entries: Vec<Entry>, kinds: &Object, span: Span) -> Vec<Entry> {
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
                out.push(Entry { node: as_kind(scope, own.node, kind.expr()), ..own });
            }
            _ if open.is_some() => {}
            own => {
                let call = kind.expr().as_func_call().filter(|call| call.name.name.as_str() == "optional");
                let default = call.and_then(|call| Some((call.args.get(1)?, call.args.get(0)?)));
                let default = default.and_then(|(value, kind)| {
                    let value = scope.evaluate(value, None, Frame::of(0))?;
                    Some(as_kind(scope, value.placed(span), kind))
                });
                let null = call.map(|_| entry(name, node(Value::Null, span)));
                out.extend(default.map(|value| entry(name, value)).or(own).or(null));
            }
        }
    }
    out.extend(open);
    out
}

//! What the controller does for half-dead tasks is counted and announced as docs/healing.md says.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Arm, Expr, ExprLit, ExprMatch, ImplItem, ImplItemFn, Item, Lit, Pat, Stmt, Type};

use super::shipped::items;

const SOURCE: &str = include_str!("../../crates/controller/src/announcement.rs");
const PAGE: &str = include_str!("../../docs/healing.md");

/// What a method of `HealingKind` says of each kind.
fn texts(method: &str) -> BTreeMap<String, String> {
    let is_kind = |of: &Type| matches!(of, Type::Path(of) if of.path.is_ident("HealingKind"));
    let methods = items("announcement.rs", SOURCE).into_iter().filter_map(|item| match item {
        Item::Impl(of) if is_kind(&of.self_ty) => Some(of.items),
        _ => None,
    });
    let found = methods.flatten().find_map(|item| match item {
        ImplItem::Fn(function) if function.sig.ident == method => Some(function),
        _ => None,
    });
    arms(found.unwrap_or_else(|| panic!("HealingKind has no method {method}"))).iter().map(kind_and_text).collect()
}

fn arms(function: ImplItemFn) -> Vec<Arm> {
    match function.block.stmts.into_iter().next() {
        Some(Stmt::Expr(Expr::Match(ExprMatch { arms, .. }), None)) => arms,
        _ => panic!("{} is not one match", function.sig.ident),
    }
}

fn kind_and_text(arm: &Arm) -> (String, String) {
    match (&arm.pat, &*arm.body) {
        (Pat::Path(kind), Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => (last(&kind.path), text.value()),
        // A metric has the name of its variant
        (Pat::Path(kind), Expr::Path(metric)) => (last(&kind.path), last(&metric.path)),
        _ => panic!("an arm is not a kind with its text"),
    }
}

fn last(path: &syn::Path) -> String {
    path.segments.last().unwrap().ident.to_string()
}

/// The texts in backticks.
fn code_spans(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The rows of the page's table: the action, its metric and the `detail-type` of its event.
fn rows() -> Vec<[String; 3]> {
    let (_, table) = PAGE.split_once("| `action` in the log |").expect("the table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| code_spans(row).iter().map(|&span| span.to_owned()).collect::<Vec<_>>().try_into().unwrap())
        .collect()
}

#[test]
fn the_page_lists_every_action_with_its_event() {
    let (actions, events) = (texts("action"), texts("detail_type"));
    assert_eq!(actions.keys().collect::<Vec<_>>(), events.keys().collect::<Vec<_>>());
    let in_code: BTreeSet<(&String, &String)> = actions.iter().map(|(kind, action)| (action, &events[kind])).collect();
    let rows = rows();
    let on_page: BTreeSet<(&String, &String)> = rows.iter().map(|[action, _, event]| (action, event)).collect();
    assert_eq!(on_page, in_code);
    assert_eq!(
        (rows.len(), on_page.len()),
        (actions.len(), actions.len()),
        "each has an action and an event of its own"
    );
}

#[test]
fn the_page_s_query_finds_every_action() {
    let (_, query) = PAGE.split_once("filter action in [").expect("the query");
    let (listed, _) = query.split_once(']').expect("its end");
    let listed: Vec<String> = listed.split(", ").map(|action| action.trim_matches('"').to_owned()).collect();
    let on_page: Vec<String> = rows().into_iter().map(|[action, _, _]| action).collect();
    assert_eq!(listed, on_page);
}

#[test]
fn each_action_has_the_metric_on_the_page() {
    let (actions, metrics) = (texts("action"), texts("counted"));
    let in_code: BTreeMap<&String, &String> = actions.iter().map(|(kind, action)| (action, &metrics[kind])).collect();
    let rows = rows();
    let on_page: BTreeMap<&String, &String> = rows.iter().map(|[action, metric, _]| (action, metric)).collect();
    assert_eq!(on_page, in_code);
}

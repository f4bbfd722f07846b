//! What the controller does for half-dead tasks is counted and announced as docs/healing.md says: the actions of the code, the
//! metric filters of the template, and the page agree.

use std::collections::{BTreeMap, BTreeSet};

use audit::document::{Node, parse_yaml};
use syn::{Arm, Expr, ExprLit, ExprMatch, ImplItem, ImplItemFn, Item, Lit, Pat, Stmt, Type};

use super::shipped::items;

const SOURCE: &str = include_str!("../../crates/controller/src/healing.rs");
const PAGE: &str = include_str!("../../docs/healing.md");
const TEMPLATE: &str = include_str!("../../template.yaml");

/// The actions that events lead to, beside sweeps, which do all.
const BY_EVENTS: [&str; 2] = ["drain", "take_over_health_sync"];
/// The log groups of sweeps and of events.
const LOG_GROUPS: [&str; 2] = ["ReconcileLogGroup", "TaskEventsLogGroup"];

/// What a method of `HealingKind` says of each kind.
fn texts(method: &str) -> BTreeMap<String, String> {
    let is_kind = |of: &Type| matches!(of, Type::Path(of) if of.path.is_ident("HealingKind"));
    let methods = items("healing.rs", SOURCE).into_iter().filter_map(|item| match item {
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
        (Pat::Path(kind), Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => {
            (kind.path.segments.last().unwrap().ident.to_string(), text.value())
        }
        _ => panic!("an arm is not a kind with its text"),
    }
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

/// Of each metric filter for an action that was done: the action, the metric and the log group.
fn filters() -> Vec<[String; 3]> {
    let template = parse_yaml(TEMPLATE).unwrap();
    let resources = template.get("Resources").expect("resources").entries();
    let filters = resources.iter().filter(|it| text(&it.node, &["Type"]) == Some("AWS::Logs::MetricFilter"));
    let read = filters.filter_map(|filter| {
        let properties = filter.node.get("Properties")?;
        let pattern = text(properties, &["FilterPattern"])?;
        let action = pattern.strip_prefix("{ $.action = \"")?.strip_suffix("\" && $.outcome = \"done\" }")?;
        let metric = properties.get("MetricTransformations")?.items().first()?;
        assert_eq!(text(metric, &["MetricNamespace"]), Some("EcsMeshController"), "{}", filter.key);
        assert_eq!(text(metric, &["MetricValue"]), Some("1"), "{}", filter.key);
        let metric = text(metric, &["MetricName", "Fn::Sub"])?.replace("${AWS::StackName}", "<stack>");
        Some([action.to_owned(), metric, text(properties, &["LogGroupName", "Ref"])?.to_owned()])
    });
    read.collect()
}

/// The text below these keys.
fn text<'a>(node: &'a Node, keys: &[&str]) -> Option<&'a str> {
    keys.iter().try_fold(node, |node, key| node.get(key))?.text()
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
fn a_metric_counts_each_action_once_wherever_it_is_done() {
    let mut expected = Vec::new();
    for [action, metric, _] in rows() {
        let groups = if BY_EVENTS.contains(&action.as_str()) { &LOG_GROUPS[..] } else { &LOG_GROUPS[..1] };
        expected.extend(groups.iter().map(|&group| [action.clone(), metric.clone(), group.to_owned()]));
    }
    expected.sort();
    let mut filters = filters();
    filters.sort();
    assert_eq!(filters, expected);
}

//! Selections of clusters.

use proptest::prelude::*;

use super::*;
use crate::examples::{cluster, task_id};

const PREFIX: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/";

fn selection(text: &str) -> ClusterSelection {
    ClusterSelection::parse(text, Some(PREFIX)).unwrap()
}

fn pattern(text: &str) -> ClusterPattern {
    text.parse().unwrap()
}

#[test]
fn arns_names_and_patterns_are_selected() {
    let clusters = selection("arn:aws:ecs:us-east-1:123456789012:cluster/shop, till,prod-*-eu");
    for name in ["shop", "till", "prod--eu", "prod-1-eu"] {
        assert!(clusters.contains(&cluster(name)), "{name}");
    }
    for name in ["shop2", "prod-eu", "prod-1", "test"] {
        assert!(!clusters.contains(&cluster(name)), "{name}");
    }
    assert!(clusters.has_wildcard());
    assert_eq!(clusters.named().collect::<Vec<_>>(), [cluster("shop"), cluster("till")]);
}

#[test]
fn star_selects_every_cluster_of_the_account_and_region() {
    let clusters = selection("*");
    assert!(clusters.contains(&cluster("any")));
    for other in ["us-east-2:123456789012", "us-east-1:999999999999"] {
        let arn = format!("arn:aws:ecs:{other}:cluster/any");
        assert!(!clusters.has_arn(&arn) && !clusters.is_named_by(&arn), "{arn}");
    }
}

#[test]
fn pattern_in_an_arn_is_parsed() {
    let clusters = ClusterSelection::parse("arn:aws:ecs:us-east-1:123456789012:cluster/prod-*", None).unwrap();
    assert!(clusters.contains(&cluster("prod-1")));
    assert_eq!((clusters.region(), clusters.account()), ("us-east-1", "123456789012"));
}

#[test]
fn mark_names_a_cluster_by_arn_or_name() {
    let clusters = selection("prod-*");
    assert!(clusters.is_named_by("prod-1") && !clusters.has_arn("prod-1"));
    let arn = cluster("prod-1");
    assert!(clusters.is_named_by(arn.as_str()) && clusters.has_arn(arn.as_str()));
    assert_eq!(clusters.cluster_named_by("prod-1"), Some(arn.clone()));
    assert_eq!(clusters.cluster_named_by(arn.as_str()), Some(arn));
    assert_eq!(clusters.cluster_named_by("test"), None);
    assert!(!clusters.is_named_by("test") && !selection("*").is_named_by(""));
}

#[test]
fn cluster_of_a_task_is_in_its_long_arn() {
    let long = TaskArn::in_cluster(&cluster("prod-1"), &task_id(1));
    assert_eq!(selection("prod-*").cluster_of(&long), Some(cluster("prod-1")));
    assert_eq!(selection("shop").cluster_of(&long), None);
    let short: TaskArn = format!("arn:aws:ecs:us-east-1:123456789012:task/{}", task_id(1)).parse().unwrap();
    assert_eq!(selection("shop,till").cluster_of(&short), Some(cluster("shop")));
    assert_eq!(selection("prod-*").cluster_of(&short), None);
}

#[test]
fn invalid_entry_is_an_error() {
    let error = |text: &str, prefix: Option<&str>| ClusterSelection::parse(text, prefix).unwrap_err().to_string();
    for text in ["", "a,,b", "pr od", "a*b*c", "arn:aws:ecs:us-east-1:123456789012:cluster/", "arn:aws:ecs"] {
        assert!(error(text, Some(PREFIX)).contains("expected"), "{text}");
    }
    let other = "arn:aws:ecs:eu-west-1:123456789012:cluster/prod";
    assert!(error(other, Some(PREFIX)).contains("region and account"));
    assert!(error(&format!("{PREFIX}prod,{other}"), None).contains("region and account"));
    assert!(error("prod", None).contains("ECS_CLUSTER_ARN_PREFIX"));
    assert!(error("prod", Some("arn:aws:ecs:us-east-1:1:cluster/")).contains("the start of an ARN"));
}

proptest! {
    #[test]
    fn pattern_is_displayed_as_it_was_written(text in "[a-z0-9_-]{0,5}\\*?[a-z0-9_-]{1,5}") {
        prop_assert_eq!(pattern(&text).to_string(), text);
    }

    #[test]
    fn covering_pattern_matches_every_name_of_the_covered_one(
        outer in "[ab]{0,2}\\*?[ab]{0,2}", inner in "[ab]{0,3}\\*?[ab]{0,3}", middle in "[ab]{0,4}"
    ) {
        prop_assume!(!outer.is_empty() && !inner.is_empty());
        let (outer, inner) = (pattern(&outer), pattern(&inner));
        let name = inner.to_string().replace('*', &middle);
        prop_assert!(inner.matches(&name));
        prop_assert!(!outer.covers(&inner) || outer.matches(&name));
        prop_assert!(inner.covers(&inner) && pattern("*").covers(&inner));
    }
}

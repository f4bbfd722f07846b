//! Which rules are applied.

use std::{collections::BTreeSet, str::FromStr};

use serde::{Deserialize, Deserializer, de::Error};

use crate::{
    rules::{rule, rules},
    spelling::nearest,
};

/// A rule by its ID, or a group of rules by how their IDs begin: `consul`, `consul-client`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selector {
    text: String,
    is_rule: bool,
}

/// The IDs of rules, and all their beginnings up to a hyphen, which are groups.
pub fn rules_and_groups() -> BTreeSet<&'static str> {
    let groups = |id: &'static str| id.match_indices('-').filter_map(move |(at, _)| id.get(..at));
    rules().flat_map(|rule| groups(rule.id).chain([rule.id])).collect()
}

/// The message that there is no rule called `id`, with advice.
pub fn unknown_rule(id: &str) -> String {
    let name = id.escape_debug().to_string();
    let advice = match id.parse::<Selector>() {
        Ok(_) => format!("{name} is a group of rules. Name one rule; `ecs-mesh rules {name}` lists them"),
        Err(_) => advice(&name, rules().map(|rule| rule.id)),
    };
    format!("there is no rule \"{name}\"; {advice}")
}

fn advice<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    match nearest(name, names) {
        Some(likely) => format!("did you mean {likely}?"),
        None => "ecs-mesh rules lists all rules".to_owned(),
    }
}

/// A name of neither a rule nor a group of rules. The message has the most similar name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnknownSelector(String);

impl UnknownSelector {
    fn called(name: &str) -> Self {
        let name = name.escape_debug().to_string();
        let advice = advice(&name, rules_and_groups());
        Self(format!("there is no rule or group of rules \"{name}\"; {advice}"))
    }
}

impl FromStr for Selector {
    type Err = UnknownSelector;

    /// A rule's ID means this rule alone, even if the IDs of others begin with it.
    fn from_str(text: &str) -> Result<Self, UnknownSelector> {
        let selector = Self { text: text.to_owned(), is_rule: rule(text).is_some() };
        if rules().any(|rule| selector.covers(rule.id)) { Ok(selector) } else { Err(UnknownSelector::called(text)) }
    }
}

impl<'de> Deserialize<'de> for Selector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl Selector {
    /// As the user writes it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it means the rule called `id`.
    pub fn covers(&self, id: &str) -> bool {
        match id.strip_prefix(self.text.as_str()) {
            Some("") => self.is_rule,
            Some(rest) => !self.is_rule && rest.starts_with('-'),
            None => false,
        }
    }

    /// How closely it describes a rule: an ID more closely than a group, a long beginning more closely than a short one.
    pub(super) fn closeness(&self) -> (bool, usize) {
        (self.is_rule, self.text.len())
    }
}

/// The rules that the command line selects. The default is all of them.
///
/// The rules are those of ruff (<https://docs.astral.sh/ruff/linter/#rule-selection>): of two selectors, the one counts
/// that describes the rule more closely; of two equal ones, `ignore`.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The rules to apply; all, if there is none.
    pub select: Vec<Selector>,
    /// The rules not to apply.
    pub ignore: Vec<Selector>,
}

impl Selection {
    /// Whether the rule called `id` is applied.
    pub fn includes(&self, id: &str) -> bool {
        let closest =
            |selectors: &[Selector]| selectors.iter().filter(|each| each.covers(id)).map(Selector::closeness).max();
        match (closest(&self.select), closest(&self.ignore)) {
            (None, ignored) => self.select.is_empty() && ignored.is_none(),
            (Some(selected), ignored) => ignored.is_none_or(|ignored| ignored < selected),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(select: &[&str], ignore: &[&str]) -> Selection {
        let parsed = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect();
        Selection { select: parsed(select), ignore: parsed(ignore) }
    }

    #[test]
    fn everything_is_applied_by_default() {
        assert!(rules().all(|rule| Selection::default().includes(rule.id)));
    }

    #[test]
    fn a_group_is_the_beginning_of_ids_up_to_a_hyphen() {
        let client = selection(&["consul-client"], &[]);
        assert!(client.includes("consul-client-image") && !client.includes("consul-network-mode"));
    }

    #[test]
    fn the_message_about_an_unknown_rule_has_advice() {
        for (id, advice) in [
            ("consul", "consul is a group of rules. Name one rule; `ecs-mesh rules consul` lists them"),
            ("CONSUL-network-mode", "did you mean consul-network-mode?"),
            ("xyz", "ecs-mesh rules lists all rules"),
        ] {
            assert_eq!(unknown_rule(id), format!("there is no rule \"{id}\"; {advice}"));
        }
    }

    #[test]
    fn the_message_about_an_unknown_name_has_the_most_similar_rule_or_group() {
        for (name, advice) in [
            ("consul-clie", "did you mean consul-client?"),
            ("consull", "did you mean consul?"),
            ("consul-netwrk-mode", "did you mean consul-network-mode?"),
            ("xyz", "ecs-mesh rules lists all rules"),
        ] {
            let message = name.parse::<Selector>().unwrap_err().to_string();
            assert_eq!(message, format!("there is no rule or group of rules \"{name}\"; {advice}"));
        }
    }

    #[test]
    fn an_id_is_one_rule_even_if_others_begin_with_it() {
        let mount = selection(&["consul-proxy-mount"], &[]);
        assert!(mount.includes("consul-proxy-mount") && !mount.includes("consul-proxy-mount-read-only"));
    }

    #[test]
    fn the_closer_selector_counts_and_ignore_of_equal_ones() {
        for (select, ignore, is_applied) in [
            (&[][..], &["consul"][..], false),
            (&["consul"], &["consul-network-mode"], false),
            (&["consul-network-mode"], &["consul"], true),
            (&["consul"], &["consul"], false),
            (&["appmesh"], &[], false),
            (&["appmesh", "consul-network-mode"], &["ecs"], true),
        ] {
            assert_eq!(selection(select, ignore).includes("consul-network-mode"), is_applied, "{select:?} {ignore:?}");
        }
    }
}

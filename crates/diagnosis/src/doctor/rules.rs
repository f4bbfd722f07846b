//! The check of the rules that bring events, and of the schedules.

use super::{
    Read,
    commands::{Commands, word},
    report::Check,
};

const NAME: &str = "rules";

/// Whether all rules are enabled, by their names.
pub(super) fn check(rules: &Read<Vec<(String, bool)>>, commands: &Commands) -> Check {
    let rules = match rules {
        Ok(rules) => rules,
        Err(why) => return Check::unknown(NAME, why),
    };
    let disabled: Vec<&str> =
        rules.iter().filter(|(_, is_enabled)| !is_enabled).map(|(name, _)| name.as_str()).collect();
    if disabled.is_empty() {
        return Check::ok(NAME, format!("all {} rules of EventBridge are enabled", rules.len()));
    }
    let enable = disabled.iter().map(|name| commands.aws(&format!("events enable-rule --name {}", word(name))));
    Check::failed(NAME, format!("disabled: {}", disabled.join(", "))).mended_by(enable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::{CheckOutcome, commands::of_tests};

    #[test]
    fn disabled_rule_is_enabled() {
        let rules = |is_enabled| Ok(vec![("mesh-changes".to_owned(), true), ("mesh-sweep".to_owned(), is_enabled)]);
        assert_eq!(check(&rules(true), &of_tests()).outcome, CheckOutcome::Ok);
        let made = check(&rules(false), &of_tests());
        assert_eq!(made.outcome, CheckOutcome::Failed);
        assert_eq!(made.mend, ["aws events enable-rule --name mesh-sweep --region us-east-1"]);
    }

    #[test]
    fn unread_rule_is_unknown() {
        assert_eq!(check(&Err("denied".to_owned()), &of_tests()).outcome, CheckOutcome::Unknown);
    }
}

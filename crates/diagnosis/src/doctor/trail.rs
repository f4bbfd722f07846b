//! The check of `CloudTrail`, without which three features come later: docs/deploy.md, Network.

use aws::installation::Trail;

use super::{
    Read,
    commands::{Commands, word},
    report::Check,
};

const NAME: &str = "cloudtrail";
/// What happens without it.
const WITHOUT: &str =
    "tokens are created and task definitions audited later, and a deleted cluster is cleaned up by the next sweep";

/// Whether a trail logs the API calls that rules of the template wait for.
pub(super) fn check(trails: &Read<Vec<Trail>>, commands: &Commands) -> Check {
    let trails = match trails {
        Ok(trails) => trails,
        Err(why) => return Check::unknown(NAME, why),
    };
    if let Some(trail) = trails.iter().find(|trail| trail.is_logging && trail.has_writes) {
        return Check::ok(NAME, format!("{} logs API calls", trail.arn));
    }
    if let Some(trail) = trails.iter().find(|trail| trail.has_writes) {
        let start = commands.aws(&format!("cloudtrail start-logging --name {}", word(&trail.arn)));
        return Check::warning(NAME, format!("{} has been stopped: {WITHOUT}", trail.arn)).mended_by([start]);
    }
    let why = match trails.first() {
        Some(trail) => format!("{} does not log management events that change something", trail.arn),
        None => "there is no trail in the region".to_owned(),
    };
    let create = "cloudtrail create-trail --name ecs-mesh --is-multi-region-trail --s3-bucket-name BUCKET";
    let start = "cloudtrail start-logging --name ecs-mesh";
    Check::warning(NAME, format!("{why}: {WITHOUT}")).mended_by([commands.aws(create), commands.aws(start)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::{CheckOutcome, commands::of_tests};

    fn checked(trails: &[(bool, bool)]) -> Check {
        let trail =
            |&(is_logging, has_writes): &(bool, bool)| Trail { arn: "arn:trail".to_owned(), is_logging, has_writes };
        check(&Ok(trails.iter().map(trail).collect()), &of_tests())
    }

    #[test]
    fn one_trail_that_logs_writes_suffices() {
        assert_eq!(checked(&[(false, true), (true, true)]).outcome, CheckOutcome::Ok);
    }

    #[test]
    fn stopped_trail_is_started() {
        let made = checked(&[(false, true)]);
        assert_eq!(made.outcome, CheckOutcome::Warning);
        assert_eq!(made.mend, ["aws cloudtrail start-logging --name arn:trail --region us-east-1"]);
    }

    #[test]
    fn trail_without_management_events_is_none() {
        assert!(checked(&[(true, false)]).seen.starts_with("arn:trail does not log management events"));
        let none = checked(&[]);
        assert!(none.seen.starts_with("there is no trail in the region: tokens are created"), "{}", none.seen);
        assert!(none.mend[0].starts_with("aws cloudtrail create-trail "));
    }

    #[test]
    fn unread_trail_is_unknown() {
        assert_eq!(check(&Err("denied".to_owned()), &of_tests()).outcome, CheckOutcome::Unknown);
    }
}

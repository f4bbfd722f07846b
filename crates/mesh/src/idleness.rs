//! Whether a service has been without tasks for long enough that its token may go.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{arn::TaskArn, identity::MeshService, phase::TaskPhase, token::ListedToken};
use crate::mutant::{self, Mutant};

/// A task, and every service that it could be an instance of: one by its own tags, one by its definition's. The two
/// differ only where a user overrides tags, and then neither may lose its token.
#[derive(Debug, Clone)]
pub struct ServiceTask {
    /// The task.
    pub arn: TaskArn,
    /// Where it stands.
    pub phase: TaskPhase,
    /// When it stopped for good, if it did.
    pub stopped_at: Option<Timestamp>,
    /// The services that it may be an instance of.
    pub services: Vec<MeshService>,
}

/// How a service stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Idleness {
    /// This task of it is not stopped.
    Living(TaskArn),
    /// No task of it lives, but this one stopped within the grace period; the look that its own stop asked for is
    /// still to come.
    RecentlyStopped(TaskArn),
    /// It has had no task for the whole grace period.
    Idle,
}

/// How the grace period is divided, so that a token is never revoked while an environment still trusts it.
///
/// A token is revoked only after its service had no living task for `quiet()`. An environment that saw a task
/// active at time *t* trusts the token until *t* + `trusted()`, for tasks in the same cluster: ECS shows its stopped tasks
/// for longer than that, unless the cluster was deleted, and then no task starts there. A revocation within that time would
/// need *t* to lie in the quiet time before it, when the service had no living task: a contradiction. The gap between the
/// two absorbs the difference between clocks. ECS's lists may lag behind and leave a task out that has just started; the
/// look that follows every revocation finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GracePeriod(Duration);

impl GracePeriod {
    /// A grace period of whole seconds (`RevocationGraceSeconds`).
    #[must_use]
    pub fn from_secs(seconds: u16) -> Self {
        Self(Duration::from_secs(seconds.into()))
    }

    /// How long after the last stop the service is looked at again.
    #[must_use]
    pub fn delay(self) -> Duration {
        self.0
    }

    /// How long a service must have been without tasks before its token goes. Shorter than the delay, or a look
    /// that comes a moment early would wait for a look that nobody asked for.
    #[must_use]
    pub fn quiet(self) -> Duration {
        self.0.mul_f64(if mutant::is(Mutant::NoGrace) { 0.0 } else { 0.9 })
    }

    /// For how long after a look was asked for no other needs to be asked for: it serves the stops of this time as well.
    ///
    /// The look comes no sooner than `delay()` after it was asked for. A task that has stopped by `covered()` after that
    /// has then been gone for `delay() - covered()`, which is more than `quiet()`; the gap absorbs the difference between
    /// clocks.
    #[must_use]
    pub fn covered(self) -> Duration {
        self.0.mul_f64(0.05)
    }

    /// How long a token may be trusted after its service was seen active.
    #[must_use]
    pub fn trusted(self) -> Duration {
        self.0.mul_f64(0.5)
    }
}

/// Whether a token is so new that the task which it was made for may be missing from a list of tasks that is older than
/// the token. Whatever else is seen, its service is not idle yet.
#[must_use]
pub fn is_new(token: &ListedToken, now: Timestamp, grace: GracePeriod) -> bool {
    // Not knowing is no licence to take it away.
    token.created_at.is_none_or(|at| elapsed(at, now) < quiet(grace))
}

/// How `service` stands at `now`, judged by every task of every cluster that it may run in. A task that names no
/// partition and namespace is one of the `default` ones, whose tokens may be seen either way.
#[must_use]
pub fn judge(service: &MeshService, tasks: &[ServiceTask], now: Timestamp, grace: GracePeriod) -> Idleness {
    let is_same = |other: &MeshService| other.name == service.name && other.tenancy.is_same_place(&service.tenancy);
    let mut own = tasks.iter().filter(|task| task.services.iter().any(is_same));
    if let Some(living) = own.clone().find(|task| task.phase.is_living()) {
        return Idleness::Living(living.arn.clone());
    }
    let recent = own.find(|task| task.stopped_at.is_some_and(|at| elapsed(at, now) < quiet(grace)));
    recent.map_or(Idleness::Idle, |task| Idleness::RecentlyStopped(task.arn.clone()))
}

/// The clock of whoever said `at` may be ahead of ours.
fn elapsed(at: Timestamp, now: Timestamp) -> SignedDuration {
    now.duration_since(at).max(SignedDuration::ZERO)
}

fn quiet(grace: GracePeriod) -> SignedDuration {
    SignedDuration::try_from(grace.quiet()).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tenancy::Tenancy;

    fn service(name: &str) -> MeshService {
        MeshService { tenancy: Tenancy::Community, name: name.parse().unwrap() }
    }

    fn task(phase: TaskPhase, stopped_at: Option<i64>, services: &[&str]) -> ServiceTask {
        ServiceTask {
            arn: "arn:aws:ecs:us-east-1:123456789012:task/prod/0123456789abcdef0123456789abcdef".parse().unwrap(),
            phase,
            stopped_at: stopped_at.map(|second| Timestamp::from_second(second).unwrap()),
            services: services.iter().map(|name| service(name)).collect(),
        }
    }

    fn judged(tasks: &[ServiceTask]) -> Idleness {
        judge(&service("web"), tasks, Timestamp::from_second(1_000).unwrap(), GracePeriod::from_secs(300))
    }

    #[test]
    fn a_stopping_task_keeps_its_service_alive() {
        assert!(matches!(judged(&[task(TaskPhase::Stopping, None, &["web"])]), Idleness::Living(_)));
    }

    #[test]
    fn a_task_that_may_be_of_two_services_keeps_both() {
        assert!(matches!(judged(&[task(TaskPhase::Active, None, &["blue", "web"])]), Idleness::Living(_)));
    }

    #[test]
    fn a_service_that_crashed_a_moment_ago_is_not_idle() {
        let stopped = |at| judged(&[task(TaskPhase::Stopped, Some(at), &["web"])]);
        assert!(matches!(stopped(900), Idleness::RecentlyStopped(_)));
        assert_eq!(stopped(700), Idleness::Idle);
    }

    #[test]
    fn a_token_is_new_for_as_long_as_a_service_has_to_be_quiet() {
        let is_new = |created_at: Option<i64>, grace| {
            let token = ListedToken {
                accessor: "00000000-0000-5000-8000-000000000001".parse().unwrap(),
                description: String::new(),
                policies: Vec::new(),
                created_at: created_at.map(|second| Timestamp::from_second(second).unwrap()),
                tenancy: Tenancy::Community,
            };
            is_new(&token, Timestamp::from_second(1_000).unwrap(), GracePeriod::from_secs(grace))
        };
        assert!(is_new(Some(731), 300) && !is_new(Some(730), 300));
        assert!(is_new(Some(1_060), 300), "Consul's clock may be ahead of ours");
        assert!(!is_new(Some(1_060), 0), "without a grace period nothing waits");
        assert!(is_new(None, 300), "one whose age is not known may be new");
    }

    #[test]
    fn other_services_do_not_count() {
        assert_eq!(judged(&[task(TaskPhase::Active, None, &["api"])]), Idleness::Idle);
        assert_eq!(judged(&[]), Idleness::Idle);
    }

    #[test]
    fn a_service_that_names_the_default_namespace_is_the_one_that_names_none() {
        let in_default =
            MeshService { tenancy: Tenancy::default_namespace_of("default".parse().unwrap()), ..service("web") };
        let in_another =
            MeshService { tenancy: Tenancy::default_namespace_of("team-a".parse().unwrap()), ..service("web") };
        let of = |service: MeshService| ServiceTask { services: vec![service], ..task(TaskPhase::Active, None, &[]) };
        assert!(matches!(judged(&[of(in_default)]), Idleness::Living(_)), "both mean the same token");
        assert_eq!(judged(&[of(in_another)]), Idleness::Idle);
    }

    proptest! {
        /// The proof at [`GracePeriod::covered`]: whoever stops within that time is judged idle by the look that was asked
        /// for at `asked`, even if the clock of whoever looks is a little behind.
        #[test]
        fn a_look_serves_the_stops_of_a_little_later_as_well(
            seconds in 20u16..=900,
            asked in 0i64..2_000,
            stopped_after in 0f64..=1.0,
            late in 0i64..2_000,
        ) {
            let grace = GracePeriod::from_secs(seconds);
            let at = |after: Duration| {
                Timestamp::from_second(asked).unwrap() + SignedDuration::try_from(after).unwrap()
            };
            let clocks = SignedDuration::from_secs((i64::from(seconds) / 20 - 1).min(late));
            let mut task = task(TaskPhase::Stopped, None, &["web"]);
            task.stopped_at = Some(at(grace.covered().mul_f64(stopped_after)));
            let now = at(grace.delay()) - clocks + SignedDuration::from_secs(late);
            prop_assert_eq!(judge(&service("web"), &[task], now, grace), Idleness::Idle);
        }

        /// The proof at [`GracePeriod`]: a task seen active at `seen` stopped at or after that, and whenever its service
        /// is judged idle, nobody who saw it trusts the token any more.
        #[test]
        fn nobody_trusts_a_token_that_may_be_revoked(
            seconds in 0u16..=900,
            seen in 0i64..2_000,
            stopped_after in 0i64..2_000,
            judged_after in 0i64..2_000,
        ) {
            let grace = GracePeriod::from_secs(seconds);
            let (stopped, now) = (seen + stopped_after, seen + stopped_after + judged_after);
            let task = task(TaskPhase::Stopped, Some(stopped), &["web"]);
            let verdict = judge(&service("web"), &[task], Timestamp::from_second(now).unwrap(), grace);
            let trusted_until = Duration::from_secs(u64::try_from(seen).unwrap()) + grace.trusted();
            let is_trusted = Duration::from_secs(u64::try_from(now).unwrap()) < trusted_until;
            prop_assert!(!(verdict == Idleness::Idle && is_trusted));
        }
    }
}

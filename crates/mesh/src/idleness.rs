//! Whether a service has been without tasks for long enough that its token may go.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{arn::TaskArn, identity::MeshService, phase::TaskPhase, secret::Retirement};
use crate::mutant::{self, Mutant};

/// A task, and every service that it could be an instance of: one by its own tags, one by its definition's. The two
/// differ only where a user overrides tags, and then neither may lose its token.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Every task of every cluster, as ECS lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskListing {
    /// When the listing began, by the function's clock.
    pub listed_at: Timestamp,
    /// The tasks.
    pub tasks: Vec<ServiceTask>,
}

/// How a service stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Idleness {
    /// This task of it is not stopped.
    Living(TaskArn),
    /// No task of it lives, but this one stopped within the grace period; the look that its own stop asked for is
    /// still to come.
    RecentlyStopped(TaskArn),
    /// It has had no task for the whole grace period: since when, as far as ECS still shows its last task.
    Idle(Retirement),
}

/// How long an idle service keeps its token. ECS shows stopped tasks for an hour, so that it can be 50 minutes at most.
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
}

/// How `service` stands at `now`, judged by every task of every cluster that it may run in. A task that names no
/// partition and namespace is one of the `default` ones, whose tokens may be seen either way.
#[must_use]
pub fn judge(service: &MeshService, listing: &TaskListing, now: Timestamp, grace: GracePeriod) -> Idleness {
    let is_same = |other: &MeshService| other.name == service.name && other.tenancy.is_same_place(&service.tenancy);
    let own = || listing.tasks.iter().filter(|task| task.services.iter().any(is_same));
    if let Some(living) = own().find(|task| task.phase.is_living()) {
        return Idleness::Living(living.arn.clone());
    }
    let last = own().max_by_key(|task| task.stopped_at);
    match last {
        Some(task) if task.stopped_at.is_some_and(|at| elapsed(at, now) < quiet(grace)) => {
            Idleness::RecentlyStopped(task.arn.clone())
        }
        _ => Idleness::Idle(Retirement {
            trigger: None,
            idle_since: last.and_then(|task| task.stopped_at),
            last_task: last.map(|task| task.arn.clone()),
        }),
    }
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
        let listing = TaskListing { listed_at: Timestamp::MIN, tasks: tasks.to_vec() };
        judge(&service("web"), &listing, Timestamp::from_second(1_000).unwrap(), GracePeriod::from_secs(300))
    }

    fn never_used() -> Idleness {
        Idleness::Idle(Retirement::default())
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
        let idle = stopped(700);
        let Idleness::Idle(retirement) = idle else { panic!("{idle:?}") };
        assert_eq!(retirement.idle_since, Timestamp::from_second(700).ok());
        assert!(retirement.last_task.is_some());
    }

    #[test]
    fn other_services_do_not_count() {
        assert_eq!(judged(&[task(TaskPhase::Active, None, &["api"])]), never_used());
        assert_eq!(judged(&[]), never_used());
    }

    #[test]
    fn a_service_that_names_the_default_namespace_is_the_one_that_names_none() {
        let in_default =
            MeshService { tenancy: Tenancy::default_namespace_of("default".parse().unwrap()), ..service("web") };
        let in_another =
            MeshService { tenancy: Tenancy::default_namespace_of("team-a".parse().unwrap()), ..service("web") };
        let of = |service: MeshService| ServiceTask { services: vec![service], ..task(TaskPhase::Active, None, &[]) };
        assert!(matches!(judged(&[of(in_default)]), Idleness::Living(_)), "both mean the same token");
        assert_eq!(judged(&[of(in_another)]), never_used());
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
            let listing = TaskListing { listed_at: now, tasks: vec![task] };
            prop_assert!(matches!(judge(&service("web"), &listing, now, grace), Idleness::Idle(_)));
        }
    }
}

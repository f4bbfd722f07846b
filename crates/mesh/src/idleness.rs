//! Whether a service has been without tasks for long enough that its token may go.

use jiff::Timestamp;

use super::{arn::TaskArn, identity::MeshService, lifecycle::Idle, phase::TaskPhase, rules::Rules, secret::Retirement};
use crate::time::elapsed;

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
    /// It has had no task for the whole grace period.
    Idle(Idle),
}

/// How `service` stands, judged by every task of every cluster that it may run in. A task that names no partition and
/// namespace is one of the `default` ones, whose tokens may be seen either way.
#[must_use]
pub fn judge(service: &MeshService, listing: &TaskListing, rules: Rules<'_>) -> Idleness {
    let is_same = |other: &MeshService| other.name == service.name && other.tenancy.is_same_place(&service.tenancy);
    let own = || listing.tasks.iter().filter(|task| task.services.iter().any(is_same));
    if let Some(living) = own().find(|task| task.phase.is_living()) {
        return Idleness::Living(living.arn.clone());
    }
    let last = own().max_by_key(|task| task.stopped_at);
    match last {
        Some(task) if task.stopped_at.is_some_and(|at| elapsed(at, rules.now) < rules.grace.quiet()) => {
            Idleness::RecentlyStopped(task.arn.clone())
        }
        _ => Idleness::Idle(Idle {
            retirement: Retirement {
                trigger: Some(rules.trigger),
                idle_since: last.and_then(|task| task.stopped_at),
                last_task: last.map(|task| task.arn.clone()),
            },
            listed_at: listing.listed_at,
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        bounds::Bounds, grace::GracePeriod, rules::TokenMode, secret::Trigger, secret_name::SecretNames,
        tenancy::Tenancy,
    };

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

    fn judged_at(now: Timestamp, grace: GracePeriod, tasks: &[ServiceTask]) -> Idleness {
        let cluster = "arn:aws:ecs:us-east-1:123456789012:cluster/prod".parse().unwrap();
        let names = SecretNames::new("consul-ecs".parse().unwrap(), None, Tenancy::Community, &cluster);
        let rules = Rules {
            mode: TokenMode::AuthMethod,
            clusters: &[],
            names: &names,
            grace,
            bounds: &Bounds::DEFAULT,
            unused_for: Duration::ZERO,
            trigger: Trigger::Sweep,
            now,
        };
        judge(&service("web"), &TaskListing { listed_at: Timestamp::MIN, tasks: tasks.to_vec() }, rules)
    }

    fn judged(tasks: &[ServiceTask]) -> Idleness {
        judged_at(Timestamp::from_second(1_000).unwrap(), GracePeriod::from_secs(300), tasks)
    }

    fn never_used() -> Idleness {
        let retirement = Retirement { trigger: Some(Trigger::Sweep), ..Retirement::default() };
        Idleness::Idle(Idle { retirement, listed_at: Timestamp::MIN })
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
        let Idleness::Idle(Idle { retirement, .. }) = idle else { panic!("{idle:?}") };
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
        /// The proof at [`GracePeriod::covers`]: a task that stops within that time is judged idle by the look that was asked
        /// for at `asked`, even if the clock of the function that looks is a little behind.
        #[test]
        fn a_look_serves_the_stops_of_a_little_later_as_well(
            seconds in 20u16..=900,
            asked in 0i64..2_000,
            stopped_after in 0u64..50,
            late in 0u64..2_000,
            behind in 0u64..45,
        ) {
            let grace = GracePeriod::from_secs(seconds);
            let at = |after| Timestamp::from_second(asked).unwrap() + after;
            let stopped_at = at(Duration::from_secs(stopped_after));
            prop_assume!(grace.covers(at(Duration::ZERO), stopped_at));
            let clocks = Duration::from_secs(behind.min(u64::from(seconds) / 20 - 1));
            let mut task = task(TaskPhase::Stopped, None, &["web"]);
            task.stopped_at = Some(stopped_at);
            let now = at(grace.delay()) - clocks + Duration::from_secs(late);
            prop_assert!(matches!(judged_at(now, grace, &[task]), Idleness::Idle(_)));
        }
    }
}

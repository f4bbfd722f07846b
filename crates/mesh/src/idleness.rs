//! Idleness: whether no task has used the token of a holder for the grace period.

use jiff::Timestamp;

use crate::{
    arn::TaskArn,
    holder::TokenHolder,
    lifecycle::Idle,
    secret::Retirement,
    secret_name::HolderSecret,
    settings::{PlanSettings, TokenMode},
    task::MeshTask,
    time::elapsed,
};

/// Every task of every cluster of the deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskListing {
    /// When the listing started, by the clock of the function.
    pub listed_at: Timestamp,
    pub tasks: Vec<MeshTask>,
}

/// Whether the token of a holder is idle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Idleness {
    /// This task, which is not stopped, may use the token.
    Living(TaskArn),
    /// Every task that may have used it is stopped, this one within the grace period. Its own idle check is still to
    /// come.
    RecentlyStopped(TaskArn),
    /// No task may have used it for the grace period.
    Idle(Idle),
}

/// Whether the token of `holder` is idle. A task without partition and namespace counts for `default`, because its token
/// may be listed with or without them.
pub fn judge(holder: &TokenHolder, listing: &TaskListing, settings: PlanSettings<'_>) -> Idleness {
    let secret = settings.names.secret_of(holder);
    let own = || listing.tasks.iter().filter(|task| task.may_use(holder, &secret, settings));
    if let Some(living) = own().find(|task| task.phase.is_living()) {
        return Idleness::Living(living.arn.clone());
    }
    let last = own().max_by_key(|task| task.stopped_at);
    match last {
        Some(task) if task.stopped_at.is_some_and(|at| elapsed(at, settings.now) < settings.grace.quiet()) => {
            Idleness::RecentlyStopped(task.arn.clone())
        }
        _ => Idleness::Idle(Idle {
            retirement: Retirement {
                trigger: Some(settings.trigger),
                idle_since: last.and_then(|task| task.stopped_at),
                last_task: last.map(|task| task.arn.clone()),
            },
            listed_at: listing.listed_at,
        }),
    }
}

impl MeshTask {
    /// Whether the task may use the holder's token: it reads the secret; or, in the explicit modes, it is an instance of
    /// the service, whether its definition says so or not.
    fn may_use(&self, holder: &TokenHolder, secret: &HolderSecret<'_>, settings: PlanSettings<'_>) -> bool {
        let is_instance = || self.identities().any(|identity| holder.is_of_service(&identity.service));
        self.secrets.iter().any(|reference| secret.is(reference)) || settings.mode != TokenMode::Auto && is_instance()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        examples::{clusters, identity, service, unidentified},
        identity::MeshService,
        secret::Trigger,
        secret_name::SecretNames,
        secret_reference::SecretReference,
        task::TaskPhase,
        tenancy::Tenancy,
        time::{Bounds, GracePeriod},
    };

    /// A task of these services: by its own tags, and by the tags of its definition.
    fn task(phase: TaskPhase, stopped_at: Option<i64>, services: &[&str]) -> MeshTask {
        let mut identities = services.iter().map(|name| identity(service(name)));
        MeshTask {
            stopped_at: stopped_at.map(|second| Timestamp::from_second(second).unwrap()),
            identity: identities.next(),
            identity_by_definition: identities.next(),
            ..unidentified("prod", 1, phase)
        }
    }

    fn judged_at(now: Timestamp, grace: GracePeriod, tasks: &[MeshTask]) -> Idleness {
        judged_in(TokenMode::AuthMethod, now, grace, tasks)
    }

    fn judged_in(mode: TokenMode, now: Timestamp, grace: GracePeriod, tasks: &[MeshTask]) -> Idleness {
        let clusters = clusters("prod");
        let names = SecretNames::new("consul-ecs".parse().unwrap(), None, Tenancy::Community, &clusters);
        let settings = PlanSettings {
            mode,
            clusters: &clusters,
            names: &names,
            grace,
            bounds: &Bounds::DEFAULT,
            unused_for: Duration::ZERO,
            trigger: Trigger::Sweep,
            now,
        };
        judge(
            &TokenHolder::Service(service("web")),
            &TaskListing { listed_at: Timestamp::MIN, tasks: tasks.to_vec() },
            settings,
        )
    }

    fn judged(tasks: &[MeshTask]) -> Idleness {
        judged_at(Timestamp::from_second(1_000).unwrap(), GracePeriod::from_secs(300), tasks)
    }

    fn never_used() -> Idleness {
        let retirement = Retirement { trigger: Some(Trigger::Sweep), ..Retirement::default() };
        Idleness::Idle(Idle { retirement, listed_at: Timestamp::MIN })
    }

    #[test]
    fn service_with_a_stopping_task_is_not_idle() {
        assert!(matches!(judged(&[task(TaskPhase::Stopping, None, &["web"])]), Idleness::Living(_)));
    }

    #[test]
    fn task_may_count_for_two_services() {
        assert!(matches!(judged(&[task(TaskPhase::Active, None, &["blue", "web"])]), Idleness::Living(_)));
    }

    #[test]
    fn service_is_not_idle_within_the_grace_period() {
        let stopped = |at| judged(&[task(TaskPhase::Stopped, Some(at), &["web"])]);
        assert!(matches!(stopped(900), Idleness::RecentlyStopped(_)));
        let idle = stopped(700);
        let Idleness::Idle(Idle { retirement, .. }) = idle else { panic!("{idle:?}") };
        assert_eq!(retirement.idle_since, Timestamp::from_second(700).ok());
        assert!(retirement.last_task.is_some());
    }

    #[test]
    fn tasks_of_other_services_do_not_count() {
        assert_eq!(judged(&[task(TaskPhase::Active, None, &["api"])]), never_used());
        assert_eq!(judged(&[]), never_used());
    }

    #[test]
    fn in_mode_auto_only_tasks_that_read_the_secret_count() {
        let judged = |secrets: &[&str]| {
            let secrets = secrets.iter().map(|secret| SecretReference::parse(secret).unwrap()).collect();
            let task = MeshTask { secrets, ..task(TaskPhase::Active, None, &["web"]) };
            let now = Timestamp::from_second(1_000).unwrap();
            judged_in(TokenMode::Auto, now, GracePeriod::from_secs(300), &[task])
        };
        assert_eq!(judged(&[]), never_used(), "a task that logs in");
        assert_eq!(judged(&["consul-ecs-api"]), never_used());
        assert!(matches!(judged(&["consul-ecs-web"]), Idleness::Living(_)));
        let pinned = "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ecs-web-AbCdEf:token:AWSPREVIOUS:";
        assert!(matches!(judged(&[pinned]), Idleness::Living(_)), "a named version may be the current one");
    }

    #[test]
    fn default_namespace_equals_no_namespace() {
        let in_default =
            MeshService { tenancy: Tenancy::default_namespace_of("default".parse().unwrap()), ..service("web") };
        let in_another =
            MeshService { tenancy: Tenancy::default_namespace_of("team-a".parse().unwrap()), ..service("web") };
        let of = |service| MeshTask { identity: Some(identity(service)), ..task(TaskPhase::Active, None, &[]) };
        assert!(matches!(judged(&[of(in_default)]), Idleness::Living(_)), "both have the same token");
        assert_eq!(judged(&[of(in_another)]), never_used());
    }

    proptest! {
        /// The claim of [`GracePeriod::covers`]: a task that stops within that time is idle for the check requested at
        /// `asked`, even if the clock of the checking function is slightly behind.
        #[test]
        fn check_covers_tasks_that_stop_shortly_after_its_request(
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

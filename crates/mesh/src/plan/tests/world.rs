//! Generators of observations: a mesh of two clusters, and other users of the same Consul, in any state and order.
//!
//! Few tasks, names and tenancies, so that objects refer to each other: tasks 0 to 5 may be known, 6 and 7 never are.

use proptest::{collection::vec, option, prelude::*, sample::Index};

use super::{catalog::*, *};
use crate::{host, mark::TokenDescription};

/// An observation of events, of a partial or of a complete sweep.
pub(super) fn any_observed() -> impl Strategy<Value = Observed> {
    prop_oneof![any_events(), any_partial_sweep(), any_sweep()]
}

/// An observation of events.
pub(super) fn any_events() -> impl Strategy<Value = Observed> {
    any_sweep().prop_map(|observed| Observed { coverage: Coverage::Events, ..observed })
}

/// An observation of a sweep that could not read every cluster.
pub(super) fn any_partial_sweep() -> impl Strategy<Value = Observed> {
    any_sweep().prop_map(|observed| Observed { coverage: Coverage::Clusters(None), ..observed })
}

prop_compose! {
    /// An observation of a sweep that could read everything.
    pub(super) fn any_sweep()(
        tasks in any_tasks(),
        tokens in vec(any_token(), 0..10),
        instances in vec(any_instance(), 0..12),
        checks in vec((any::<Index>(), any_status(), any_drain()), 0..8),
        strays in vec((any_instance(), any_status(), any_drain()), 0..3),
        agents in vec(any_agent(), 0..4),
        leftovers in vec(any_leftover(), 0..3),
        provisioned in vec(any_holder(), 0..4),
        ages in vec(any_age(), 12),
        elsewhere in vec((any_phase(), any_age(), any_service()), 0..4),
        secrets in vec((any_secret_kind(), any::<bool>(), any_secret_age()), 10),
    ) -> Observed {
        let instances = distinct_by(instances, |i| (i.node.clone(), i.id.clone(), i.tenancy.clone()));
        let checked = checks.iter().filter(|_| !instances.is_empty());
        let checked = checked.map(|(i, status, drain)| check_of(i.get(&instances), *status, *drain));
        let strays = strays.iter().map(|(instance, status, drain)| check_of(instance, *status, *drain));
        let checks = distinct_by(checked.chain(strays).collect(), |c| (c.node.clone(), c.id.clone(), c.tenancy.clone()));
        let agents = agents.iter().zip(0..).map(|(agent, number)| agent.host(number, &tasks)).collect();
        let nodes = leftovers.into_iter().map(|node| with_services(node, &instances)).collect();
        let tokens = distinct_by(tokens, |token| token.accessor);
        let listing = TaskListing { listed_at: now(), tasks: all_tasks(&tasks, &ages, elsewhere) };
        Observed {
            secrets: secrets_of(&tokens, &secrets),
            tokens,
            checks,
            agents,
            leftover_nodes: distinct_by(nodes, |node: &LeftoverNode| (node.cluster.clone(), node.tenancy.clone())),
            provisioned: provisioned.into_iter().collect(),
            coverage: Coverage::Clusters(Some(listing)),
            instances,
            tasks,
            ..Observed::default()
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum SecretKind {
    Missing,
    Empty,
    Active,
    Retiring,
}

fn any_secret_kind() -> impl Strategy<Value = SecretKind> {
    use SecretKind::{Active, Empty, Missing, Retiring};
    prop::sample::select(vec![Missing, Empty, Empty, Empty, Active, Active, Active, Retiring, Retiring, Retiring])
}

/// In seconds: about the time that a token is hidden, and about the time that a version stays.
fn any_secret_age() -> impl Strategy<Value = i64> {
    prop_oneof![1 => 0i64..400, 1 => 2_600i64..2_800, 2 => Just(100_000)]
}

/// The secrets of the services that tokens are marked for: each contains the last of them, or none.
fn secrets_of(tokens: &[ListedToken], kinds: &[(SecretKind, bool, i64)]) -> BTreeMap<TokenHolder, StoredSecret> {
    let mut secrets = BTreeMap::new();
    for (token, (kind, is_ours, age)) in tokens.iter().zip(kinds) {
        let Some(mark) = token.mark().filter(|mark| mark.service.is_some()) else { continue };
        let named = naming(token.accessor, matches!(kind, SecretKind::Retiring));
        let (state, is_ours) = match kind {
            SecretKind::Missing => (SecretState::Missing, false),
            SecretKind::Empty => (SecretState::Empty, *is_ours),
            SecretKind::Active => (named.state.clone(), *is_ours),
            SecretKind::Retiring => (named.state.clone(), true),
        };
        let Some(holder) = names().holder_of(mark, &token.tenancy) else { continue };
        secrets.insert(holder, StoredSecret { state, is_ours, written_at: Some(seconds_ago(*age)), ..named });
    }
    secrets
}

fn distinct_by<T, K: Ord>(all: Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut seen = BTreeSet::new();
    all.into_iter().filter(|one| seen.insert(key(one))).collect()
}

fn any_phase() -> impl Strategy<Value = TaskPhase> {
    prop::sample::select(vec![TaskPhase::Active, TaskPhase::Stopping, TaskPhase::Stopped])
}

fn any_status() -> impl Strategy<Value = CheckStatus> {
    prop::sample::select(vec![CheckStatus::Passing, CheckStatus::Warning, CheckStatus::Critical])
}

/// In seconds: about the grace period, about the day that an unused token waits, and of clocks that differ.
fn any_age() -> impl Strategy<Value = i64> {
    prop_oneof![-60i64..600, 86_000i64..87_000]
}

pub(super) fn any_tenancy() -> impl Strategy<Value = Tenancy> {
    let all = [Tenancy::Community, enterprise("default", "default"), enterprise("team-a", "web")];
    prop_oneof![2 => Just(Tenancy::Community), 1 => prop::sample::select(all.to_vec())]
}

prop_compose! {
    fn any_service()(tenancy in any_tenancy(), name in prop::sample::select(vec!["web", "api", "edge"])) -> MeshService {
        MeshService { tenancy, ..service(name) }
    }
}

fn any_holder() -> impl Strategy<Value = TokenHolder> {
    prop_oneof![
        any_service().prop_map(TokenHolder::Service),
        any_service().prop_map(|service| Naming::Spelled.holder(service)),
        any_tenancy().prop_map(|tenancy| TokenHolder::Client { tenancy }),
    ]
}

/// What the secret that a task reads is named by.
#[derive(Debug, Clone, Copy)]
enum Naming {
    Service,
    Spelled,
}

impl Naming {
    fn holder(self, service: MeshService) -> TokenHolder {
        match self {
            Self::Service => TokenHolder::Service(service),
            Self::Spelled => {
                let secret = service.secret_name().to_ascii_uppercase();
                TokenHolder::in_secret(service, &secret).unwrap()
            }
        }
    }

    fn secret_of(self, service: &MeshService) -> SecretReference {
        SecretReference::parse(&names().of(&self.holder(service.clone()))).unwrap()
    }
}

fn any_tasks() -> impl Strategy<Value = Vec<MeshTask>> {
    let place = (prop::sample::select(vec!["prod", "test"]), 0u8..6);
    let reads = prop::sample::subsequence(vec![Naming::Service, Naming::Spelled], 0..=2);
    let service = (any_service(), prop::bool::weighted(0.2), reads);
    let host =
        prop::sample::select(vec![host::Host::Unknown, host::Host::Running, host::Host::Running, host::Host::Gone]);
    let of = (any_phase(), option::weighted(0.8, service), any::<bool>(), (prop::bool::weighted(0.3), host));
    prop::collection::btree_map(place, of, 0..10).prop_map(|tasks| {
        let member_as = |(service, is_gateway, reads): (MeshService, bool, Vec<Naming>)| {
            let secrets = reads.iter().map(|naming| naming.secret_of(&service)).collect();
            MeshIdentity { gateway: is_gateway.then_some(GatewayKind::MeshGateway), secrets, ..identity(service) }
        };
        let build = |((cluster_name, number), (phase, identity, runs_client_agent, (proxy, host))): (
            (_, _),
            (_, Option<_>, _, (_, _)),
        )| {
            let identity = identity.map(member_as);
            let tenancy = identity.as_ref().map_or(Tenancy::Community, |identity| identity.service.tenancy.clone());
            MeshTask {
                tenancy,
                identity,
                runs_client_agent,
                losses: Losses { proxy, health_sync: false },
                host,
                ..task(cluster_name, number, phase, "web")
            }
        };
        tasks.into_iter().map(build).collect()
    })
}

/// The listed tasks: those of the sweep, and some of clusters that were not swept.
fn all_tasks(tasks: &[MeshTask], ages: &[i64], elsewhere: Vec<(TaskPhase, i64, MeshService)>) -> Vec<MeshTask> {
    let stopped_at = |phase, age| (phase == TaskPhase::Stopped).then(|| seconds_ago(age));
    let swept = tasks.iter().zip(ages).map(|(task, age)| MeshTask {
        stopped_at: stopped_at(task.phase, *age),
        secrets: task.identity.iter().flat_map(|identity| identity.secrets.iter().cloned()).collect(),
        ..task.clone()
    });
    let others = elsewhere.into_iter().zip(20..).map(|((phase, age, service), number)| MeshTask {
        stopped_at: stopped_at(phase, age),
        secrets: [Naming::Service.secret_of(&service)].into(),
        identity: Some(identity(service)),
        ..task("test", number, phase, "web")
    });
    swept.chain(others).collect()
}

/// A cluster as marks name it: a configured one by ARN or by name, another one, or one of that name in another account.
fn any_cluster_mark() -> impl Strategy<Value = String> {
    let ours = ["prod", "test"].map(|name| cluster(name).to_string()).to_vec();
    let foreign = "arn:aws:ecs:us-east-1:999999999999:cluster/prod".to_owned();
    let others = vec!["prod".to_owned(), "test".to_owned(), "other".to_owned(), cluster("other").to_string(), foreign];
    prop_oneof![prop::sample::select(ours), prop::sample::select(others)]
}

fn any_token() -> impl Strategy<Value = ListedToken> {
    let accessor = 1u128..1_000_000;
    let login = (accessor.clone(), any_cluster_mark(), 0u8..8, any_tenancy())
        .prop_map(|(accessor, mark, task, tenancy)| ListedToken { tenancy, ..logged_in(accessor, &mark, task) });
    let unmarked = ["", "by hand", "token created via login", "Token for web service", "Token for  service\n: prod"];
    let by_hand =
        (accessor, prop::sample::select(unmarked.to_vec())).prop_map(|(accessor, text)| token(accessor, text));
    prop_oneof![3 => login, 4 => any_holder_s_token(), 1 => by_hand]
}

prop_compose! {
    /// A token of a controller: for this secret, for another, or of consul-ecs; in its tenancy or another, used or
    /// unused, with its marks or with another description.
    fn any_holder_s_token()(
        holder in any_holder(),
        mark in any_cluster_mark(),
        accessor in 1u128..1_000_000,
        place in prop::sample::select(vec![None, Some(true), Some(true), Some(false)]),
        unused_for in option::weighted(0.3, any_age()),
        astray in option::weighted(0.2, any_tenancy()),
        is_renamed in prop::bool::weighted(0.1),
        age in option::weighted(0.9, any_age()),
    ) -> ListedToken {
        let ours = cluster("prod");
        let text = holder.token_description(&ours).as_str().replace(ours.as_str(), &mark);
        let mut description = TokenDescription::from(text);
        if let Some(is_this) = place {
            let place = if is_this { names().place_of(&holder) } else { "another".to_owned() };
            description = description.for_secret(&place);
        }
        if let Some(age) = unused_for {
            description = description.with_unused_since(seconds_ago(age));
        }
        if is_renamed {
            description = "renamed by an operator".into();
        }
        ListedToken {
            accessor: token(accessor, "").accessor,
            tenancy: astray.unwrap_or_else(|| holder.tenancy().clone()),
            created_at: age.map(seconds_ago),
            ..token(0, description.as_str())
        }
    }
}

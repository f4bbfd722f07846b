//! The truth: what ECS, Consul, Secrets Manager and SQS hold, whatever anybody sees of it.

use std::collections::{BTreeMap, BTreeSet};

use controller::{Scope, settings::Settings};
use fastrand::Rng;
use jiff::Timestamp;
use mesh::{identity::MeshService, rules::TokenMode, service_name::ServiceName, tenancy::Tenancy, token::TokenHolder};

use super::{
    board::{Fault, Service},
    consul::Consul,
    disturbances::Disturbances,
    ecs::Ecs,
    promises::Blind,
    queue::Sqs,
    scenario::Scenario,
    secrets::Secrets,
};

/// Writes a step of the trace, if anybody wants to read it.
macro_rules! note {
    ($world:expr, $($what:tt)*) => {
        if $world.trace.is_some() {
            let what = format!($($what)*);
            $world.note(&what);
        }
    };
}
pub(crate) use note;

/// When all schedules begin, in seconds.
const EPOCH: i64 = 1_800_000_000;

/// Everything outside the controller.
pub(crate) struct World {
    pub(crate) scenario: Scenario,
    pub(crate) scope: Scope,
    /// Where in Consul all tasks live.
    pub(crate) tenancy: Tenancy,
    pub(crate) random: Rng,
    /// Milliseconds since the beginning.
    pub(crate) now: u64,
    pub(crate) ecs: Ecs,
    pub(crate) consul: Consul,
    pub(crate) secrets: Secrets,
    pub(crate) sqs: Sqs,
    /// Services that answer nothing but errors now.
    pub(crate) down: BTreeMap<Service, Fault>,
    /// Whether the controller is being removed for good.
    pub(crate) is_cleaned_up: bool,
    /// How many tokens others have.
    pub(crate) strangers: usize,
    /// Whether nothing goes wrong any more.
    pub(crate) calm: bool,
    /// Environments that look whether services are idle, or sweep.
    pub(crate) looking: BTreeSet<usize>,
    /// Environments to which ECS shows nothing.
    pub(crate) lost: BTreeSet<usize>,
    /// How far each environment's clock is off, in milliseconds.
    pub(crate) skews: BTreeMap<usize, i64>,
    /// The same for Secrets Manager's and for Consul's.
    secrets_skew: i64,
    consul_skew: i64,
    /// The secret halves of all services' tokens that were shown and deleted, or taken from their secrets for that.
    pub(crate) revoked: BTreeSet<String>,
    /// What people have done.
    pub(crate) disturbances: Disturbances,
    /// How many calls to Consul and Secrets Manager failed, lost their answer, were repeated or cut off, how many environments were
    /// killed, and how many tokens a restored snapshot brought back: each may be or have left a token that was never shown.
    pub(crate) mishaps: usize,
    /// Whose call is being served.
    pub(crate) caller: usize,
    /// The instances that were drained: node and ID.
    pub(crate) drained: BTreeSet<(String, String)>,
    /// What each sweep under way could not read.
    pub(crate) blind: BTreeMap<usize, Blind>,
    /// Every secret half there ever was.
    pub(crate) canaries: Vec<String>,
    /// The first promise that was broken.
    pub(crate) broken: Option<String>,
    /// What happened, if anybody wants to read it.
    pub(crate) trace: Option<Vec<String>>,
}

impl World {
    pub(crate) fn new(scenario: Scenario, mut random: Rng, traced: bool) -> Self {
        let scope = scope(&scenario);
        let ecs = Ecs::new(&scenario, &scope.clusters, &mut random);
        let skew = -scenario.skew..=scenario.skew;
        let (secrets_skew, consul_skew) = (random.i64(skew.clone()), random.i64(skew));
        let mut world = Self {
            tenancy: scope.default_tenancy.clone(),
            scope,
            random,
            now: 0,
            ecs,
            consul: Consul::default(),
            secrets: Secrets::default(),
            sqs: Sqs::default(),
            down: BTreeMap::new(),
            is_cleaned_up: false,
            strangers: 0,
            calm: false,
            looking: BTreeSet::new(),
            lost: BTreeSet::new(),
            skews: BTreeMap::new(),
            secrets_skew,
            consul_skew,
            revoked: BTreeSet::new(),
            disturbances: Disturbances::default(),
            mishaps: 0,
            caller: usize::MAX,
            drained: BTreeSet::new(),
            blind: BTreeMap::new(),
            canaries: Vec::new(),
            broken: None,
            trace: traced.then(Vec::new),
            scenario,
        };
        note!(world, "{:?}", world.scenario);
        world.furnish();
        world.strangers = world.consul.tokens.iter().filter(|record| record.foreign).count();
        world
    }

    pub(crate) fn chance(&mut self, per_mille: u32) -> bool {
        per_mille > 0 && self.random.u32(..1_000) < per_mille
    }

    /// Until when a call is stuck that is made now.
    pub(crate) fn stuck_until(&mut self) -> u64 {
        let stuck = self.scenario.stuck;
        let longest = self.scenario.longest_call / 2;
        if !self.calm && self.chance(stuck) { self.now + self.random.u64(..longest) } else { self.now }
    }

    /// Whether a call takes effect once more, later than a bound allows.
    pub(crate) fn repeats_late(&mut self) -> bool {
        self.scenario.late_effects > 1 && !self.calm && self.random.u32(..10) == 0
    }

    /// The true time.
    pub(crate) fn time(&self) -> Timestamp {
        time_at(self.now)
    }

    /// The time as an environment's clock shows it.
    pub(crate) fn time_of(&self, environment: usize) -> Timestamp {
        shifted(self.now, self.skews.get(&environment).copied().unwrap_or_default())
    }

    /// A time as Secrets Manager's clock has shown it.
    pub(crate) fn secrets_time(&self, at: u64) -> Timestamp {
        shifted(at, self.secrets_skew)
    }

    /// A time as Consul's clock has shown it.
    pub(crate) fn consul_time(&self, at: u64) -> Timestamp {
        shifted(at, self.consul_skew)
    }

    /// A step of the trace.
    pub(crate) fn note(&mut self, what: &str) {
        let now = self.now;
        if let Some(trace) = &mut self.trace {
            let number = trace.len();
            trace.push(format!(
                "{number:4} {:>9.3}s  {what}",
                f64::from(u32::try_from(now).unwrap_or(u32::MAX)) / 1_000.0
            ));
        }
    }

    /// A promise was broken: the first one is what counts.
    pub(crate) fn broken(&mut self, how: String) {
        note!(self, "BROKEN PROMISE: {how}");
        self.broken.get_or_insert(how);
    }

    /// A secret half that nobody may ever see in a text.
    pub(crate) fn new_secret(&mut self) -> String {
        let secret = uuid::Builder::from_random_bytes(self.random.u128(..).to_be_bytes()).into_uuid().to_string();
        self.canaries.push(secret.clone());
        secret
    }

    /// The service with this number.
    pub(crate) fn service(&self, number: usize) -> MeshService {
        MeshService { tenancy: self.tenancy.clone(), name: service_name(number) }
    }

    /// The name of its secret.
    pub(crate) fn secret_name(&self, number: usize) -> String {
        self.scope.names.of(&TokenHolder::Service(self.service(number)))
    }

    pub(crate) fn makes_tokens(&self) -> bool {
        self.scenario.mode == TokenMode::SecretsManager
    }
}

fn shifted(at: u64, skew: i64) -> Timestamp {
    Timestamp::from_millisecond(time_at(at).as_millisecond() + skew).unwrap()
}

/// The true time so many milliseconds after the beginning.
pub(crate) fn time_at(at: u64) -> Timestamp {
    Timestamp::from_millisecond(EPOCH * 1_000 + i64::try_from(at).unwrap()).unwrap()
}

/// The name of the service with this number.
pub(crate) fn service_name(number: usize) -> ServiceName {
    format!("service-{number}").parse().unwrap()
}

fn scope(scenario: &Scenario) -> Scope {
    let clusters: Vec<String> =
        (0..scenario.clusters).map(|n| format!("arn:aws:ecs:us-east-1:123456789012:cluster/cluster-{n}")).collect();
    let settings = Settings::read(|name| {
        Some(match name {
            "CONSUL_HTTP_ADDR" => "http://consul:8500".to_owned(),
            "CONSUL_HTTP_TOKEN" => "unused".to_owned(),
            "ECS_CLUSTER_ARNS" => clusters.join(","),
            "QUEUE_URL" => "https://queue".to_owned(),
            "REVOCATION_GRACE_SECONDS" => scenario.grace.to_string(),
            "TIME_BOUNDS" => scenario.time_bounds(),
            "UNUSED_TOKEN_HOURS" => "1".to_owned(),
            "BOOTSTRAP" => "none".to_owned(),
            "CONSUL_PARTITION" if scenario.enterprise => "team".to_owned(),
            "TOKEN_MODE" if scenario.mode == TokenMode::AuthMethod => "auth-method".to_owned(),
            _ => return None,
        })
    });
    settings.expect("settings").scope
}

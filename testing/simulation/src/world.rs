//! The true state of ECS, Consul, Secrets Manager and SQS. Reads may show an older state.

use std::collections::{BTreeMap, BTreeSet};

use controller::settings::Settings;
use fastrand::Rng;
use jiff::Timestamp;
use mesh::{
    arn::ClusterArn, holder::TokenHolder, identity::MeshService, names::ServiceName, scope::Scope, settings::TokenMode,
    tenancy::Tenancy,
};

use super::{
    admission::HOST,
    calls::{Fault, Service},
    consul::Consul,
    ecs::{Ecs, Task},
    healing::SweepReads,
    hostile::RESERVED,
    manual_changes::ManualChanges,
    neighbours::MANAGED,
    queue::Sqs,
    scenario::Scenario,
    secrets::Secrets,
};

/// Adds a step to the trace, if the run has one.
macro_rules! note {
    ($world:expr, $($what:tt)*) => {
        if $world.trace.is_some() {
            let what = format!($($what)*);
            $world.note(&what);
        }
    };
}
pub(crate) use note;

/// The Unix time at which every schedule begins, in seconds.
const EPOCH: i64 = 1_800_000_000;

/// The name of the client agents' secret.
pub(crate) const CLIENT_SECRET: &str = "consul-ecs-consul-client-token";

/// The start of the only promise in mode `observe`.
const WRITTEN: &str = "observes: a call writes";

/// Everything outside the controller.
pub struct World {
    pub scenario: Scenario,
    pub scope: Scope,
    /// The clusters of the deployment.
    pub(crate) clusters: Vec<ClusterArn>,
    /// The tenancy of all tasks.
    pub(crate) tenancy: Tenancy,
    pub(crate) random: Rng,
    /// Milliseconds since the beginning.
    pub now: u64,
    pub ecs: Ecs,
    pub consul: Consul,
    pub(crate) secrets: Secrets,
    pub sqs: Sqs,
    /// Services with an outage: every call fails with this fault.
    pub(crate) down: BTreeMap<Service, Fault>,
    /// The number of calls to ECS and Secrets Manager that are still refused, because IAM does not know the functions' new roles yet.
    pub(crate) denied: u32,
    /// The number of calls to Consul in a world without a schedule.
    pub(crate) consul_calls: usize,
    /// Whether concurrent calls are served in any order in a world without a schedule.
    pub(crate) shuffles_calls: bool,
    /// The number of calls to Consul after which it goes down, and its fault.
    pub(crate) outage: Option<(usize, Fault)>,
    /// Whether the controller is being removed for good.
    pub(crate) is_cleaned_up: bool,
    /// The number of tokens of other owners.
    pub(crate) foreign_tokens: usize,
    /// Whether faults have ended.
    pub(crate) fault_free: bool,
    /// Environments that handle an idle check, or sweep.
    pub(crate) checking_idle: BTreeSet<usize>,
    /// Environments that read the wrong region, where ECS has no tasks.
    pub(crate) in_wrong_region: BTreeSet<usize>,
    /// The skew of each environment's clock, in milliseconds.
    pub(crate) skews: BTreeMap<usize, i64>,
    /// The skews of Secrets Manager's and of Consul's clock, in milliseconds.
    secrets_skew: i64,
    consul_skew: i64,
    /// The secret halves of services' tokens that were shown and then deleted, or removed from their secrets for deletion.
    pub(crate) revoked: BTreeSet<String>,
    pub(crate) manual_changes: ManualChanges,
    /// An upper limit for the tokens that were created and never shown. Counted are calls to Consul and Secrets Manager that
    /// failed, lost their answer, were repeated or abandoned, environments that were killed, and tokens of a restored snapshot.
    pub(crate) possible_leftovers: usize,
    /// The environment whose call is being served.
    pub(crate) caller: usize,
    /// The drained instances: node and ID.
    pub(crate) drained: BTreeSet<(String, String)>,
    /// What each running sweep could not read.
    pub(crate) sweep_reads: BTreeMap<usize, SweepReads>,
    /// Every secret half that was ever generated.
    pub(crate) canaries: Vec<String>,
    /// The tasks whose checks the last sweep has left passing, because no other instance of their service passes.
    pub(crate) kept_in_rotation: BTreeSet<String>,
    /// The first promise that was broken.
    pub(crate) broken: Option<String>,
    /// The steps of the schedule, if they are traced.
    pub trace: Option<Vec<String>>,
}

/// The start of the clusters' ARNs.
pub(crate) const CLUSTER_ARN_PREFIX: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/";

impl World {
    pub(crate) fn new(scenario: Scenario, mut random: Rng, traced: bool) -> Self {
        let scope = scope(&scenario);
        let clusters = clusters(&scenario);
        let ecs = Ecs::new(&scenario, &clusters, &mut random);
        let skew = -scenario.skew..=scenario.skew;
        let (secrets_skew, consul_skew) = (random.i64(skew.clone()), random.i64(skew));
        let mut world = Self {
            tenancy: scope.default_tenancy.clone(),
            scope,
            clusters,
            random,
            now: 0,
            ecs,
            consul: Consul::default(),
            secrets: Secrets::default(),
            sqs: Sqs::default(),
            down: BTreeMap::new(),
            denied: 0,
            consul_calls: 0,
            shuffles_calls: false,
            outage: None,
            is_cleaned_up: false,
            foreign_tokens: 0,
            fault_free: false,
            checking_idle: BTreeSet::new(),
            in_wrong_region: BTreeSet::new(),
            skews: BTreeMap::new(),
            secrets_skew,
            consul_skew,
            revoked: BTreeSet::new(),
            manual_changes: ManualChanges::default(),
            possible_leftovers: 0,
            caller: usize::MAX,
            drained: BTreeSet::new(),
            sweep_reads: BTreeMap::new(),
            canaries: Vec::new(),
            kept_in_rotation: BTreeSet::new(),
            broken: None,
            trace: traced.then(Vec::new),
            scenario,
        };
        note!(world, "{:?}", world.scenario);
        world.create_initial_state();
        world.foreign_tokens = world.consul.tokens.iter().filter(|record| record.foreign).count();
        world
    }

    /// Which of so many calls is served next.
    pub(crate) fn next_call(&mut self, count: usize) -> usize {
        if self.shuffles_calls { self.random.usize(..count) } else { 0 }
    }

    /// Ends the wait for an outage of Consul. Returns whether it has come.
    pub(crate) fn end_outage(&mut self) -> bool {
        self.outage.take().is_some_and(|(calls, _)| self.consul_calls > calls)
    }

    /// Takes Consul down if its outage has come.
    pub(crate) fn begin_outage(&mut self) {
        if let Some((_, fault)) = self.outage.filter(|(calls, _)| self.consul_calls > *calls) {
            self.down.insert(Service::Consul, fault);
        }
    }

    pub(crate) fn chance(&mut self, per_mille: u32) -> bool {
        per_mille > 0 && self.random.u32(..1_000) < per_mille
    }

    /// The time until which a call that is made now is stuck.
    pub(crate) fn stuck_until(&mut self) -> u64 {
        let stuck = self.scenario.stuck;
        let longest = self.scenario.longest_call / 2;
        if !self.fault_free && self.chance(stuck) { self.now + self.random.u64(..longest) } else { self.now }
    }

    /// Whether a call takes effect again, later than a bound allows.
    pub(crate) fn repeats_late(&mut self) -> bool {
        self.scenario.late_effects > 1 && !self.fault_free && self.random.u32(..10) == 0
    }

    /// Sets the clock of an environment anew.
    pub(crate) fn skew_clock(&mut self, environment: usize, what: &str) {
        let skew = self.scenario.skew;
        let skew = self.random.i64(-skew..=skew);
        self.skews.insert(environment, skew);
        note!(self, "environment {environment} {what}, its clock is skewed by {skew} ms");
    }

    /// The true time.
    pub(crate) fn time(&self) -> Timestamp {
        time_at(self.now)
    }

    /// The time by an environment's clock.
    pub(crate) fn time_of(&self, environment: usize) -> Timestamp {
        shifted(self.now, self.skews.get(&environment).copied().unwrap_or_default())
    }

    /// A time by Secrets Manager's clock.
    pub(crate) fn secrets_time(&self, at: u64) -> Timestamp {
        shifted(at, self.secrets_skew)
    }

    /// A time by Consul's clock.
    pub(crate) fn consul_time(&self, at: u64) -> Timestamp {
        shifted(at, self.consul_skew)
    }

    /// Why AWS refuses the next call, if it does.
    pub(crate) fn denial(&mut self, service: Service) -> Option<Fault> {
        let is_checked = [Service::Ecs, Service::Secrets].contains(&service);
        (is_checked && self.denied > 0).then(|| {
            self.denied -= 1;
            Fault::Credential
        })
    }

    /// Adds a step to the trace.
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

    /// Records a broken promise; the first one is the result of the schedule.
    pub(crate) fn broken(&mut self, how: String) {
        // In mode `observe`, nothing that takes a write is promised.
        if self.scenario.observes && !how.starts_with(WRITTEN) {
            return;
        }
        note!(self, "BROKEN PROMISE: {how}");
        self.broken.get_or_insert(how);
    }

    /// In mode `observe`, nothing is written: every call reads, except those to the own queue.
    pub(crate) fn check_observes(&mut self, service: Service, call: &str) {
        let is_read = ["Get", "GET ", "List", "Describe"].iter().any(|start| call.starts_with(start));
        if self.scenario.observes && !is_read && service != Service::Sqs {
            self.broken(format!("{WRITTEN}: {call}"));
        }
    }

    /// A new secret half, which no text may contain.
    pub(crate) fn new_secret(&mut self) -> String {
        let secret = uuid::Builder::from_random_bytes(self.random.u128(..).to_be_bytes()).into_uuid().to_string();
        self.canaries.push(secret.clone());
        secret
    }

    /// The service with this number.
    pub(crate) fn service(&self, number: usize) -> MeshService {
        MeshService { tenancy: self.tenancy.clone(), name: service_name(number) }
    }

    /// The name of the service's secret.
    pub(crate) fn secret_name(&self, number: usize) -> String {
        let service = self.service(number);
        let mut secret = service.secret_name();
        if self.scenario.spells_secrets && number.is_multiple_of(2) {
            secret = secret.replacen('s', "S", 1);
        }
        self.scope.names.of(&TokenHolder::in_secret(service, &secret).unwrap())
    }

    /// The name of the secret that a task of the service's family reads.
    pub(crate) fn family_secret(&self, number: usize) -> String {
        format!("{}family-{number}{}", self.scope.names.start(), self.tenancy.secret_suffix())
    }

    /// Whether the token of its service is in use while the task lives. In an explicit mode every task counts.
    pub(crate) fn counts_for_token(&self, task: &Task) -> bool {
        task.reads_token || self.scenario.mode != TokenMode::Auto
    }
}

fn shifted(at: u64, skew: i64) -> Timestamp {
    Timestamp::from_millisecond(time_at(at).as_millisecond() + skew).unwrap()
}

/// The true time, from milliseconds since the beginning.
pub(crate) fn time_at(at: u64) -> Timestamp {
    Timestamp::from_millisecond(EPOCH * 1_000 + i64::try_from(at).unwrap()).unwrap()
}

/// The name of the service with this number.
pub(crate) fn service_name(number: usize) -> ServiceName {
    let end = if number == RESERVED { "-ca-cert" } else { "" };
    format!("service-{number}{end}").parse().unwrap()
}

fn clusters(scenario: &Scenario) -> Vec<ClusterArn> {
    (0..scenario.clusters).map(|n| format!("{CLUSTER_ARN_PREFIX}cluster-{n}").parse().expect("an ARN")).collect()
}

fn scope(scenario: &Scenario) -> Scope {
    let mut names: Vec<String> = clusters(scenario).iter().map(|cluster| cluster.name().to_owned()).collect();
    names.extend(scenario.has_namesake.then(|| MANAGED.to_owned()));
    let settings = Settings::read(|name| {
        Some(match name {
            "CONSUL_HTTP_ADDR" => format!("http://{HOST}:8500"),
            "CONSUL_HTTP_TOKEN" => "unused".to_owned(),
            "ECS_CLUSTER_ARNS" if scenario.by_pattern => "cluster-*".to_owned(),
            "ECS_CLUSTER_ARNS" => names.join(","),
            "ECS_CLUSTER_ARN_PREFIX" => CLUSTER_ARN_PREFIX.to_owned(),
            "QUEUE_URL" => "https://queue".to_owned(),
            "REVOCATION_GRACE_SECONDS" => scenario.grace.to_string(),
            "TIME_BOUNDS" => scenario.time_bounds(),
            "UNUSED_TOKEN_HOURS" => "1".to_owned(),
            "BOOTSTRAP" => "none".to_owned(),
            "MODE" if scenario.observes => "observe".to_owned(),
            "REPAIR" => scenario.healing.repair_setting().to_owned(),
            "CONSUL_PARTITION" if scenario.enterprise => "team".to_owned(),
            "TOKEN_MODE" => match scenario.mode {
                TokenMode::Auto => "auto".to_owned(),
                TokenMode::SecretsManager => "secrets-manager".to_owned(),
                TokenMode::AuthMethod => "auth-method".to_owned(),
            },
            _ => return None,
        })
    });
    settings.expect("settings").scope
}

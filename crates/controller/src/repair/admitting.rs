//! Keeps the controller from registering a task that this Consul has not admitted ([`mesh::admission`]).
//!
//! What decides is read only in a sweep that found an instance missing: Consul's datacenter, each role that a login token
//! links, and, for tasks without a proof among the tokens, each auth method and each IAM role once.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, stream};
use mesh::{
    admission::{
        AuthMethod, Claim, IamRole, LoginConfig, RoleArn, RoleFacts, RoleGap, RoleReading, TokenFacts, TokenGap,
        Unproven,
    },
    broken::LoginTokens,
    tenancy::Tenancy,
};
use observe::{CallError, Deadline, Problem, Reach, World, concurrently, roles_of};
use report::Blocked;

use super::{
    Repairs,
    found::{Found, RepairReport},
};
use crate::action::describe;

/// How many IAM roles are read at once.
const CONCURRENT_ROLES: usize = 4;

/// A task whose instance is missing, and what it claims.
struct Candidate {
    found: Found,
    login: Option<LoginConfig>,
    role: Option<RoleArn>,
}

impl Candidate {
    fn new(found: Found) -> Self {
        let login = found.running.config().ok().and_then(|config| config.login().cloned());
        Self { login, role: found.running.role(), found }
    }

    /// The claim of the missing instances: the service's or the gateway's. A sidecar proxy comes with its service.
    fn claim(&self) -> Option<Claim<'_>> {
        self.found.running.claim(&self.found.expected)
    }

    /// The auth method that it names, in the partition of its registration.
    fn method(&self) -> Option<(Tenancy, String)> {
        Some((self.found.expected.first()?.tenancy.home(), self.login.as_ref()?.method.clone()))
    }

    fn proven_by_token(
        &self,
        logins: &LoginTokens<'_>,
        facts: &TokenFacts,
        own: &BTreeSet<String>,
    ) -> Result<(), TokenGap> {
        let claim = self.claim().ok_or(TokenGap::NoToken)?;
        let uses_this_consul = self.login.as_ref().is_some_and(|login| login.uses(own));
        claim.proven_by_token(logins.of_task(claim.task), facts, uses_this_consul)
    }

    /// Reports what is missing of its instances, with what would prove it. The checks of its registered instances need no proof.
    fn refuse(mut self, token: TokenGap, role: RoleGap, report: &mut RepairReport) -> Option<Found> {
        let why = Unproven { service: self.found.service(), token, role };
        report.leave(&self.found.running, &why);
        let repair = self.found.repair().and_then(|planned| describe(&planned).action);
        let refused = repair.map(|action| Blocked { action, reason: why.to_string() });
        report.of(&self.found.running.cluster).blocked.extend(refused);
        self.found.difference.instances.clear();
        Some(self.found).filter(|found| !found.difference.is_empty() || !found.contradicting.is_empty())
    }
}

type Methods = BTreeMap<(Tenancy, String), AuthMethod>;
type Roles = BTreeMap<RoleArn, Option<IamRole>>;

/// What decides whether the IAM roles of tasks prove their claims, where it was read.
struct RoleProofs<'a> {
    hosts: HostsOfServices<'a>,
    datacenter: &'a str,
    methods: Methods,
    roles: Roles,
}

impl RoleProofs<'_> {
    fn judge(&self, candidate: &Candidate) -> Result<(), RoleGap> {
        let claim = candidate.claim().ok_or(RoleGap::NoLogin)?;
        let iam = match candidate.role.as_ref().and_then(|role| self.roles.get(role)) {
            None => RoleReading::Unread,
            Some(None) => RoleReading::Missing,
            Some(Some(role)) => RoleReading::Read(role),
        };
        claim.proven_by_role(&RoleFacts {
            login: candidate.login.as_ref(),
            consul_hosts: &self.hosts.known_for(&claim),
            datacenter: self.datacenter,
            method: candidate.method().and_then(|name| self.methods.get(&name)),
            role: candidate.role.as_ref(),
            task_created_at: candidate.found.running.task.end.created_at,
            iam,
        })
    }
}

impl Repairs {
    /// Those of `found` of which nothing is registered without a proof. A task without one keeps what is missing or wrong of the
    /// checks of its registered instances; its missing instances are reported with what would prove them.
    pub(super) async fn admitted(
        &self,
        found: Vec<Found>,
        world: &World,
        deadline: Deadline,
        report: &mut RepairReport,
    ) -> Vec<Found> {
        let (lacking, mut admitted): (Vec<Found>, Vec<Found>) =
            found.into_iter().partition(|found| !found.difference.instances.is_empty());
        if lacking.is_empty() || world.are_acls_off {
            admitted.extend(lacking);
            return admitted;
        }
        let datacenter = match deadline.run(self.context.observer.consul.datacenter()).await {
            Ok(datacenter) if datacenter.allows_by_default => {
                admitted.extend(lacking);
                return admitted;
            }
            Ok(datacenter) => datacenter.name,
            Err(error) => {
                report.problems.push(Problem::new(None, error));
                return admitted;
            }
        };
        let own = &self.context.scope.consul_hosts;
        let logins = LoginTokens::new(&world.observed.tokens, []);
        let tokens = self.token_facts(datacenter, &logins, deadline, report).await;
        let mut unproven = Vec::new();
        for candidate in lacking.into_iter().map(Candidate::new) {
            match candidate.proven_by_token(&logins, &tokens, own) {
                Ok(()) => admitted.push(candidate.found),
                Err(gap) => unproven.push((candidate, gap)),
            }
        }
        if unproven.is_empty() {
            return admitted;
        }
        let hosts = HostsOfServices::of(world, &logins, &tokens, own);
        let candidates = unproven.iter().map(|(candidate, _)| candidate);
        let proofs = self.role_proofs(candidates, hosts, &tokens.datacenter, deadline, report).await;
        for (candidate, token) in unproven {
            match proofs.judge(&candidate) {
                Ok(()) => {
                    report.proven_by_role.insert(candidate.found.running.task.arn.clone());
                    admitted.push(candidate.found);
                }
                Err(role) => admitted.extend(candidate.refuse(token, role, report)),
            }
        }
        admitted
    }

    /// Reads what decides about the roles of `candidates`, and nothing on which nothing depends: neither methods for tasks of another
    /// Consul, nor roles that may not log in.
    async fn role_proofs<'a>(
        &self,
        candidates: impl Iterator<Item = &Candidate> + Clone,
        hosts: HostsOfServices<'a>,
        datacenter: &'a str,
        deadline: Deadline,
        report: &mut RepairReport,
    ) -> RoleProofs<'a> {
        let mut proofs = RoleProofs { hosts, datacenter, methods: Methods::new(), roles: Roles::new() };
        let named = candidates.clone().filter_map(|it| match proofs.judge(it) {
            Err(RoleGap::NoMethod(_)) => it.method(),
            _ => None,
        });
        proofs.methods = self.methods(named.collect(), deadline, report).await;
        let wanted = candidates.filter_map(|it| match proofs.judge(it) {
            Err(RoleGap::Unread(role)) => Some(role),
            _ => None,
        });
        proofs.roles = self.iam_roles(wanted.collect(), deadline, report).await;
        proofs
    }

    /// The grants of the roles that login tokens link, each read once. A role that could not be read grants nothing.
    async fn token_facts(
        &self,
        datacenter: String,
        logins: &LoginTokens<'_>,
        deadline: Deadline,
        report: &mut RepairReport,
    ) -> TokenFacts {
        let read = roles_of(self.context.observer.consul.as_ref(), logins.all(), deadline).await;
        let roles = readable(read, report).collect();
        TokenFacts { datacenter, roles }
    }

    async fn methods(
        &self,
        names: BTreeSet<(Tenancy, String)>,
        deadline: Deadline,
        report: &mut RepairReport,
    ) -> Methods {
        let reads = names.into_iter().map(|(tenancy, name)| async move {
            let read = deadline.run(self.context.observer.consul.auth_method(&tenancy, &name)).await;
            ((tenancy, name), read)
        });
        readable(concurrently(reads).await, report).filter_map(|(name, method)| Some((name, method?))).collect()
    }

    /// The roles in IAM. A failure that reaches everything ends all reads: where IAM cannot be reached, each call would take 20 seconds.
    async fn iam_roles(&self, wanted: BTreeSet<RoleArn>, deadline: Deadline, report: &mut RepairReport) -> Roles {
        let reads = wanted.into_iter().map(|arn| async move {
            let read = deadline.run(self.context.observer.iam.role(&arn)).await;
            (arn, read)
        });
        let mut reads = stream::iter(reads).buffer_unordered(CONCURRENT_ROLES);
        let mut roles = Roles::new();
        while let Some((arn, read)) = reads.next().await {
            let ends = read.as_ref().is_err_and(|error| error.reach() == Reach::Everything);
            roles.extend(Problem::record(read, None, &mut report.problems).map(|role| (arn, role)));
            if ends {
                break;
            }
        }
        roles
    }
}

/// What could be read, by its name. What could not be read is reported.
fn readable<K, T>(reads: Vec<(K, Result<T, CallError>)>, report: &mut RepairReport) -> impl Iterator<Item = (K, T)> {
    let record = |(name, read)| Some((name, Problem::record(read, None, &mut report.problems)?));
    reads.into_iter().filter_map(record)
}

/// The hosts that the tasks of a service use, if their login tokens prove that they are this Consul's.
struct HostsOfServices<'a> {
    own: &'a BTreeSet<String>,
    /// By service and tenancy.
    proven: BTreeMap<(String, Tenancy), BTreeSet<String>>,
}

impl<'a> HostsOfServices<'a> {
    fn of(world: &World, logins: &LoginTokens<'_>, tokens: &TokenFacts, own: &'a BTreeSet<String>) -> Self {
        let mut proven: BTreeMap<(String, Tenancy), BTreeSet<String>> = BTreeMap::new();
        for running in &world.running {
            let (Ok(expected), Ok(config)) = (running.expected(), running.config()) else { continue };
            let hosts = config.login().and_then(LoginConfig::comparable_hosts);
            let (Some(claim), Some(hosts)) = (running.claim(&expected), hosts) else { continue };
            if claim.proven_by_token(logins.of_task(claim.task), tokens, false).is_ok() {
                proven.entry((claim.service.to_owned(), claim.tenancy.clone())).or_default().insert(hosts);
            }
        }
        Self { own, proven }
    }

    fn known_for(&self, claim: &Claim<'_>) -> BTreeSet<String> {
        let proven = self.proven.get(&(claim.service.to_owned(), claim.tenancy.clone()));
        self.own.iter().chain(proven.into_iter().flatten()).cloned().collect()
    }
}

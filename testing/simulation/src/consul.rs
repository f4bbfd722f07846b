//! Simulated Consul: tokens, as measured on real servers. An accessor ID in use is refused, but two concurrent creations with
//! different secret halves both succeed, and one of the two tokens can never be deleted.

use std::collections::{BTreeMap, BTreeSet};

use consul::{Grant, NewToken, Object, ObjectKind, Token, grants_of};
use mesh::{
    catalog::HealthCheck,
    holder::TokenHolder,
    mark::TokenDescription,
    names::ServiceName,
    tenancy::Tenancy,
    token::{AccessorId, ListedToken, TokenPair},
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    admission::login_description,
    agents::Agent,
    catalog::Instance,
    dialect::Answer,
    objects::StoredObject,
    world::{World, service_name},
};

/// A token as Consul's state holds it.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) accessor: AccessorId,
    pub(crate) secret: String,
    pub(crate) description: TokenDescription,
    pub(crate) grants: Map<String, Value>,
    /// The auth method of the login.
    pub(crate) auth_method: Option<String>,
    pub(crate) created: u64,
    pub(crate) tenancy: Tenancy,
    /// Whether it belongs to another owner.
    pub(crate) foreign: bool,
    /// The environment that created it.
    pub(crate) creator: Option<usize>,
}

impl Record {
    fn token(&self) -> Token {
        Token {
            pair: TokenPair { accessor: self.accessor, secret: SecretString::from(self.secret.clone()) },
            description: self.description.clone(),
            grants: self.grants.clone(),
            tenancy: self.tenancy.clone(),
        }
    }

    /// The service that it identifies.
    pub(crate) fn service(&self) -> Option<&str> {
        self.grants.get("ServiceIdentities")?[0]["ServiceName"].as_str()
    }
}

/// The fields of a token that say what it grants.
pub(crate) fn granted(grant: &Grant) -> Map<String, Value> {
    let fields = match grant {
        Grant::ServiceIdentity(name) => json!({ "ServiceIdentities": [{ "ServiceName": name.as_str() }] }),
        Grant::Policy(name) => json!({ "Policies": [{ "Name": name }] }),
        Grant::AsBefore(grants) => return grants.clone(),
    };
    fields.as_object().cloned().unwrap_or_default()
}

/// Everything that Consul holds.
#[derive(Default)]
pub struct Consul {
    pub(crate) tokens: Vec<Record>,
    pub objects: Vec<StoredObject>,
    /// The answers to writes of objects that Consul refuses, by name.
    pub(crate) refused: BTreeMap<String, Answer>,
    pub nodes: BTreeSet<String>,
    pub(crate) agents: Vec<Agent>,
    pub(crate) instances: Vec<Instance>,
    pub checks: Vec<HealthCheck>,
    /// Services of other owners: node and ID.
    pub(crate) others: Vec<(String, String)>,
    pub(crate) index: u64,
    /// When a `health-sync` has last changed each check, by the ID of the check.
    pub(crate) health_synced: BTreeMap<String, u64>,
}

impl World {
    /// Creates what exists before the schedule begins: tokens of other owners and of consul-ecs's controller.
    pub(crate) fn create_initial_state(&mut self) {
        self.create_built_in_objects();
        self.create_neighbours();
        if self.scenario.adopted {
            self.adopt();
        }
        self.create_hostile();
        if !self.scenario.foreign_tokens {
            return;
        }
        let other = "arn:aws:ecs:us-east-1:999999999999:cluster/cluster-0";
        let name = service_name(0);
        for description in [
            "by hand".to_owned(),
            format!("Token for {name} service"),
            format!("Token for {name} service\nconsul.hashicorp.com/cluster: {other}"),
            format!("Token for {name} service\nconsul.hashicorp.com/cluster: cluster-0"),
            login_description(other, &format!("{:032x}", 77)).to_string(),
        ] {
            let record = self.new_record(description, true);
            self.consul.tokens.push(record);
        }
        let node = self.clusters[0].as_str().to_owned();
        self.consul.nodes.insert(node.clone());
        self.consul.others.push((node, "database".to_owned()));
    }

    /// A token of consul-ecs's controller, in its secret.
    pub(crate) fn adopt(&mut self) {
        let cluster = self.clusters[0].clone();
        let description = TokenHolder::Service(self.service(0)).token_description(&cluster);
        let record = self.new_record(description, false);
        let text = json!({ "accessor_id": record.accessor.to_string(), "token": record.secret }).to_string();
        self.consul.tokens.push(record);
        let name = self.secret_name(0);
        self.put_secret(&name, "first".to_owned(), text);
    }

    pub(crate) fn new_record(&mut self, description: impl Into<TokenDescription>, foreign: bool) -> Record {
        let accessor = Uuid::from_u128(self.random.u128(..)).to_string().parse().unwrap();
        let grants = granted(&Grant::Policy("some".to_owned()));
        let (secret, tenancy) = (self.new_secret(), self.tenancy.clone());
        Record {
            accessor,
            secret,
            description: description.into(),
            grants,
            auth_method: None,
            created: self.now,
            tenancy,
            foreign,
            creator: None,
        }
    }

    pub(crate) fn is_valid(&self, secret: &str) -> bool {
        self.consul.tokens.iter().any(|record| record.secret == secret)
    }

    /// The token with this accessor ID in this namespace.
    pub(crate) fn token(&self, tenancy: &Tenancy, accessor: AccessorId) -> Result<Token, Answer> {
        let is_it = |record: &&Record| record.accessor == accessor && record.tenancy == *tenancy;
        let found = self.consul.tokens.iter().rev().find(is_it).map(Record::token);
        found.ok_or_else(|| self.scenario.dialect.no_token())
    }

    /// The first step of a creation: the check, before the write is replicated.
    pub(crate) fn check_new_token(&self, new: &NewToken) -> Result<(), Answer> {
        let secret = new.pair.secret.expose_secret();
        let mut tokens = self.consul.tokens.iter();
        if tokens.clone().any(|record| record.accessor == new.pair.accessor) {
            return Err(Answer::accessor_in_use());
        }
        if tokens.any(|record| record.secret == secret) { Err(Answer::secret_in_use()) } else { self.check_policy(new) }
    }

    /// The policy that is granted by its name has to exist.
    fn check_policy(&self, new: &NewToken) -> Result<(), Answer> {
        match &new.grant {
            Grant::Policy(name) => {
                let known = self.consul.object(ObjectKind::Policy, &new.tenancy, name);
                known.map(drop).ok_or_else(|| Answer::no_policy_to_link(name))
            }
            _ => Ok(()),
        }
    }

    /// The second step: the write, which replaces a token only if its secret half is the same.
    pub(crate) fn commit_token(&mut self, new: &NewToken) -> Token {
        let record = Record {
            accessor: new.pair.accessor,
            secret: new.pair.secret.expose_secret().to_owned(),
            description: new.description.clone(),
            grants: granted(&new.grant),
            auth_method: None,
            created: self.now,
            tenancy: new.tenancy.clone(),
            foreign: false,
            creator: Some(self.caller),
        };
        let token = record.token();
        self.check_not_revoked(&record.secret);
        self.consul.tokens.retain(|known| known.secret != record.secret);
        self.consul.tokens.push(record);
        token
    }

    /// Deletes a policy and every token's link to it.
    pub(crate) fn delete_policy(&mut self, policy: &Object) -> Result<(), Answer> {
        for record in &mut self.consul.tokens {
            if grants_of(&record.grants).policies.contains(&policy.name) {
                record.grants.remove("Policies");
            }
        }
        let is_gone = self.consul.remove_object(policy.kind, &policy.tenancy, &policy.name);
        if is_gone { Ok(()) } else { self.scenario.dialect.no_policy_to_delete() }
    }

    pub(crate) fn update_token(&mut self, new: &NewToken) -> Result<Token, Answer> {
        let accessor = new.pair.accessor;
        let index = self.consul.tokens.iter().rposition(|record| record.accessor == accessor);
        let index = index.ok_or_else(|| Answer::no_token_to_update(accessor))?;
        if self.consul.tokens[index].secret != new.pair.secret.expose_secret() {
            return Err(self.scenario.dialect.other_secret());
        }
        self.check_policy(new)?;
        if self.consul.tokens[index].foreign {
            self.broken("only ours: a token of another owner was changed".to_owned());
        }
        let record = &mut self.consul.tokens[index];
        record.description.clone_from(&new.description);
        if !matches!(new.grant, Grant::ServiceIdentity(_)) {
            record.grants = granted(&new.grant);
        }
        Ok(record.token())
    }

    /// Whether a secret ever showed a token to tasks.
    pub(crate) fn was_ever_shown(&self, record: &Record) -> bool {
        self.secrets.held.keys().any(|name| self.was_shown(name, &record.secret))
    }

    pub(crate) fn delete_token(&mut self, accessor: AccessorId) -> Result<(), Answer> {
        let Some(index) = self.consul.tokens.iter().rposition(|record| record.accessor == accessor) else {
            return self.scenario.dialect.no_token_to_delete();
        };
        let record = self.consul.tokens.remove(index);
        let login = record.description.login();
        let is_own_loser = record.creator == Some(self.caller) && !self.was_ever_shown(&record);
        if !is_own_loser {
            self.check_not_blind(login.map(|mark| mark.cluster.as_str()));
        }
        if record.foreign {
            self.broken(format!(
                "only ours: token {accessor} of another owner was deleted: {:?}",
                record.description.as_str()
            ));
        }
        if let Some(mark) = login {
            self.check_stopped(&mark.task, "its login token was deleted");
        } else if let Some(mark) = record.description.holder_mark() {
            match &mark.service {
                Some(name) if self.was_ever_shown(&record) => {
                    self.revoked.insert(record.secret.clone());
                    self.check_grace(name);
                    self.check_not_in_use(&record.secret);
                }
                Some(_) => {}
                None if self.is_cleaned_up || !self.was_ever_shown(&record) => {}
                None => self.broken("never the living: the client agents' token was deleted".to_owned()),
            }
        }
        Ok(())
    }

    /// The tokens in all namespaces of a partition: all, or those with the identity of a service.
    pub(crate) fn listed_tokens(&self, tenancy: &Tenancy, service: Option<&ServiceName>) -> Vec<ListedToken> {
        let listed = |record: &Record| ListedToken {
            accessor: record.accessor,
            description: record.description.clone(),
            auth_method: record.auth_method.clone(),
            is_local: record.auth_method.is_some(),
            grants: grants_of(&record.grants),
            created_at: Some(self.consul_time(record.created)),
            expires_at: None,
            tenancy: record.tenancy.clone(),
        };
        let in_partition = self.consul.tokens.iter().filter(|r| r.tenancy.partition() == tenancy.partition());
        let is_of = |token: &ListedToken, service: &ServiceName| {
            token.grants.services.iter().any(|grant| grant.service == service.as_str())
        };
        in_partition.map(listed).filter(|token| service.is_none_or(|service| is_of(token, service))).collect()
    }
}

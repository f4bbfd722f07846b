//! Simulated Secrets Manager: versions, each with an immutable content, of which one is current, and reads that may lag.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws::secrets::{SecretReads, SecretWrites, SecretsError};
use mesh::secret::{SecretState, StoredSecret};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    calls::{Connection, Fault, Service},
    world::World,
};

#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) written_at: u64,
    /// The secret half that tasks read from it.
    shown: Option<String>,
    /// The write of the controller that created it.
    writer: Option<Uuid>,
}

impl Version {
    pub(crate) fn state(&self, name: &str) -> SecretState {
        SecretState::parse(name, &SecretString::from(self.text.clone())).unwrap().0
    }

    /// Whether the controller takes it for its own.
    fn is_own(&self, name: &str) -> bool {
        SecretState::parse(name, &SecretString::from(self.text.clone())).is_ok_and(|(_, is_own)| is_own)
    }
}

/// A secret: its versions, and the times at which each became the current one.
#[derive(Default)]
pub(crate) struct Secret {
    pub(crate) versions: Vec<Version>,
    current: Vec<(u64, usize)>,
}

impl Secret {
    fn current_at(&self, at: u64) -> Option<&Version> {
        let (_, index) = self.current.iter().rev().find(|(since, _)| *since <= at)?;
        self.versions.get(*index)
    }

    /// The latest value with its token removed.
    pub(crate) fn emptied(&self) -> Option<String> {
        let mut value: Value = serde_json::from_str(&self.versions.last()?.text).ok()?;
        for field in ["accessor_id", "token", "retiring"] {
            if let Some(held) = value.get_mut(field) {
                *held = json!("");
            }
        }
        Some(value.to_string())
    }

    fn put(&mut self, at: u64, version: Version) {
        self.versions.push(version);
        self.current.push((at, self.versions.len() - 1));
    }
}

/// All secrets.
#[derive(Default)]
pub(crate) struct Secrets {
    pub(crate) held: BTreeMap<String, Secret>,
}

impl World {
    /// The true state of a secret.
    pub(crate) fn secret(&self, name: &str) -> SecretState {
        let current = self.secrets.held.get(name).and_then(|secret| secret.current_at(self.now));
        current.map_or(SecretState::Missing, |version| version.state(name))
    }

    /// Adds a version, and makes it the current one.
    pub(crate) fn put_secret(&mut self, name: &str, id: String, text: String) {
        let written_at = self.now;
        let state = SecretState::parse(name, &SecretString::from(text.clone())).ok().map(|(state, _)| state);
        let shown = state.and_then(|state| state.shown().map(|pair| pair.secret.expose_secret().to_owned()));
        let version = Version { id, text, written_at, shown, writer: None };
        self.secrets.held.entry(name.to_owned()).or_default().put(written_at, version);
    }

    /// Makes an older version current; whether there is one.
    pub(crate) fn roll_back(&mut self, name: &str) -> bool {
        let now = self.now;
        let Some(secret) = self.secrets.held.get_mut(name).filter(|secret| secret.versions.len() > 1) else {
            return false;
        };
        let older = self.random.usize(..secret.versions.len() - 1);
        secret.current.push((now, older));
        true
    }

    /// Whether the current value of a secret is the controller's.
    pub(crate) fn is_own_secret(&self, name: &str) -> bool {
        let current = self.secrets.held.get(name).and_then(|secret| secret.current_at(self.now));
        current.is_some_and(|version| version.is_own(name))
    }

    /// Whether a secret ever showed this secret half.
    pub(crate) fn was_shown(&self, name: &str, half: &str) -> bool {
        let shows = |version: &Version| version.shown.as_deref() == Some(half);
        self.secrets.held.get(name).is_some_and(|secret| secret.versions.iter().any(shows))
    }

    /// The version that a read shows.
    pub(crate) fn version(&mut self, name: &str) -> Option<Version> {
        let lag = if self.fault_free { 0 } else { self.random.u64(..=self.scenario.secret_lag) };
        let seen = self.now.saturating_sub(lag);
        self.secrets.held.get(name)?.current_at(seen).cloned()
    }

    /// `CreateSecret`; `false` if the secret exists. A retry of the same request succeeds.
    fn create_secret(&mut self, name: &str, text: &str, writer: Uuid) -> bool {
        let known = self.secrets.held.get(name).map(|secret| secret.versions.as_slice()).unwrap_or_default();
        let may_be_retry = known.iter().all(|version| version.id == next_version(name, None));
        may_be_retry && self.replace_secret(name, None, text, writer)
    }

    /// `PutSecretValue`; `false` if the version exists with another content.
    fn replace_secret(&mut self, name: &str, seen: Option<&str>, text: &str, writer: Uuid) -> bool {
        let id = next_version(name, seen);
        let versions = self.secrets.held.get(name).map(|secret| secret.versions.as_slice()).unwrap_or_default();
        match versions.iter().find(|version| version.id == id) {
            None => {
                self.check_write(name, text);
                self.put_secret(name, id, text.to_owned());
                let written = self.secrets.held.get_mut(name).and_then(|secret| secret.versions.last_mut());
                written.expect("the version").writer = Some(writer);
            }
            Some(known) if known.text == text => self.check_writer(name, known.writer, writer),
            Some(_) => return false,
        }
        true
    }
}

fn next_version(name: &str, seen: Option<&str>) -> String {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, seen.unwrap_or(name).as_bytes()).to_string()
}

/// Secrets Manager, as one environment reaches it: the requests of the production client, in its order.
pub(crate) struct SecretsEdge(pub Connection);

fn failed(name: &str) -> impl Fn(Fault) -> SecretsError + Send + 'static {
    let name = name.to_owned();
    move |fault| {
        let reason = format!("{fault:?}");
        match fault {
            Fault::Credential => SecretsError::Denied { name: name.clone(), reason },
            Fault::Throttled | Fault::Unavailable | Fault::NoAnswer => {
                SecretsError::Failed { name: name.clone(), reason }
            }
        }
    }
}

impl SecretsEdge {
    async fn value(&self, name: &str) -> Result<StoredSecret, SecretsError> {
        let asked = name.to_owned();
        let effect = move |world: &mut World| {
            if world.is_locked(&asked) {
                return Err(SecretsError::Unusable { name: asked.clone(), reason: "its key".to_owned() });
            }
            Ok(match world.version(&asked) {
                Some(version) => {
                    let (state, is_ours) = SecretState::parse(&asked, &SecretString::from(version.text))?;
                    let written_at = Some(world.secrets_time(version.written_at));
                    StoredSecret { state, is_ours, version: Some(version.id), written_at }
                }
                None => StoredSecret { state: SecretState::Missing, is_ours: false, version: None, written_at: None },
            })
        };
        self.0.call(Service::Secrets, || format!("GetSecretValue {name}"), effect, failed(name)).await
    }
}

#[async_trait]
impl SecretReads for SecretsEdge {
    async fn read(&self, name: &str) -> Result<StoredSecret, SecretsError> {
        self.value(name).await
    }
}

#[async_trait]
impl SecretWrites for SecretsEdge {
    async fn write(&self, name: &str, seen: &StoredSecret, state: &SecretState) -> Result<String, SecretsError> {
        let nonce = {
            let mut world = self.0.shared.world.lock().unwrap();
            world.has_decided(self.0.environment);
            Uuid::from_u128(world.random.u128(..))
        };
        let text = state.render(nonce).expose_secret().to_owned();
        let what = match state {
            SecretState::Active(pair) => format!("active {}", pair.accessor),
            SecretState::Retiring(pair, _) => format!("retiring {}", pair.accessor),
            SecretState::Missing | SecretState::Empty => "empty".to_owned(),
        };
        if matches!(seen.state, SecretState::Missing) {
            let (asked, value) = (name.to_owned(), text.clone());
            let effect = move |world: &mut World| Ok(world.create_secret(&asked, &value, nonce));
            let label = || format!("CreateSecret {name}: {what}");
            if self.0.call(Service::Secrets, label, effect, failed(name)).await? {
                return Ok(next_version(name, None));
            }
            if !matches!(self.value(name).await?.state, SecretState::Missing) {
                return Err(SecretsError::Changed { name: name.to_owned() });
            }
        }
        let (asked, version) = (name.to_owned(), seen.version.clone());
        let effect = move |world: &mut World| Ok(world.replace_secret(&asked, version.as_deref(), &text, nonce));
        let label = || format!("PutSecretValue {name}: {what}");
        if self.0.call(Service::Secrets, label, effect, failed(name)).await? {
            Ok(next_version(name, seen.version.as_deref()))
        } else {
            Err(SecretsError::Changed { name: name.to_owned() })
        }
    }
}

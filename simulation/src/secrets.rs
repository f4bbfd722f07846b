//! Simulated Secrets Manager: versions, of which one ID can hold only one content, and reads that may be late.

use std::collections::BTreeMap;

use async_trait::async_trait;
use ecs_mesh_controller::secrets::{SecretStore, SecretsError};
use mesh::secret::{SecretState, StoredSecret};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use super::{
    board::{Fault, Line, Service},
    world::note,
    world::{World, time_at},
};

#[derive(Debug, Clone)]
pub(crate) struct Version {
    id: String,
    pub(crate) text: String,
    written_at: u64,
}

impl Version {
    fn state(&self, name: &str) -> SecretState {
        SecretState::parse(name, &SecretString::from(self.text.clone())).unwrap()
    }
}

/// All secrets; of each, every version from the first to the current one.
#[derive(Default)]
pub(crate) struct Secrets {
    pub(crate) held: BTreeMap<String, Vec<Version>>,
}

impl World {
    /// What a secret holds in truth.
    pub(crate) fn secret(&self, name: &str) -> SecretState {
        let current = self.secrets.held.get(name).and_then(|versions| versions.last());
        current.map_or(SecretState::Missing, |version| version.state(name))
    }

    pub(crate) fn put_secret(&mut self, name: &str, id: String, text: String) {
        let written_at = self.now;
        self.secrets.held.entry(name.to_owned()).or_default().push(Version { id, text, written_at });
    }

    /// A task's container reads its token, as late as anybody else.
    pub(crate) fn read_secret(&mut self, index: usize) {
        let name = self.secret_name(self.ecs.tasks[index].service);
        let version = self.version(&name);
        let state = version.map_or(SecretState::Missing, |version| version.state(&name));
        let read = state.pair().map(|pair| pair.secret.expose_secret().to_owned());
        note!(self, "task {index} reads its secret: {state:?}");
        self.ecs.tasks[index].read = read;
    }

    fn version(&mut self, name: &str) -> Option<Version> {
        let versions = self.secrets.held.get(name)?;
        let lag = if self.calm { 0 } else { self.random.u64(..=self.scenario.secret_lag) };
        let seen = self.now.saturating_sub(lag);
        versions.iter().rev().find(|version| version.written_at <= seen).cloned()
    }

    /// `CreateSecret`; `false` where there is one.
    fn create_secret(&mut self, name: &str, text: &str) -> bool {
        if let Some(versions) = self.secrets.held.get(name) {
            // The same request once more is no error.
            return versions.len() == 1 && versions[0].id == next_version(name, None) && versions[0].text == text;
        }
        self.put_secret(name, next_version(name, None), text.to_owned());
        true
    }

    /// `PutSecretValue`; `false` where the version exists with another content.
    fn replace_secret(&mut self, name: &str, seen: Option<&str>, text: &str) -> bool {
        let id = next_version(name, seen);
        let known = self.secrets.held.get(name).and_then(|versions| versions.iter().find(|version| version.id == id));
        if let Some(known) = known {
            return known.text == text;
        }
        self.check_shown(name, text);
        self.put_secret(name, id, text.to_owned());
        true
    }
}

fn next_version(name: &str, seen: Option<&str>) -> String {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, seen.unwrap_or(name).as_bytes()).to_string()
}

/// Secrets Manager, as one environment reaches it: what the real client asks, in its order.
pub(crate) struct SecretsEdge(pub Line);

fn failed(name: &str) -> impl Fn(Fault) -> SecretsError + Send + 'static {
    let name = name.to_owned();
    move |fault| SecretsError::Failed { name: name.clone(), reason: format!("{fault:?}") }
}

impl SecretsEdge {
    async fn value(&self, name: &str) -> Result<StoredSecret, SecretsError> {
        let asked = name.to_owned();
        let effect = move |world: &mut World| {
            Ok(match world.version(&asked) {
                Some(version) => StoredSecret {
                    state: SecretState::parse(&asked, &SecretString::from(version.text))?,
                    version: Some(version.id),
                    written_at: Some(time_at(version.written_at)),
                },
                None => StoredSecret { state: SecretState::Missing, version: None, written_at: None },
            })
        };
        self.0.call(Service::Secrets, || format!("GetSecretValue {name}"), effect, failed(name)).await
    }
}

#[async_trait]
impl SecretStore for SecretsEdge {
    async fn read(&self, name: &str) -> Result<StoredSecret, SecretsError> {
        self.value(name).await
    }

    async fn write(&self, name: &str, seen: &StoredSecret, state: &SecretState) -> Result<StoredSecret, SecretsError> {
        self.write_text(name, seen, state, &state.render()).await
    }

    async fn claim(&self, name: &str, seen: &StoredSecret, state: &SecretState) -> Result<StoredSecret, SecretsError> {
        let claim = Uuid::from_u128(self.0.stage.world.lock().unwrap().random.u128(..));
        self.write_text(name, seen, state, &state.render_claim(claim)).await
    }
}

impl SecretsEdge {
    fn has_written(&self, state: &SecretState) {
        let decided = state.decided().map(|pair| (self.0.environment, pair.secret.expose_secret().to_owned()));
        self.0.stage.world.lock().unwrap().claimed.extend(decided);
    }

    async fn write_text(
        &self,
        name: &str,
        seen: &StoredSecret,
        state: &SecretState,
        text: &SecretString,
    ) -> Result<StoredSecret, SecretsError> {
        self.0.stage.world.lock().unwrap().has_decided(self.0.environment);
        let text = text.expose_secret().to_owned();
        let what = match state {
            SecretState::Holds(pair) | SecretState::Adopted(pair) => format!("holds {}", pair.accessor),
            SecretState::Reserved(pair) => format!("reserved for {}", pair.accessor),
            SecretState::Missing | SecretState::Blank => "blank".to_owned(),
        };
        let written = |seen: Option<&str>| StoredSecret {
            state: state.clone(),
            version: Some(next_version(name, seen)),
            written_at: None,
        };
        if matches!(seen.state, SecretState::Missing) {
            let (asked, value) = (name.to_owned(), text.clone());
            let effect = move |world: &mut World| Ok(world.create_secret(&asked, &value));
            let label = || format!("CreateSecret {name}: {what}");
            if self.0.call(Service::Secrets, label, effect, failed(name)).await? {
                self.has_written(state);
                return Ok(written(None));
            }
            if !matches!(self.value(name).await?.state, SecretState::Missing) {
                return Err(SecretsError::Changed { name: name.to_owned() });
            }
        }
        let (asked, version) = (name.to_owned(), seen.version.clone());
        let effect = move |world: &mut World| Ok(world.replace_secret(&asked, version.as_deref(), &text));
        let label = || format!("PutSecretValue {name}: {what}");
        let is_written = self.0.call(Service::Secrets, label, effect, failed(name)).await?;
        if is_written {
            self.has_written(state);
            Ok(written(seen.version.as_deref()))
        } else {
            Err(SecretsError::Changed { name: name.to_owned() })
        }
    }
}

//! What the controller reads and creates when it is set up.

use async_trait::async_trait;
use consul::{
    ConsulError, Fields, Object, ObjectKind, ObjectReads, ObjectWrites, OwnToken, Permissions, ServerVersion,
};
use mesh::{
    permissions::Permission,
    tenancy::{Tenancy, TenancyName},
};
use serde_json::Value;

use super::{ConsulEdge, found};
use crate::{dialect::Answer, world::World};

#[async_trait]
impl ObjectReads for ConsulEdge {
    async fn is_primary(&self) -> Result<bool, ConsulError> {
        self.call(|| "GET datacenter".to_owned(), |_| Ok(true)).await
    }

    async fn namespaces(&self, partition: &TenancyName) -> Result<Vec<TenancyName>, ConsulError> {
        let asked = partition.clone();
        self.call(|| format!("GET namespaces of {partition}"), move |world| world.namespaces(&asked)).await
    }

    async fn read(&self, object: &Object) -> Result<Option<Fields>, ConsulError> {
        let asked = object.clone();
        match object.kind {
            ObjectKind::BindingRule => {
                let method = object.text("AuthMethod").unwrap_or_default().to_owned();
                let rules = self.ask("GET", object, move |world| Ok(world.binding_rules(&method))).await?;
                let age = |rule: &Fields| rule.get("CreateIndex").and_then(Value::as_u64);
                Ok(rules.into_iter().filter(|rule| object.binds_same_as(rule)).min_by_key(age))
            }
            ObjectKind::SyntheticNode => self.ask("GET", object, move |world| Ok(world.bare_node(&asked.name))).await,
            _ => found(self.ask("GET", object, move |world| world.object(&asked)).await),
        }
    }
}

#[async_trait]
impl ObjectWrites for ConsulEdge {
    async fn create(&self, object: &Object, body: Fields) -> Result<(), ConsulError> {
        let asked = object.clone();
        let created = self.ask("PUT", object, move |world| world.create_object(&asked, &body)).await?;
        if object.kind != ObjectKind::BindingRule {
            return Ok(());
        }
        let oldest = self.read(object).await?;
        let Some(_) = oldest.filter(|oldest| oldest["ID"] != created["ID"]) else { return Ok(()) };
        let (tenancy, id) = (object.tenancy.clone(), created["ID"].as_str().unwrap_or_default().to_owned());
        let effect = move |world: &mut World| {
            world.consul.remove_object(ObjectKind::BindingRule, &tenancy, &id);
            Ok(())
        };
        self.ask("DELETE", object, effect).await
    }

    async fn update(&self, object: &Object, body: Fields) -> Result<(), ConsulError> {
        let asked = object.clone();
        self.ask("PUT", object, move |world| world.update_object(&asked, &body).map(drop)).await
    }
}

impl ConsulEdge {
    /// A call about an object.
    async fn ask<T: std::fmt::Debug + Send + 'static>(
        &self,
        method: &str,
        object: &Object,
        effect: impl FnMut(&mut World) -> Result<T, Answer> + Send + 'static,
    ) -> Result<T, ConsulError> {
        self.call_about(object.to_string(), || format!("{method} {object}"), effect).await
    }
}

#[async_trait]
impl Permissions for ConsulEdge {
    /// The controller's token has them all.
    async fn missing_permissions(&self, _: &Tenancy, _: &[Permission]) -> Result<Vec<Permission>, ConsulError> {
        self.call(|| "POST authorize".to_owned(), |_| Ok(Vec::new())).await
    }

    async fn own_token(&self) -> Result<Option<OwnToken>, ConsulError> {
        let own = OwnToken { accessor_id: "own".to_owned(), policies: Vec::new() };
        self.call(|| "GET own token".to_owned(), move |_| Ok(Some(own.clone()))).await
    }
}

#[async_trait]
impl ServerVersion for ConsulEdge {
    async fn version(&self) -> Result<String, ConsulError> {
        self.call(|| "GET version".to_owned(), |world| Ok(world.scenario.dialect.version().to_owned())).await
    }
}

//! What a running mesh has, as the examples of the pages write it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use audit::{
    audit_with_mesh,
    finding::Finding,
    live_mesh::{Call, Denial, LiveMesh, LiveUpstream, MethodPlace, ServicePlace, questions},
};
use audit_read::{Material, input::read_source};
use document::SourceFile;
use mesh::{
    admission::{AuthMethod, BindingRule},
    consul_ecs::SERVICE_NAME_ENTITY_TAG,
    tenancy::Tenancy,
};
use serde::Deserialize;
use serde_json::Value;

/// The block below `In Consul`. What it leaves out could not be read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Shown {
    services: Option<BTreeSet<String>>,
    /// Names that mean something else than a service with the protocol `tcp`.
    #[serde(default)]
    upstreams: BTreeMap<String, ShownUpstream>,
    /// Why Consul denies calls, by `source → destination`.
    #[serde(default)]
    denied: BTreeMap<String, String>,
    #[serde(default)]
    auth_methods: BTreeMap<String, Option<ShownMethod>>,
    version: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ShownUpstream {
    protocol: Option<String>,
    leads_to: Option<BTreeSet<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ShownMethod {
    r#type: String,
    #[serde(rename = "boundIAMPrincipalARNs")]
    principals: Vec<String>,
    bind_name: Option<String>,
    /// A role that another binding rule gives to some logins.
    role_of_others: Option<String>,
}

/// The findings of a text next to a mesh.
pub(crate) fn live_findings_in(name: &str, text: &str, mesh: &Value) -> Vec<Finding> {
    let mut material = Material::default();
    read_source(Arc::new(SourceFile::new(name, text)), true, &mut material).unwrap();
    live_findings(&material, mesh)
}

/// The findings of some definitions next to a mesh.
pub(crate) fn live_findings(material: &Material, mesh: &Value) -> Vec<Finding> {
    audit_with_mesh(material, Some(&live(material, mesh)))
}

fn at_home(name: &str) -> ServicePlace {
    ServicePlace { name: name.to_owned(), tenancy: Tenancy::Community }
}

fn live(material: &Material, mesh: &Value) -> LiveMesh {
    let shown: Shown = serde_json::from_value(mesh.clone()).unwrap();
    let upstream = |asked: ServicePlace| {
        let upstream = shown.upstreams.get(&asked.name);
        let protocol = upstream.and_then(|it| it.protocol.as_deref()).unwrap_or("tcp").to_owned();
        let leads_to = upstream.and_then(|it| it.leads_to.as_ref());
        let targets = leads_to.map_or_else(|| [asked.clone()].into(), |to| to.iter().map(|to| at_home(to)).collect());
        (asked, LiveUpstream { protocol, targets })
    };
    let denial = |(call, reason): (&String, &String)| {
        let (source, upstream) = call.split_once(" → ").unwrap();
        let (source, upstream) = (at_home(source), at_home(upstream));
        (Call { source, upstream: upstream.clone() }, Denial { target: upstream, reason: reason.clone() })
    };
    let method = |(name, method): (&String, &Option<ShownMethod>)| {
        let place = MethodPlace { name: name.clone(), tenancy: Tenancy::Community };
        (place, method.as_ref().map(ShownMethod::method))
    };
    let asked = questions(material, &Tenancy::Community);
    let is_read = shown.services.is_some();
    LiveMesh {
        home: Tenancy::Community,
        upstreams: asked.upstreams.into_iter().filter(|_| is_read).map(upstream).collect(),
        services: shown.services.clone().map(|services| (Tenancy::Community, services)).into_iter().collect(),
        denials: shown.denied.iter().map(denial).collect(),
        methods: shown.auth_methods.iter().map(method).collect(),
        servers: shown.version.map(|version| mesh::release::Release::line_of(&version).unwrap()),
    }
}

impl ShownMethod {
    fn method(&self) -> AuthMethod {
        let rule = |bind_type: &str, name: &String, selector: &str| BindingRule {
            bind_type: bind_type.to_owned(),
            bind_name: name.clone(),
            selector: selector.to_owned(),
        };
        let service = self.bind_name.iter().map(|name| rule("service", name, ""));
        let others = self.role_of_others.iter().map(|name| rule("role", name, r#"entity_tags["kind"] == "gateway""#));
        AuthMethod {
            kind: self.r#type.clone(),
            has_entity_details: true,
            entity_tags: vec![SERVICE_NAME_ENTITY_TAG.to_owned()],
            principals: self.principals.clone(),
            namespace_rules: Vec::new(),
            binding_rules: service.chain(others).collect(),
        }
    }
}

//! What a running Consul has of the services and auth methods that task definitions name, read before the deployment.
//!
//! ```text
//!  Material ─▶ questions ─▶ (read elsewhere) ─▶ LiveMesh ─▶ audit_with_mesh ─▶ findings of rules consul-live-…
//! ```
//!
//! A part that could not be read is left out, and its rules report nothing: left out never means absent.

use std::collections::{BTreeMap, BTreeSet};

use mesh::{admission::AuthMethod, release::Release, tenancy::Tenancy};

use audit_read::Material;

use crate::{
    rule::Rule,
    rules::{self, live_mesh::RULES_ABOUT_METHODS},
    subject::Subject,
};

/// A service in the datacenter that was asked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServicePlace {
    pub name: String,
    pub tenancy: Tenancy,
}

/// Calls from one service to an upstream of another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    pub source: ServicePlace,
    pub upstream: ServicePlace,
}

/// An auth method in the partition of a service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MethodPlace {
    pub name: String,
    /// The default namespace of the partition: methods are there.
    pub tenancy: Tenancy,
}

/// What the rules want to know of a mesh.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Questions {
    /// The upstreams that a service of the datacenter answers.
    pub upstreams: BTreeSet<ServicePlace>,
    /// The calls whose source is known as well.
    pub calls: BTreeSet<Call>,
    pub methods: BTreeSet<MethodPlace>,
    /// Whether the release of the servers matters: there are tasks of the mesh.
    pub has_tasks: bool,
}

/// What a mesh has.
#[derive(Debug, Clone, Default)]
pub struct LiveMesh {
    /// The tenancy of tasks that name none.
    pub home: Tenancy,
    /// What the names of upstreams mean.
    pub upstreams: BTreeMap<ServicePlace, LiveUpstream>,
    /// The names in the catalog.
    pub services: BTreeMap<Tenancy, BTreeSet<String>>,
    /// The calls that Consul certainly denies, for every request.
    pub denials: BTreeMap<Call, Denial>,
    /// `None` if Consul certainly has no such method.
    pub methods: BTreeMap<MethodPlace, Option<AuthMethod>>,
    /// The line of Consul that the servers run.
    pub servers: Option<Release>,
}

/// What the name of an upstream means, by the compiled discovery chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveUpstream {
    pub protocol: String,
    /// The services that requests may go to; empty if some of them are in another datacenter or at a peer.
    pub targets: BTreeSet<ServicePlace>,
}

/// Why Consul denies calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The service that is called: the upstream, or what its name leads to.
    pub target: ServicePlace,
    /// As a sentence's subject and verb: `intention web → orders denies them`.
    pub reason: String,
}

/// What the rules want to know of a mesh about these definitions. `home` is the tenancy of tasks that name none.
pub fn questions(material: &Material, home: &Tenancy) -> Questions {
    let subjects: Vec<Subject<'_>> = material.definitions.iter().map(Subject::new).collect();
    rules::live_mesh::questions(&subjects, home)
}

impl Questions {
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    /// The same without what only rules that do not apply would judge: reading auth methods takes a permission of its own.
    #[must_use]
    pub fn for_rules(mut self, is_applied: impl Fn(&Rule) -> bool) -> Self {
        if !RULES_ABOUT_METHODS.into_iter().any(is_applied) {
            self.methods.clear();
        }
        self
    }
}

impl ServicePlace {
    /// The name, with its partition and namespace unless both are the default.
    pub fn shown(&self) -> String {
        match self.tenancy.place() {
            ["default", "default"] => self.name.clone(),
            [partition, namespace] => format!("{partition}/{namespace}/{}", self.name),
        }
    }
}

impl LiveMesh {
    /// Whether the catalog has the service; `None` if its names could not be read.
    pub fn has(&self, service: &ServicePlace) -> Option<bool> {
        Some(self.services.get(&service.tenancy)?.contains(&service.name))
    }
}

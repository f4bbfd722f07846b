//! Resources of App Mesh: exported by `aws appmesh describe-…`, or declared in a template or plan.

mod resource;

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

pub use self::resource::{Presence, ROUTE_KINDS, Reference, Resource, ResourceKind};
use crate::definition::Text;
use document::SourceFile;

/// The resources of a run.
#[derive(Debug, Default)]
pub struct Resources {
    /// In the order of the files.
    all: Vec<Resource>,
    /// Where in `all` the resources with a known name are.
    by_name: OnceLock<HashMap<(ResourceKind, String), Vec<usize>>>,
    /// Whether some of the input could not be read. It may have any other resource.
    pub is_partial: bool,
    /// Whether a template creates other stacks or modules, which may have any other resource.
    pub has_nested_stacks: bool,
}

impl FromIterator<Resource> for Resources {
    fn from_iter<I: IntoIterator<Item = Resource>>(resources: I) -> Self {
        Self { all: resources.into_iter().collect(), ..Self::default() }
    }
}

impl Resources {
    /// Adds the resources of another part of the run.
    pub fn add(&mut self, other: Self) {
        self.extend(other.all);
        self.is_partial |= other.is_partial;
        self.has_nested_stacks |= other.has_nested_stacks;
    }

    /// Adds resources, after those that are there.
    pub fn extend(&mut self, resources: impl IntoIterator<Item = Resource>) {
        self.all.extend(resources);
        self.by_name.take();
    }

    /// In the order of the files.
    pub fn all(&self) -> &[Resource] {
        &self.all
    }

    pub(crate) fn all_mut(&mut self) -> &mut [Resource] {
        self.by_name.take();
        &mut self.all
    }

    /// Those of one kind.
    pub fn of(&self, kind: ResourceKind) -> impl Iterator<Item = &Resource> {
        self.all.iter().filter(move |resource| resource.kind == kind)
    }

    /// The one with this name in this mesh that certainly exists, as `file` refers to it: if several files have one,
    /// as the templates of several environments do, it is the one in the same file.
    pub fn named(&self, kind: ResourceKind, mesh: &str, name: &str, file: &Arc<SourceFile>) -> Option<&Resource> {
        let all: Vec<&Resource> = self.with_name(kind, name).filter(|resource| resource.is_in(mesh)).collect();
        let found = match all.as_slice() {
            [one] => Some(*one),
            several => {
                let mut here = several.iter().filter(|resource| Arc::ptr_eq(&resource.file, file));
                here.next().copied().filter(|_| here.next().is_none())
            }
        };
        found.filter(|resource| resource.presence != Presence::Conditional)
    }

    fn with_name(&self, kind: ResourceKind, name: &str) -> impl Iterator<Item = &Resource> {
        let by_name = self.by_name.get_or_init(|| {
            let mut by_name: HashMap<(ResourceKind, String), Vec<usize>> = HashMap::new();
            for (at, resource) in self.all.iter().enumerate() {
                if let Some(name) = resource.name.whole() {
                    by_name.entry((resource.kind, name.to_owned())).or_default().push(at);
                }
            }
            by_name
        });
        by_name.get(&(kind, name.to_owned())).into_iter().flatten().filter_map(|at| self.all.get(*at))
    }

    /// Whether a resource is certainly missing: the run knows all resources of its kind in its mesh, without it.
    pub fn lacks(&self, kind: ResourceKind, mesh: &str, name: &str) -> bool {
        let may_be_it = |resource: &Resource| resource.mesh.may_be(mesh) && resource.name.may_be(name);
        !self.is_partial && self.is_complete(kind, mesh) && !self.of(kind).any(may_be_it)
    }

    /// Whether the run counts as having all resources of a kind in a mesh: an export has one of them, or the templates
    /// create one of them and the mesh itself. A template that only adds to a mesh shows nothing about the others.
    fn is_complete(&self, kind: ResourceKind, mesh: &str) -> bool {
        let is_it = |own: &Resource| own.is_called(mesh, mesh) && own.presence != Presence::Conditional;
        let creates_mesh = !self.has_nested_stacks && self.of(ResourceKind::Mesh).any(is_it);
        let mut of_mesh = self.of(kind).filter(|resource| resource.is_in(mesh));
        of_mesh.any(|resource| creates_mesh || resource.presence == Presence::Exported)
    }

    /// Another mesh that has a resource of this kind and name.
    pub fn other_mesh_with(&self, kind: ResourceKind, mesh: &str, name: &str) -> Option<&str> {
        let named = self.of(kind).filter(|resource| resource.name.whole() == Some(name));
        named.filter_map(|resource| resource.mesh.whole()).find(|other| *other != mesh)
    }

    /// The references of all resources of one kind to resources that are in no mesh of the run, with the mesh.
    pub fn broken_references(&self, from: ResourceKind) -> impl Iterator<Item = (&Resource, &str, Reference<'_>)> {
        self.references().filter(move |(resource, mesh, to)| {
            resource.kind == from
                && self.lacks(to.kind, mesh, to.name)
                && self.other_mesh_with(to.kind, mesh, to.name).is_none()
        })
    }

    /// All references between resources whose mesh is known, with that mesh.
    pub fn references(&self) -> impl Iterator<Item = (&Resource, &str, Reference<'_>)> {
        self.all.iter().filter_map(|resource| Some((resource, resource.mesh.whole()?))).flat_map(|(resource, mesh)| {
            resource.references().into_iter().map(move |reference| (resource, mesh, reference))
        })
    }

    /// The names of the resources of one kind in a mesh, for help texts.
    pub fn names(&self, kind: ResourceKind, mesh: &str) -> String {
        let mut names: Vec<&str> =
            self.of(kind).filter(|resource| resource.is_in(mesh)).filter_map(|it| it.name.whole()).collect();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    }

    /// The router of a route, or the gateway of a gateway route, if it is certainly one of the run.
    pub fn owner(&self, route: &Resource) -> Option<&Resource> {
        let (mesh, name) = (route.mesh.whole()?, route.owner.as_ref()?.whole()?);
        self.named(route.kind.owner()?, mesh, name, &route.file)
    }

    /// The routes that a virtual router certainly has.
    pub fn routes<'r>(&'r self, router: &'r Resource) -> impl Iterator<Item = &'r Resource> {
        let names_it = |route: &&Resource| route.owner.as_ref().and_then(Text::whole) == router.name.whole();
        let is_its = |route: &&Resource| self.owner(route).is_some_and(|owner| std::ptr::eq(owner, router));
        self.of(ResourceKind::Route)
            .filter(names_it)
            .filter(|route| route.presence != Presence::Conditional)
            .filter(is_its)
    }

    /// Whether a virtual router certainly has no route, although the run has routes of its mesh.
    pub fn lacks_routes(&self, router: &Resource) -> bool {
        let (Some(mesh), Some(name)) = (router.mesh.whole(), router.name.whole()) else { return false };
        let may_be_its =
            |route: &Resource| route.mesh.may_be(mesh) && route.owner.as_ref().is_none_or(|owner| owner.may_be(name));
        !self.is_partial && self.is_complete(ResourceKind::Route, mesh) && !self.of(ResourceKind::Route).any(may_be_its)
    }
}

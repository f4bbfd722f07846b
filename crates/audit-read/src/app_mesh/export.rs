//! Resources as `aws appmesh describe-…` prints them.

use std::sync::Arc;

use super::{
    kind::ResourceKind,
    resource::{Presence, Resource},
};
use crate::{document::Node, source::SourceFile};

impl Resource {
    /// The resources in a file: one export, or a list of exports.
    pub fn all_in(file: &Arc<SourceFile>, node: &Node) -> Vec<Self> {
        let exports = if node.items().is_empty() { std::slice::from_ref(node) } else { node.items() };
        exports.iter().flat_map(|export| exported(file, export)).collect()
    }
}

/// The CLI prints a resource under its kind; the API's response body is the bare resource.
fn exported(file: &Arc<SourceFile>, export: &Node) -> Vec<Resource> {
    let under_kinds = ResourceKind::ALL.iter().filter_map(|kind| read(file, *kind, export.get(kind.key())?));
    let found: Vec<Resource> = under_kinds.collect();
    if found.is_empty() { bare(file, export).into_iter().collect() } else { found }
}

/// A body contains the name of its mesh too, and a route's body that of its router: nested kinds come first.
fn bare(file: &Arc<SourceFile>, body: &Node) -> Option<Resource> {
    body.get("spec")?;
    let kind = ResourceKind::ALL.into_iter().find(|kind| body.get(kind.name_key()).is_some())?;
    read(file, kind, body)
}

fn read(file: &Arc<SourceFile>, kind: ResourceKind, body: &Node) -> Option<Resource> {
    let span = body.get(kind.name_key()).filter(|name| name.text().is_some())?.place.span;
    body.get("meshName")?.text()?;
    Some(Resource::new(file.clone(), kind, body.clone(), span, Presence::Exported))
}

//! Manual changes of the catalog: people deregister nodes, services and checks, or restore Consul from a snapshot. The promises do
//! not apply to what they have changed until a later sweep is complete.

use std::collections::BTreeSet;

use mesh::catalog::HealthCheck;

use super::{
    catalog::Instance,
    consul::Consul,
    world::{World, note},
};

/// The part of a snapshot of Consul with the nodes of clusters. Client agents register theirs again by themselves.
#[derive(Debug, Clone)]
pub(crate) struct CatalogSnapshot {
    nodes: BTreeSet<String>,
    instances: Vec<Instance>,
    checks: Vec<HealthCheck>,
}

fn is_cluster(node: &str) -> bool {
    node.starts_with("arn:")
}

impl Consul {
    pub(crate) fn catalog_snapshot(&self) -> CatalogSnapshot {
        CatalogSnapshot {
            nodes: self.nodes.iter().filter(|node| is_cluster(node)).cloned().collect(),
            instances: self.instances.iter().filter(|instance| is_cluster(&instance.node)).cloned().collect(),
            checks: self.checks.iter().filter(|check| is_cluster(&check.node)).cloned().collect(),
        }
    }

    fn forget_clusters(&mut self) {
        self.nodes.retain(|node| !is_cluster(node));
        self.instances.retain(|instance| !is_cluster(&instance.node));
        self.checks.retain(|check| !is_cluster(&check.node));
    }
}

impl World {
    /// Makes one random change to the entries of clusters in the catalog.
    pub(crate) fn change_catalog_by_hand(&mut self) {
        self.manual_changes.is_catalog_changed = true;
        self.consul.index += 1;
        if self.manual_changes.catalog_snapshot.is_some() && self.random.bool() {
            return self.restore_catalog();
        }
        let random = self.random.usize(..1 << 16);
        match self.random.u32(..6) {
            0 => {
                let node = self.clusters[random % self.clusters.len()].as_str().to_owned();
                note!(self, "a person deregisters node {node}");
                let others: Vec<_> = self.consul.others.iter().filter(|(on, _)| *on == node).cloned().collect();
                self.consul.remove_node(&node);
                // The other owner registers its service again.
                self.consul.nodes.extend(others.iter().map(|(node, _)| node.clone()));
                self.consul.others.extend(others);
            }
            1 => {
                let on_clusters = self.consul.instances.iter().filter(|instance| is_cluster(&instance.node));
                let ids: Vec<(String, String)> = on_clusters.map(|it| (it.node.clone(), it.id.clone())).collect();
                let Some((node, id)) = ids.get(random % ids.len().max(1)) else { return };
                note!(self, "a person deregisters {id}");
                self.consul.remove(node, id);
            }
            2 => self.delete_check_by_hand(random),
            3 | 4 => {
                self.note("a snapshot of the catalog is taken");
                self.manual_changes.catalog_snapshot = Some(self.consul.catalog_snapshot());
            }
            _ => {
                note!(self, "Consul loses its catalog");
                let others: Vec<String> = self.consul.others.iter().map(|(node, _)| node.clone()).collect();
                self.consul.forget_clusters();
                self.consul.nodes.extend(others);
            }
        }
    }

    fn delete_check_by_hand(&mut self, random: usize) {
        let on_clusters = self.consul.checks.iter().filter(|check| is_cluster(&check.node));
        let checks: Vec<HealthCheck> = on_clusters.cloned().collect();
        let Some(gone) = checks.get(random % checks.len().max(1)) else { return };
        note!(self, "a person deletes check {}", gone.id);
        self.consul.checks.retain(|check| !check.is_same_as(gone));
        let now = self.now;
        for instance in self.consul.instances.iter_mut().filter(|instance| instance.has(gone)) {
            instance.unproven_since = Some(now);
        }
    }

    /// Brings back the nodes, services and checks of a snapshot, those of tasks that have stopped since among them.
    fn restore_catalog(&mut self) {
        let Some(snapshot) = self.manual_changes.catalog_snapshot.clone() else { return };
        self.note("the catalog is restored from the snapshot");
        let now = self.now;
        self.consul.forget_clusters();
        self.consul.health_synced.clear();
        self.consul.nodes.extend(snapshot.nodes);
        self.consul.nodes.extend(self.consul.others.iter().map(|(node, _)| node.clone()).collect::<Vec<_>>());
        self.consul.checks.extend(snapshot.checks);
        let restored = snapshot.instances.into_iter();
        self.consul.instances.extend(restored.map(|instance| Instance { unproven_since: Some(now), ..instance }));
    }
}

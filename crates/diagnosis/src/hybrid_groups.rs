//! The groups for the exchange of keys between proxies. Where the config entry `mesh` demands TLS 1.3 and names none, servers of 2.1
//! choose the hybrid group too, and an Envoy that does not know it refuses its whole configuration. Servers before 2.1 refuse a list of
//! groups: <https://github.com/hashicorp/web-unified-docs/blob/main/content/consul/v2.1.x/content/docs/secure/encryption/migrate-post-quantum.mdx>

use observe::{Direction, MeshEntry};

use crate::doctor::quoted;

/// The hybrid group.
const HYBRID: &str = "X25519MLKEM768";
/// The group that every Envoy knows.
const CLASSIC: &str = "X25519";
/// The minimum with which the servers choose no groups.
const MINIMUM: &str = "TLSv1_2";

/// A config entry `mesh` that leaves the groups to the servers.
pub(crate) struct OpenGroups<'a> {
    entry: &'a MeshEntry,
    /// For example `Incoming and Outgoing`.
    directions: String,
}

impl<'a> OpenGroups<'a> {
    pub(crate) fn of(entry: &'a MeshEntry) -> Option<Self> {
        let directions: Vec<&str> = entry.directions_without_groups().into_iter().map(Direction::as_str).collect();
        (!directions.is_empty()).then(|| Self { entry, directions: directions.join(" and ") })
    }

    /// What servers of 2.1 will do, and what to do before and after them.
    pub(crate) fn demand(&self) -> String {
        let Self { directions, .. } = self;
        format!(
            "the config entry mesh demands TLS 1.3 (TLS.{directions}) and names no key-exchange groups, so the servers will send \
             {HYBRID} to every Envoy, and one that does not know it refuses its whole configuration. Update what does not know it; or \
             accept TLS 1.2 until all servers run 2.1 (the first command), and then demand TLS 1.3 with {CLASSIC} alone (the second \
             command, which older servers refuse)"
        )
    }

    /// The commands that [`Self::demand`] names.
    pub(crate) fn commands(&self) -> [String; 2] {
        let then = quoted(&self.entry.with_groups(&[CLASSIC]).to_string());
        [self.guarded(&self.entry.with_minimum(MINIMUM).to_string()), format!("echo {then} | consul config write -")]
    }

    /// What servers of this version do.
    pub(crate) fn sent(&self, consul: &str) -> String {
        let Self { directions, .. } = self;
        format!(
            "the config entry mesh demands TLS 1.3 (TLS.{directions}) and names no key-exchange groups, so Consul {consul} sends \
             {HYBRID} to every Envoy, and one that does not know it refuses its whole configuration: see the log of \
             consul-dataplane. The command demands {CLASSIC} alone"
        )
    }

    /// The command that demands the group that every Envoy knows, of servers that know lists of groups.
    pub(crate) fn command(&self) -> String {
        self.guarded(&self.entry.with_groups(&[CLASSIC]).to_string())
    }

    /// Writes an entry, and fails if it has changed since it was read.
    fn guarded(&self, entry: &str) -> String {
        format!("echo {} | consul config write -cas -modify-index {} -", quoted(entry), self.entry.modify_index())
    }
}

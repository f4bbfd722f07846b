//! HCP Consul Dedicated, HashiCorp's own servers, which HashiCorp's tutorials for ECS used. They are gone, and so are their names in DNS:
//! <https://github.com/hashicorp/web-unified-docs/pull/1298>.

/// What a message says of such servers.
pub const ENDED: &str = "HCP Consul Dedicated, which ended on 2025-11-12";

/// How to move to servers of one's own.
pub const MIGRATION: &str = "developer.hashicorp.com/hcp/docs/consul/migrate";

/// The end of the names of these servers.
pub const DOMAIN: &str = ".hashicorp.cloud";

/// Whether an address names such a server: a host, or a URL.
pub fn names_server(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.split([':', '/']).next().unwrap_or_default().trim_end_matches('.');
    host.to_ascii_lowercase().ends_with(DOMAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_below_the_domain_are_of_hcp() {
        for address in [
            "shop.private.consul.0f0f0f0f.aws.hashicorp.cloud",
            "https://Shop.consul.aws.HashiCorp.Cloud:443/",
            "shop.consul.aws.hashicorp.cloud.:8503",
        ] {
            assert!(names_server(address), "{address}");
        }
        for address in
            ["consul.example.com", "https://hashicorp.cloud.example.com:8501", "myhashicorp.cloud", "", "10.0.0.1"]
        {
            assert!(!names_server(address), "{address}");
        }
    }
}

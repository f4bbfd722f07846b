//! `CONSUL_HTTP_ADDR`: where the Consul servers are.

use std::str::FromStr;

use reqwest::Url;

use crate::mesh::field::InvalidField;

/// One or more addresses of the same Consul datacenter, tried in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsulAddresses(Vec<Url>);

impl ConsulAddresses {
    const EXPECTED: &'static str = "http://host:port or https://host:port, several separated by commas";

    /// The addresses: at least one.
    #[must_use]
    pub fn urls(&self) -> &[Url] {
        &self.0
    }

    fn parse_one(text: &str) -> Option<Url> {
        let url = Url::parse(text.trim()).ok()?;
        let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        let web = matches!(url.scheme(), "http" | "https") && url.has_host();
        (plain && web && url.fragment().is_none() && url.path() == "/").then_some(url)
    }
}

impl FromStr for ConsulAddresses {
    type Err = InvalidField;

    fn from_str(text: &str) -> Result<Self, InvalidField> {
        let urls: Option<Vec<Url>> = text.split(',').map(Self::parse_one).collect();
        // An address with credentials in it would put them into the log.
        let shown = if text.contains('@') { "(not shown)" } else { text };
        urls.map(Self).ok_or_else(|| InvalidField::new("Consul address", shown, Self::EXPECTED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_or_several_addresses() {
        let one: ConsulAddresses = "http://10.0.0.1:8500".parse().unwrap();
        assert_eq!(one.urls().len(), 1);
        let several: ConsulAddresses = "https://a.example:8501, https://[::1]:8501".parse().unwrap();
        assert_eq!(several.urls().len(), 2);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "10.0.0.1:8500", "ftp://a:1", "http://a:1/v1", "http://a:1,", "http://a:99999", "http://a?x=1"]
        {
            assert!(text.parse::<ConsulAddresses>().is_err(), "{text}");
        }
    }

    #[test]
    fn credentials_in_an_address_are_refused_and_not_repeated() {
        let error = "http://user:canary@a:8500".parse::<ConsulAddresses>().unwrap_err();
        assert!(!error.to_string().contains("canary"), "{error}");
    }
}

//! Consul's usual variables: <https://developer.hashicorp.com/consul/commands#environment-variables>

use std::{collections::BTreeSet, fs, sync::Arc, time::Duration};

use async_trait::async_trait;
use consul::{
    ConnectorError, ConsulAddresses, ConsulUrls, CredentialError, CredentialSource, HttpConsul, RetryPolicy,
    TlsSettings, TokenOwner,
};
use mesh::tenancy::{Tenancy, TenancyName};
use secrecy::SecretString;

use crate::streams::Failure;

/// Where Consul listens without `CONSUL_HTTP_ADDR`, as for Consul's own commands.
const DEFAULT_ADDRESS: &str = "127.0.0.1:8500";

/// The variables, as they were read.
pub(super) struct ConsulVariables {
    urls: ConsulUrls,
    token: SecretString,
    tls: TlsSettings,
    /// The partition and namespace of tasks without Enterprise tags.
    pub(super) tenancy: Tenancy,
}

struct Given(SecretString);

#[async_trait]
impl CredentialSource for Given {
    async fn read(&self) -> Result<SecretString, CredentialError> {
        Ok(self.0.clone())
    }

    fn owner(&self) -> TokenOwner {
        TokenOwner::Command
    }
}

/// Whether the environment names Consul's address: without it, the default one is only asked by commands that need Consul.
pub(super) fn names_consul() -> bool {
    std::env::var_os("CONSUL_HTTP_ADDR").is_some_and(|address| !address.is_empty())
}

impl ConsulVariables {
    /// Reads the variables by `variable`, which gives the value of an environment variable.
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        let set = |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let file = |name: &str| {
            let read = |path| fs::read_to_string(&path).map_err(|e| Failure::Message(format!("{name}: {path}: {e}")));
            set(name).map(read).transpose()
        };
        let address = set("CONSUL_HTTP_ADDR").unwrap_or_else(|| DEFAULT_ADDRESS.to_owned());
        let has_tls = set("CONSUL_HTTP_SSL").is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"));
        // The file takes precedence, as for Consul's own commands: `NewClient` in its package `api`.
        let in_file =
            file("CONSUL_HTTP_TOKEN_FILE")?.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let token = in_file.or_else(|| set("CONSUL_HTTP_TOKEN"));
        Ok(Self {
            urls: urls(&address, has_tls)?,
            token: SecretString::from(token.unwrap_or_default()),
            tls: TlsSettings { ca_certificates: file("CONSUL_CACERT")?, server_name: set("CONSUL_TLS_SERVER_NAME") },
            tenancy: tenancy(set("CONSUL_PARTITION").as_deref(), set("CONSUL_NAMESPACE").as_deref())?,
        })
    }

    /// The hosts of the addresses, in lower case.
    pub(super) fn hosts(&self) -> BTreeSet<String> {
        self.addresses().hosts().collect()
    }

    /// The addresses.
    pub(super) fn addresses(&self) -> ConsulAddresses {
        ConsulAddresses::Urls(self.urls.clone())
    }

    /// A client that gives up soon: somebody waits for it.
    pub(super) fn client(&self) -> Result<HttpConsul, Failure> {
        let retry_policy = RetryPolicy { retries: 2, discovery: Duration::from_secs(5), ..RetryPolicy::for_events() };
        let credential = Arc::new(Given(self.token.clone()));
        let client = HttpConsul::new(Arc::new(self.urls.clone()), &self.tls, credential, retry_policy);
        client.map_err(|error| Failure::Message(unusable(&error)))
    }
}

fn urls(address: &str, has_tls: bool) -> Result<ConsulUrls, Failure> {
    let refused = |why: &str| Failure::Message(format!("CONSUL_HTTP_ADDR: {why}"));
    let scheme = if has_tls { "https" } else { "http" };
    let whole = if address.contains("://") { address.to_owned() } else { format!("{scheme}://{address}") };
    let expected = "expected host:port, http://host:port or https://host:port, several separated by commas";
    whole.parse().map_err(|_| refused(expected))
}

fn tenancy(partition: Option<&str>, namespace: Option<&str>) -> Result<Tenancy, Failure> {
    if partition.is_none() && namespace.is_none() {
        return Ok(Tenancy::Community);
    }
    let name = |variable: &str, value: Option<&str>| {
        let parsed = value.unwrap_or("default").parse::<TenancyName>();
        parsed.map_err(|invalid| Failure::new(invalid.in_field(variable)))
    };
    Ok(Tenancy::Enterprise {
        partition: name("CONSUL_PARTITION", partition)?,
        namespace: name("CONSUL_NAMESPACE", namespace)?,
    })
}

/// Why no client can be made, in the words of the variables.
fn unusable(error: &ConnectorError) -> String {
    match error {
        ConnectorError::NotPem(_) | ConnectorError::NoCertificate => {
            "CONSUL_CACERT: the file holds no PEM certificate".to_owned()
        }
        ConnectorError::UnusableCertificate(why) => format!("CONSUL_CACERT: the certificate is not usable: {why}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<ConsulVariables, String> {
        let value = |name: &str| variables.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned());
        ConsulVariables::read(value).map_err(|failure| match failure {
            Failure::Message(message) => message,
            Failure::Closed => "closed".to_owned(),
        })
    }

    #[test]
    fn address_is_that_of_consul_s_own_commands() {
        let url = |variables: &[(&str, &str)]| read(variables).map(|read| read.urls.urls()[0].to_string());
        assert_eq!(url(&[]).unwrap(), "http://127.0.0.1:8500/");
        assert_eq!(
            url(&[("CONSUL_HTTP_ADDR", "consul:8501"), ("CONSUL_HTTP_SSL", "true")]).unwrap(),
            "https://consul:8501/"
        );
        assert_eq!(url(&[("CONSUL_HTTP_ADDR", "https://consul:8501")]).unwrap(), "https://consul:8501/");
        let refused = url(&[("CONSUL_HTTP_ADDR", "ecs://prod/consul:8500")]).unwrap_err();
        assert!(refused.starts_with("CONSUL_HTTP_ADDR: expected host:port"), "{refused}");
    }

    #[test]
    fn one_enterprise_name_implies_the_default_of_the_other() {
        let tenancy = |variables: &[(&str, &str)]| read(variables).map(|read| read.tenancy);
        assert_eq!(tenancy(&[]).unwrap(), Tenancy::Community);
        let team = tenancy(&[("CONSUL_PARTITION", "team")]).unwrap();
        assert_eq!(team, Tenancy::default_namespace_of("team".parse().unwrap()));
        assert!(tenancy(&[("CONSUL_NAMESPACE", "a b")]).unwrap_err().starts_with("CONSUL_NAMESPACE"));
    }

    #[test]
    fn token_in_a_file_takes_precedence() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        let token = |text: &str| {
            fs::write(path, text).unwrap();
            let variables = [("CONSUL_HTTP_TOKEN", "in-variable"), ("CONSUL_HTTP_TOKEN_FILE", path)];
            read(&variables).unwrap().token.expose_secret().to_owned()
        };
        assert_eq!(token("in-file\n"), "in-file");
        assert_eq!(token("\n"), "in-variable");
    }

    #[test]
    fn missing_certificate_file_is_named() {
        let missing = read(&[("CONSUL_CACERT", "/nowhere/ca.pem")]).err().unwrap();
        assert!(missing.starts_with("CONSUL_CACERT: /nowhere/ca.pem: "), "{missing}");
    }
}

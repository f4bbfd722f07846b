//! The certificates of Consul's certificate authority:
//! <https://developer.hashicorp.com/consul/api-docs/connect/ca#list-ca-root-certificates>.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

use crate::{
    certificate::{UnreadableCertificate, Validity},
    error::{ConsulError, if_found},
    http::HttpConsul,
    request::{Request, or_default},
};

/// A root certificate. A proxy trusts all that Consul lists.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct CaRoot {
    pub name: String,
    /// Whether it signs certificates now.
    #[serde(rename = "Active")]
    pub is_active: bool,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
    /// The intermediate certificate that signs the certificates of proxies; `None` if the root signs them itself.
    #[serde(rename = "IntermediateCerts", default, deserialize_with = "signing_certificate")]
    pub intermediate: Option<Result<Validity, UnreadableCertificate>>,
}

/// The last one signs: Consul appends each new one, and removes expired ones only then.
///
/// Source: `setLeafSigningCert` in the package `consul` of Consul 1.22.
fn signing_certificate<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Result<Validity, UnreadableCertificate>>, D::Error> {
    let listed = Option::<Vec<String>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(listed.last().map(|pem| Validity::of_pem(pem)))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RootsAnswer {
    #[serde(deserialize_with = "or_default")]
    roots: Vec<CaRoot>,
}

/// A certificate of a server, and how long it is valid.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ExpiringCertificate {
    pub name: String,
    /// `ca`: of the certificate authority. `agent`: of the server itself. `leaf`: of a service; Consul renews it.
    #[serde(rename = "type")]
    pub kind: String,
    pub seconds_remaining: i64,
}

#[derive(Deserialize)]
struct CertificatesAnswer {
    #[serde(deserialize_with = "or_default")]
    certificates: Vec<ExpiringCertificate>,
}

impl HttpConsul {
    /// The certificates of the server that answers; `None` before Consul 2.0, which has no such list. It takes `agent:read`.
    ///
    /// Source: `AgentMetricsCertificates` in the package `agent` of Consul 2.0.
    pub async fn certificates(&self) -> Result<Option<Vec<ExpiringCertificate>>, ConsulError> {
        let request = Request::get("the certificates of the server", &["agent", "metrics", "certificates"]);
        let answer: Option<CertificatesAnswer> = if_found(self.json(&request).await)?;
        Ok(answer.map(|answer| answer.certificates))
    }

    /// The root certificates. It takes no permission.
    pub async fn ca_roots(&self) -> Result<Vec<CaRoot>, ConsulError> {
        let request = Request::get("the roots of Consul's certificate authority", &["connect", "ca", "roots"]);
        let RootsAnswer { roots } = self.json(&request).await?;
        Ok(roots)
    }
}

//! A certificate authority for one server, as those who run Consul with TLS have one of their own.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};

/// An authority and what it has issued, as PEM.
pub(crate) struct Authority {
    /// The authority's certificate: what a client must trust.
    pub(crate) certificate: String,
    pub(crate) server_certificate: String,
    pub(crate) server_key: String,
    /// Whether the server's certificate was good only until yesterday.
    pub(crate) is_expired: bool,
}

impl Authority {
    /// Makes an authority and a server certificate that is good for this one name, not for the server's address.
    pub(crate) fn new(server_name: &str) -> Self {
        Self::issue(server_name, false)
    }

    /// The same, but for a server whose certificate nobody has renewed in time.
    pub(crate) fn expired(server_name: &str) -> Self {
        Self::issue(server_name, true)
    }

    fn issue(server_name: &str, is_expired: bool) -> Self {
        let mut ca = CertificateParams::new(Vec::new()).unwrap();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate().unwrap()).unwrap();

        let key = KeyPair::generate().unwrap();
        let mut server = CertificateParams::new(vec![server_name.to_owned()]).unwrap();
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        if is_expired {
            server.not_before = rcgen::date_time_ymd(2020, 1, 1);
            server.not_after = rcgen::date_time_ymd(2021, 1, 1);
        }
        let server = server.signed_by(&key, &ca).unwrap();
        Self { certificate: ca.pem(), server_certificate: server.pem(), server_key: key.serialize_pem(), is_expired }
    }
}

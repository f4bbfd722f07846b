//! A certificate authority for one server, as those who run Consul with TLS have one of their own.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};

/// An authority and what it has issued, as PEM.
pub(crate) struct Authority {
    /// The authority's certificate: what a client must trust.
    pub(crate) certificate: String,
    pub(crate) server_certificate: String,
    pub(crate) server_key: String,
}

impl Authority {
    /// Makes an authority and a server certificate that is good for this one name, not for the server's address.
    pub(crate) fn new(server_name: &str) -> Self {
        let mut ca = CertificateParams::new(Vec::new()).unwrap();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate().unwrap()).unwrap();

        let key = KeyPair::generate().unwrap();
        let mut server = CertificateParams::new(vec![server_name.to_owned()]).unwrap();
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let server = server.signed_by(&key, &ca).unwrap();
        Self { certificate: ca.pem(), server_certificate: server.pem(), server_key: key.serialize_pem() }
    }
}

//! Certificates for Consul servers.

use local_stack::consul::ServerCertificate;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};

/// A certificate by a new authority, valid for this name and not for the server's address.
pub fn certificate_for(server_name: &str) -> ServerCertificate {
    Authority::new().certificate_for(server_name)
}

/// The same, but expired.
pub fn expired_certificate_for(server_name: &str) -> ServerCertificate {
    Authority::new().expired_certificate_for(server_name)
}

/// A certificate authority.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Authority {
    pub fn new() -> Self {
        let mut ca = CertificateParams::new(Vec::new()).unwrap();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(ca, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate that is valid for this name and not for the server's address.
    pub fn certificate_for(&self, server_name: &str) -> ServerCertificate {
        self.issue(server_name, false)
    }

    /// The same, but expired.
    pub fn expired_certificate_for(&self, server_name: &str) -> ServerCertificate {
        self.issue(server_name, true)
    }

    fn issue(&self, server_name: &str, is_expired: bool) -> ServerCertificate {
        let key = KeyPair::generate().unwrap();
        let mut server = CertificateParams::new(vec![server_name.to_owned()]).unwrap();
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        if is_expired {
            server.not_before = rcgen::date_time_ymd(2020, 1, 1);
            server.not_after = rcgen::date_time_ymd(2021, 1, 1);
        }
        let server = server.signed_by(&key, &self.0).unwrap();
        ServerCertificate { authority: self.0.pem(), certificate: server.pem(), key: key.serialize_pem(), is_expired }
    }
}

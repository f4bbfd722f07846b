//! A certificate authority for one server, as those who run Consul with TLS have one of their own.

use local_stack::consul::ServerCertificate;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};

/// A new authority's certificate for a server, good for this one name, not for the server's address.
pub fn certificate_for(server_name: &str) -> ServerCertificate {
    issue(server_name, false)
}

/// The same, but for a server whose certificate nobody has renewed in time.
pub fn expired_certificate_for(server_name: &str) -> ServerCertificate {
    issue(server_name, true)
}

fn issue(server_name: &str, is_expired: bool) -> ServerCertificate {
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
    ServerCertificate { authority: ca.pem(), certificate: server.pem(), key: key.serialize_pem(), is_expired }
}

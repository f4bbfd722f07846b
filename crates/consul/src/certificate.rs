//! How long an X.509 certificate is valid. Nothing else of it is read, and no signature is checked.
//!
//! Source: <https://www.rfc-editor.org/rfc/rfc5280#section-4.1>

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use rustls_pki_types::{CertificateDer, pem::PemObject};

/// The tag of the optional version, `[0]`.
const VERSION: u8 = 0xa0;
/// The tag of a time with a year of two digits.
const UTC_TIME: u8 = 0x17;
/// The tag of a time with a year of four digits.
const GENERALIZED_TIME: u8 = 0x18;

/// When a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

/// A text that is not a certificate in PEM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a certificate in PEM")]
pub struct UnreadableCertificate;

impl Validity {
    /// The validity of the first certificate in a text.
    pub(crate) fn of_pem(pem: &str) -> Result<Self, UnreadableCertificate> {
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| UnreadableCertificate)?;
        Self::of_der(&certificate).ok_or(UnreadableCertificate)
    }

    /// Steps over the version, the serial number, the algorithm of the signature and the issuer.
    fn of_der(der: &[u8]) -> Option<Self> {
        let certificate = Element::first(der)?;
        let signed = Element::first(certificate.content)?;
        let first = Element::first(signed.content)?;
        let serial = if first.tag == VERSION { Element::first(first.rest)? } else { first };
        let issuer = Element::first(Element::first(serial.rest)?.rest)?;
        let times = Element::first(issuer.rest)?;
        let from = Element::first(times.content)?;
        let until = Element::first(from.rest)?;
        Some(Self { not_before: from.time()?, not_after: until.time()? })
    }
}

/// An element of DER, and what follows it.
struct Element<'a> {
    tag: u8,
    content: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Element<'a> {
    fn first(der: &'a [u8]) -> Option<Self> {
        let (&[tag, short], rest) = der.split_first_chunk()?;
        // A length of 128 or more has so many bytes of its own.
        let (length, rest) = match short.checked_sub(0x80) {
            None => (usize::from(short), rest),
            Some(bytes) => {
                let (bytes, rest) = rest.split_at_checked(bytes.into())?;
                let add = |length: usize, byte: &u8| length.checked_mul(256)?.checked_add(usize::from(*byte));
                (bytes.iter().try_fold(0, add)?, rest)
            }
        };
        let (content, rest) = rest.split_at_checked(length)?;
        Some(Self { tag, content, rest })
    }

    fn time(&self) -> Option<Timestamp> {
        let text = str::from_utf8(self.content).ok()?;
        let text = match self.tag {
            GENERALIZED_TIME => text.to_owned(),
            // Years from 50 on are of the last century.
            UTC_TIME if text.get(..2)? < "50" => format!("20{text}"),
            UTC_TIME => format!("19{text}"),
            _ => return None,
        };
        let time = DateTime::strptime("%Y%m%d%H%M%SZ", text).ok()?;
        // 99991231235959Z, which stands for no end, is later than the last timestamp.
        Some(time.to_zoned(TimeZone::UTC).map_or(Timestamp::MAX, |time| time.timestamp()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = content.len();
        let length = if length < 0x80 {
            vec![u8::try_from(length).unwrap()]
        } else {
            vec![0x82, u8::try_from(length / 256).unwrap(), u8::try_from(length % 256).unwrap()]
        };
        [&[tag], length.as_slice(), content].concat()
    }

    /// A certificate with these times, without a key and a signature.
    fn certificate(version: &[u8], times: [(u8, &str); 2]) -> Vec<u8> {
        let times = times.map(|(tag, text)| element(tag, text.as_bytes())).concat();
        let (serial, algorithm, issuer) = (element(0x02, &[9]), element(0x30, &[]), element(0x30, &[7; 300]));
        let signed = [version, &serial, &algorithm, &issuer, &element(0x30, &times)].concat();
        element(0x30, &element(0x30, &signed))
    }

    #[test]
    fn times_are_read_in_both_notations_with_and_without_a_version() {
        let version = element(VERSION, &element(0x02, &[2]));
        for (version, times, expected) in [
            (
                version.as_slice(),
                [(UTC_TIME, "261124194149Z"), (UTC_TIME, "361121194149Z")],
                ["2026-11-24T19:41:49Z", "2036-11-21T19:41:49Z"],
            ),
            (
                &[],
                [(UTC_TIME, "991231235959Z"), (GENERALIZED_TIME, "20500101000000Z")],
                ["1999-12-31T23:59:59Z", "2050-01-01T00:00:00Z"],
            ),
        ] {
            let read = Validity::of_der(&certificate(version, times)).unwrap();
            assert_eq!([read.not_before.to_string(), read.not_after.to_string()], expected);
        }
        let endless = certificate(&[], [(UTC_TIME, "261124194149Z"), (GENERALIZED_TIME, "99991231235959Z")]);
        assert_eq!(Validity::of_der(&endless).unwrap().not_after, Timestamp::MAX);
    }

    #[test]
    fn what_is_no_certificate_is_an_error_and_no_panic() {
        let whole = certificate(&[], [(UTC_TIME, "261124194149Z"), (UTC_TIME, "361121194149Z")]);
        for length in 0..whole.len() {
            assert_eq!(Validity::of_der(&whole[..length]), None, "{length}");
        }
        assert_eq!(Validity::of_der(&certificate(&[], [(UTC_TIME, "Z"), (UTC_TIME, "361121194149Z")])), None);
        assert_eq!(Validity::of_der(&[0x30, 0xff]), None);
        for text in ["", "…", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
            assert_eq!(Validity::of_pem(text), Err(UnreadableCertificate), "{text}");
        }
    }
}

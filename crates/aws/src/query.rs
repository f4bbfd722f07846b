//! Services with the Query protocol, a form that is answered in XML: a few actions, written by hand. The SDK's crate for EC2 has 1.2
//! million lines, five times as many as the one for ECS.
//!
//! Source: <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html>

use std::{
    collections::BTreeMap,
    str::FromStr,
    time::{Duration, SystemTime},
};

use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use aws_smithy_xml::decode::{Document, ScopedDecoder, XmlDecodeError, try_data};
use aws_types::{SdkConfig, service_config::ServiceConfigKey};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::{http::Http, sdk::describe};

/// The time-out of a call. It is not repeated: a message returns to the queue, and the next sweep asks again.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How much of an error's text is shown, in characters: some have an encoded message of a thousand.
const SHOWN_CHARS: usize = 300;
const FORM: &str = "application/x-www-form-urlencoded";

/// A service with the Query protocol.
pub(crate) struct QueryService {
    /// The ID that names its own endpoint in variables and profiles.
    pub(crate) id: &'static str,
    /// Its name in signatures and in the names of its endpoints.
    pub(crate) name: &'static str,
}

/// Why a call failed.
pub(crate) enum QueryFailure {
    /// The service refused it.
    Refused(String),
    /// The service did not answer, or with an error.
    Failed(String),
}

/// A service of the account and region.
pub(crate) struct QueryApi {
    http: Http,
    service: &'static QueryService,
    region: String,
    endpoint: String,
    credentials: Option<SharedCredentialsProvider>,
}

impl QueryApi {
    pub(crate) fn new(config: &SdkConfig, service: &'static QueryService) -> Self {
        let region = config.region().map(ToString::to_string).unwrap_or_default();
        Self {
            http: Http::default(),
            service,
            endpoint: endpoint(config, service, &region),
            region,
            credentials: config.credentials_provider(),
        }
    }

    /// Sends a form, and returns the body of the answer, which is a complete document.
    pub(crate) async fn call(&self, form: String) -> Result<Vec<u8>, QueryFailure> {
        let answer = self.send(form).await.map_err(QueryFailure::Failed)?;
        let (status, body) = (answer.status(), answer.body().bytes().unwrap_or_default());
        if status.is_success() {
            check_complete(body).map_err(|error| QueryFailure::Failed(describe(&error)))?;
            return Ok(body.to_vec());
        }
        let reason = reason(body).unwrap_or_else(|| format!("status {}", status.as_u16()));
        Err(match status.as_u16() {
            401 | 403 => QueryFailure::Refused(reason),
            _ => QueryFailure::Failed(reason),
        })
    }

    async fn send(&self, body: String) -> Result<HttpResponse, String> {
        let failed = |error: &dyn std::error::Error| describe(error);
        let provider = self.credentials.as_ref().ok_or("there are no credentials")?;
        let credentials = provider.provide_credentials().await.map_err(|error| failed(&error))?;
        let signable = SignableRequest::new(
            "POST",
            self.endpoint.as_str(),
            [("content-type", FORM)].into_iter(),
            SignableBody::Bytes(body.as_bytes()),
        );
        let identity = credentials.into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(self.service.name)
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()
            .map_err(|error| failed(&error))?;
        let signed =
            sign(signable.map_err(|error| failed(&error))?, &parameters.into()).map_err(|error| failed(&error))?;
        let request = http::Request::post(&self.endpoint).header("content-type", FORM);
        let mut request = request.body(SdkBody::from(body)).map_err(|error| failed(&error))?;
        signed.into_parts().0.apply_to_request_http1x(&mut request);
        let request = HttpRequest::try_from(request).map_err(|error| failed(&error))?;
        self.http.send(request, Some(TIMEOUT)).await.map_err(|error| failed(&error))
    }
}

/// The configured endpoint, or the region's.
fn endpoint(config: &SdkConfig, service: &QueryService, region: &str) -> String {
    let key =
        ServiceConfigKey::builder().service_id(service.id).env("AWS_ENDPOINT_URL").profile("endpoint_url").build();
    let own = key.ok().and_then(|key| config.service_config()?.load_config(key));
    if let Some(url) = own.or_else(|| config.endpoint_url().map(str::to_owned)) {
        return format!("{}/", url.trim_end_matches('/'));
    }
    let is_in_china = region.starts_with("cn-");
    let fips = if config.use_fips() == Some(true) { "-fips" } else { "" };
    let domain = match (config.use_dual_stack() == Some(true), is_in_china) {
        (true, true) => "api.amazonwebservices.com.cn",
        (true, false) => "api.aws",
        (false, true) => "amazonaws.com.cn",
        (false, false) => "amazonaws.com",
    };
    format!("https://{}{fips}.{region}.{domain}/", service.name)
}

/// Calls `found` with each element at `path`.
pub(crate) fn each(
    within: &mut ScopedDecoder<'_, '_>,
    path: &[&str],
    found: &mut dyn FnMut(&mut ScopedDecoder<'_, '_>) -> Result<(), XmlDecodeError>,
) -> Result<(), XmlDecodeError> {
    let Some((name, rest)) = path.split_first() else { return found(within) };
    while let Some(mut tag) = within.next_tag() {
        if tag.start_el().matches(name) {
            each(&mut tag, rest, found)?;
        }
    }
    Ok(())
}

/// Fails if a document ends before its root element does: the decoder takes the end of a text for the end of every open element.
fn check_complete(body: &[u8]) -> Result<(), XmlDecodeError> {
    // A root without content has no depth.
    let mut has_begun = body.trim_ascii_end().ends_with(b"/>");
    let mut depth = 0;
    for token in Document::try_from(body)? {
        (_, depth) = token?;
        has_begun |= depth > 0;
    }
    if has_begun && depth == 0 { Ok(()) } else { Err(XmlDecodeError::custom("the answer is cut off")) }
}

/// The code and message of an error: EC2 wraps it in `Errors`, and other services do not.
fn reason(body: &[u8]) -> Option<String> {
    let mut document = Document::try_from(body).ok()?;
    let mut root = document.root_element().ok()?;
    let path: &[&str] = if root.start_el().matches("ErrorResponse") { &["Error"] } else { &["Errors", "Error"] };
    let (mut code, mut message) = (None, None);
    each(&mut root, path, &mut |error| {
        while let Some(mut tag) = error.next_tag() {
            match tag.start_el().local() {
                "Code" => code = Some(try_data(&mut tag)?.into_owned()),
                "Message" => message = Some(try_data(&mut tag)?.into_owned()),
                _ => {}
            }
        }
        Ok(())
    })
    .ok()?;
    Some([code?, message.unwrap_or_default()].join(": ").chars().take(SHOWN_CHARS).collect())
}

/// The texts of an element, by their paths.
pub(crate) struct Leaves(BTreeMap<&'static str, Vec<String>>);

impl Leaves {
    /// Those at these paths.
    pub(crate) fn of(
        element: &mut ScopedDecoder<'_, '_>,
        paths: &'static [&'static str],
    ) -> Result<Self, XmlDecodeError> {
        let mut found = BTreeMap::new();
        collect(element, "", paths, &mut found)?;
        Ok(Self(found))
    }

    /// The text at a path; empty without one.
    pub(crate) fn text(&mut self, path: &str) -> String {
        self.0.get_mut(path).and_then(Vec::pop).unwrap_or_default()
    }

    pub(crate) fn parsed<T: FromStr>(&mut self, path: &str) -> Result<T, XmlDecodeError> {
        self.text(path).parse().map_err(|_| XmlDecodeError::custom(format!("{path} cannot be read")))
    }

    pub(crate) fn all(&mut self, path: &str) -> Vec<String> {
        self.0.remove(path).unwrap_or_default()
    }
}

fn collect(
    element: &mut ScopedDecoder<'_, '_>,
    above: &str,
    paths: &'static [&'static str],
    found: &mut BTreeMap<&'static str, Vec<String>>,
) -> Result<(), XmlDecodeError> {
    while let Some(mut tag) = element.next_tag() {
        let path = format!("{above}{}", tag.start_el().local());
        if let Some(known) = paths.iter().find(|known| **known == path) {
            found.entry(known).or_default().push(try_data(&mut tag)?.into_owned());
        } else if paths.iter().any(|known| known.starts_with(&format!("{path}/"))) {
            collect(&mut tag, &format!("{path}/"), paths, found)?;
        }
    }
    Ok(())
}

/// A value of a form, percent-encoded.
pub(crate) fn encoded(text: &str) -> String {
    const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_of_the_next_page_is_encoded() {
        assert_eq!(encoded("aB3-_.~/+="), "aB3-_.~%2F%2B%3D");
    }
}

//! EC2: whether instances are gone, and what a network lets through. A few actions of the Query API, written by hand: the SDK's
//! crate for EC2 has 1.2 million lines, five times as many as the one for ECS.
//!
//! Source: <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html>

mod network;

use std::{
    fmt::Display,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use aws_smithy_xml::decode::{Document, ScopedDecoder, XmlDecodeError, try_data};
use aws_types::{SdkConfig, service_config::ServiceConfigKey};
use mesh::host::{Ec2InstanceId, Ec2Instances};

pub use self::network::{AclEntry, GroupRule, Interface, NetworkAcl, Ports, RulePeer};
use crate::{http::Http, sdk::describe};

/// The most values of a filter.
const FILTER_LIMIT: usize = 200;
/// The time-out of a call. It is not repeated: a message returns to the queue, and the next sweep asks again.
const TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, thiserror::Error)]
pub enum Ec2Error {
    /// EC2 refused the call.
    #[error(
        "ec2:{action} was refused: {reason}. Allow ec2:{action} for who calls it (the role's policies, its boundary and the \
         policies of the organisation)"
    )]
    Refused { action: &'static str, reason: String },
    /// EC2 did not answer, or with an error.
    #[error("ec2:{action} failed: {reason}. In a VPC without a route to the internet, it needs an endpoint for EC2")]
    Failed { action: &'static str, reason: String },
}

/// The action of the instances.
const DESCRIBE_INSTANCES: &str = "DescribeInstances";

/// Reads the states of EC2 instances.
#[async_trait]
pub trait Ec2: Send + Sync {
    /// Which of these instances are gone, and which run. EC2 describes a terminated instance for about an hour.
    async fn instances(&self, ids: &[Ec2InstanceId]) -> Result<Ec2Instances, Ec2Error>;
}

/// The EC2 of the account and region.
pub struct AwsEc2 {
    http: Http,
    region: String,
    endpoint: String,
    credentials: Option<SharedCredentialsProvider>,
}

impl AwsEc2 {
    pub fn new(config: &SdkConfig) -> Self {
        let region = config.region().map(ToString::to_string).unwrap_or_default();
        Self {
            http: Http::default(),
            endpoint: endpoint(config, &region),
            region,
            credentials: config.credentials_provider(),
        }
    }

    /// Sends a form, and returns the body of the answer.
    async fn call(&self, action: &'static str, form: String) -> Result<Vec<u8>, Ec2Error> {
        let answer = self.send(action, form).await?;
        let (status, body) = (answer.status(), answer.body().bytes().unwrap_or_default());
        if status.is_success() {
            return Ok(body.to_vec());
        }
        let reason = reason(body).unwrap_or_else(|| format!("status {}", status.as_u16()));
        Err(match status.as_u16() {
            401 | 403 => Ec2Error::Refused { action, reason },
            _ => Ec2Error::Failed { action, reason },
        })
    }

    async fn send(&self, action: &'static str, body: String) -> Result<HttpResponse, Ec2Error> {
        let failed = |error: &dyn std::error::Error| Ec2Error::Failed { action, reason: describe(error) };
        let none = || Ec2Error::Failed { action, reason: "there are no credentials".to_owned() };
        let provider = self.credentials.as_ref().ok_or_else(none)?;
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
            .name("ec2")
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

#[async_trait]
impl Ec2 for AwsEc2 {
    async fn instances(&self, ids: &[Ec2InstanceId]) -> Result<Ec2Instances, Ec2Error> {
        let mut instances = Ec2Instances::default();
        for chunk in ids.chunks(FILTER_LIMIT) {
            let body = self.call(DESCRIBE_INSTANCES, form(DESCRIBE_INSTANCES, "instance-id", chunk)).await?;
            let unreadable = |error| Ec2Error::Failed { action: DESCRIBE_INSTANCES, reason: describe(&error) };
            read(&body, &mut instances).map_err(unreadable)?;
        }
        Ok(instances)
    }
}

/// How much of an error's text is shown, in characters: some have an encoded message of a thousand.
const SHOWN_CHARS: usize = 300;
const FORM: &str = "application/x-www-form-urlencoded";

/// The configured endpoint, or the region's.
///
/// Source: <https://docs.aws.amazon.com/ec2/latest/devguide/ec2-endpoints.html>
fn endpoint(config: &SdkConfig, region: &str) -> String {
    let key = ServiceConfigKey::builder().service_id("EC2").env("AWS_ENDPOINT_URL").profile("endpoint_url").build();
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
    format!("https://ec2{fips}.{region}.{domain}/")
}

/// The form of an action with one filter. A filter, because an ID that EC2 does not know would fail the whole call as a parameter.
/// The values are IDs and addresses, which need no encoding.
fn form(action: &str, filter: &str, values: &[impl Display]) -> String {
    let values = values.iter().enumerate().map(|(index, value)| format!("&Filter.1.Value.{}={value}", index + 1));
    let start = format!("Action={action}&Version=2016-11-15&Filter.1.Name={filter}");
    std::iter::once(start).chain(values).collect()
}

/// Reads the states of the instances in an answer: `reservationSet/item/instancesSet/item`, and there `instanceId` and
/// `instanceState/name`.
fn read(body: &[u8], instances: &mut Ec2Instances) -> Result<(), XmlDecodeError> {
    let mut document = Document::try_from(body)?;
    let mut root = document.root_element()?;
    if !root.start_el().matches("DescribeInstancesResponse") {
        return Err(XmlDecodeError::custom("this is not an answer of DescribeInstances"));
    }
    each(&mut root, &["reservationSet", "item", "instancesSet", "item"], &mut |instance| {
        let (mut id, mut state) = (None, None);
        while let Some(mut tag) = instance.next_tag() {
            match tag.start_el().local() {
                "instanceId" => id = try_data(&mut tag)?.parse::<Ec2InstanceId>().ok(),
                "instanceState" => {
                    each(&mut tag, &["name"], &mut |name| {
                        state = Some(try_data(name)?.into_owned());
                        Ok(())
                    })?;
                }
                _ => {}
            }
        }
        match (id, state.as_deref()) {
            (Some(id), Some("shutting-down" | "stopping" | "stopped" | "terminated")) => {
                instances.gone.insert(id);
            }
            (Some(id), Some("running")) => drop(instances.running.insert(id)),
            _ => {}
        }
        Ok(())
    })
}

/// Calls `found` with each element at `path`.
fn each(
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

/// The code and message of an error.
fn reason(body: &[u8]) -> Option<String> {
    let mut document = Document::try_from(body).ok()?;
    let mut root = document.root_element().ok()?;
    let (mut code, mut message) = (None, None);
    each(&mut root, &["Errors", "Error"], &mut |error| {
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

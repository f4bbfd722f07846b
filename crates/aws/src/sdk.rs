//! How all AWS clients are configured: one TLS backend, time-outs, retries.

use std::{error::Error, fmt, time::Duration};

use aws_credential_types::{Credentials, provider::SharedCredentialsProvider};
use aws_smithy_async::rt::sleep::{SharedAsyncSleep, TokioSleep};
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_types::{retry::RetryConfig, timeout::TimeoutConfig};
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};

use crate::http::{CONNECT, Http};

pub use aws_types::{SdkConfig, region::Region};

/// The configuration of a Lambda function, from its environment: region, credentials, and endpoints where they are set
/// (`AWS_ENDPOINT_URL`, or `AWS_ENDPOINT_URL_ECS` for one service).
/// Lambda sets the credentials when it makes an execution environment, and they last as long as that does.
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html>
pub fn of_function(variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> SdkConfig {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let credentials = set("AWS_ACCESS_KEY_ID").zip(set("AWS_SECRET_ACCESS_KEY")).map(|(id, secret)| {
        SharedCredentialsProvider::new(Credentials::new(id, secret, set("AWS_SESSION_TOKEN"), None, "environment"))
    });
    let is_on = |name: &str| set(name).is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let mut config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(Http::default())
        .sleep_impl(SharedAsyncSleep::new(TokioSleep::new()))
        .timeout_config(timeouts(Duration::from_secs(5), Some(Duration::from_secs(20))))
        .retry_config(retries())
        .use_fips(is_on("AWS_USE_FIPS_ENDPOINT"))
        .use_dual_stack(is_on("AWS_USE_DUALSTACK_ENDPOINT"));
    config.set_region(set("AWS_REGION").map(Region::new));
    config.set_credentials_provider(credentials);
    config.set_endpoint_url(set("AWS_ENDPOINT_URL"));
    config.service_config(ServiceVariables(variable)).build()
}

/// The variables of one service, which precede those for all.
///
/// Source: <https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html>
struct ServiceVariables<F>(F);

impl<F> fmt::Debug for ServiceVariables<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServiceVariables")
    }
}

impl<F: Fn(&str) -> Option<String> + Send + Sync> LoadServiceConfig for ServiceVariables<F> {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        let service = key.service_id().to_uppercase().replace(' ', "_");
        (self.0)(&format!("{}_{service}", key.env())).filter(|value| !value.is_empty())
    }
}

/// The configuration of a program on a person's machine: AWS's usual chain of environment variables,
/// profiles, single sign-on and roles. `profile` and `region` take precedence.
#[cfg(feature = "chain")]
pub async fn of_user(profile: Option<&str>, region: Option<&str>) -> SdkConfig {
    let mut chain = aws_config::defaults(aws_config::BehaviorVersion::latest())
        .http_client(Http::default())
        // A person sees the progress and can interrupt, so a slow network or a throttled account gets more time than an event.
        .timeout_config(timeouts(Duration::from_secs(15), Some(Duration::from_secs(60))))
        .retry_config(retries());
    if let Some(profile) = profile {
        chain = chain.profile_name(profile);
    }
    if let Some(region) = region {
        chain = chain.region(Region::new(region.to_owned()));
    }
    chain.load().await
}

/// A client that is made when it is first used: each parses AWS's list of partitions, which takes longer than all else at the start
/// of a function.
#[cfg(any(feature = "events", feature = "iam", feature = "queue", feature = "stack"))]
pub(crate) type Lazy<C> = std::sync::LazyLock<C, Box<dyn FnOnce() -> C + Send + Sync>>;

#[cfg(any(feature = "events", feature = "iam", feature = "queue", feature = "stack"))]
pub(crate) fn lazy<C: 'static>(config: &SdkConfig, new: fn(&SdkConfig) -> C) -> Lazy<C> {
    let config = config.clone();
    std::sync::LazyLock::new(Box::new(move || new(&config)))
}

/// The time-outs of a client: of each attempt, and of all attempts together. Both are set, because the SDK takes those that a
/// client leaves out from the common configuration, where other time-outs are not set.
pub(crate) fn timeouts(attempt: Duration, operation: Option<Duration>) -> TimeoutConfig {
    let timeouts = TimeoutConfig::builder().connect_timeout(CONNECT).operation_attempt_timeout(attempt);
    match operation {
        Some(operation) => timeouts.operation_timeout(operation),
        None => timeouts.disable_operation_timeout(),
    }
    .build()
}

/// Throttling is answered with exponential backoff and jitter.
fn retries() -> RetryConfig {
    RetryConfig::standard().with_max_attempts(4)
}

/// An error and its causes in one line, each once. SDK errors hide what happened in their sources.
pub fn describe(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.ends_with(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}

/// The action in the reason of a denied call, if IAM names it:
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html>
pub fn denied_action(reason: &str) -> Option<&str> {
    let (_, named) = reason.split_once("not authorized to perform: ")?;
    let action = named.split([' ', ';', ',']).next()?.trim_end_matches('.');
    action.contains(':').then_some(action)
}

#[cfg(test)]
mod tests {
    use aws_types::service_config::ServiceConfigKey;

    use super::*;

    #[test]
    fn denied_action_is_what_iam_names() {
        let denied = "AccessDeniedException: User: arn:aws:sts::1:assumed-role/a/b is not authorized to perform: ";
        for end in ["ecs:ListTasks on resource: *", "ecs:ListTasks with an explicit deny", "ecs:ListTasks."] {
            assert_eq!(denied_action(&format!("{denied}{end}")), Some("ecs:ListTasks"), "{end}");
        }
        for other in ["AccessDeniedException", "is not authorized to perform: this call"] {
            assert_eq!(denied_action(other), None, "{other}");
        }
    }

    #[test]
    fn endpoint_of_a_service_is_that_of_its_own_variable() {
        let config = of_function(|name| Some(format!("the value of {name}")));
        let key =
            |id| ServiceConfigKey::builder().service_id(id).env("AWS_ENDPOINT_URL").profile("endpoint_url").build();
        let of = |id| config.service_config().unwrap().load_config(key(id).unwrap());
        assert_eq!(of("Secrets Manager").unwrap(), "the value of AWS_ENDPOINT_URL_SECRETS_MANAGER");
        assert_eq!(config.endpoint_url(), Some("the value of AWS_ENDPOINT_URL"));
    }
}

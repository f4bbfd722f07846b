//! How all AWS clients are configured: one TLS backend, time-outs, retries.

use std::{error::Error, time::Duration};

use aws_config::{BehaviorVersion, SdkConfig, retry::RetryConfig, timeout::TimeoutConfig};
use aws_smithy_http_client::{
    Builder,
    tls::{Provider, rustls_provider::CryptoMode},
};

/// The configuration of the environment (region, credentials, `AWS_ENDPOINT_URL`), with our time-outs and retries.
/// Throttling is answered with exponential backoff and jitter.
pub async fn config() -> SdkConfig {
    let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(2))
        .operation_attempt_timeout(Duration::from_secs(5))
        .operation_timeout(Duration::from_secs(20));
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(http)
        .timeout_config(timeouts.build())
        .retry_config(RetryConfig::standard().with_max_attempts(4))
        .load()
        .await
}

/// An error and its causes in one line, each once. SDK errors hide what happened in their sources.
#[must_use]
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

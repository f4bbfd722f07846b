//! Values of the configuration in units that surprise.

use super::prelude::*;

pub(super) static CONSUL_OUTLIER_INTERVAL: Rule = Rule {
    id: "consul-outlier-interval",
    summary: "the interval of outlier detection is in nanoseconds",
    severity: Severity::Warning,
    effect: "Envoy looks for failing instances all the time, or Consul refuses the interval",
    explanation: "\
`networkResilienceConfig.outlierDetection.interval` is in nanoseconds: ten seconds are 10000000000. A value below a \
millisecond was probably meant in seconds or milliseconds. Zero leaves the interval to Consul.",
    sources: &[
        "https://github.com/hashicorp/consul-ecs/blob/main/config/schema.json",
        "https://github.com/hashicorp/terraform-aws-consul-ecs/pull/425",
    ],
    example: Some(
        Base::Dataplane
            .wrong("config.service.networkResilienceConfig.outlierDetection.interval", "10")
            .given(&[("config.service.networkResilienceConfig", r#"{ "enabled": true, "outlierDetection": {} }"#)])
            .repaired_to("10000000000"),
    ),
    ..Rule::once_per_task(Applies::Consul, check_outlier_interval)
};

/// The nanoseconds of a millisecond.
const MILLISECOND: u64 = 1_000_000;

fn check_outlier_interval(subject: &Subject<'_>) -> Option<Draft> {
    const PATH: &str = "service.networkResilienceConfig.outlierDetection.interval";
    let configuration = &subject.consul.as_ref()?.configuration;
    let interval = configuration.number(PATH, 0).filter(|interval| (1..MILLISECOND).contains(interval))?;
    let message = format!("{PATH} is {interval} nanoseconds");
    let help = format!("write nanoseconds: {interval} seconds are {interval}000000000");
    Some(Draft::new(configuration.place_of(PATH).span, message, help))
}

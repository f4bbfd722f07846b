//! Values of the configuration in units that surprise.

use super::prelude::*;

pub(super) static CONSUL_OUTLIER_INTERVAL: Rule =
    Rule::once_per_task(page!("consul-outlier-interval"), Applies::Consul, check_outlier_interval);

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

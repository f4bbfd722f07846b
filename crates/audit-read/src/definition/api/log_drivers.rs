//! The options of ECS's log drivers. Sources: <https://docs.docker.com/engine/logging/configure/>,
//! <https://docs.docker.com/engine/logging/drivers/awslogs/>, <https://docs.docker.com/engine/logging/drivers/splunk/>,
//! <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/specify-log-config.html>

use super::shapes::{Accepts, Key, TRUE_OR_FALSE, key};

/// The drivers with their known options: of `awslogs` all options, of the others the options with known values.
/// `awsfirelens` is not one of them: it passes its options to another program.
static OPTIONS: &[(&str, &[Key])] = &[
    (
        "awslogs",
        &[
            key("awslogs-create-group", TRUE_OR_FALSE),
            key("awslogs-credentials-endpoint", Accepts::Any),
            key("awslogs-datetime-format", Accepts::Any),
            key("awslogs-endpoint", Accepts::Any),
            key("awslogs-force-flush-interval-seconds", Accepts::Any),
            key("awslogs-format", Accepts::Any),
            key("awslogs-group", Accepts::Any),
            key("awslogs-max-buffered-events", Accepts::Any),
            key("awslogs-multiline-pattern", Accepts::Any),
            key("awslogs-region", Accepts::Region),
            key("awslogs-stream", Accepts::Any),
            key("awslogs-stream-prefix", Accepts::Any),
        ],
    ),
    ("fluentd", &[key("fluentd-async", TRUE_OR_FALSE)]),
    ("gelf", &[key("gelf-address", Accepts::Begins(&["udp://", "tcp://"]))]),
    ("journald", &[]),
    ("json-file", &[key("max-size", Accepts::Size), key("compress", TRUE_OR_FALSE)]),
    (
        "splunk",
        &[
            key("splunk-format", Accepts::OneOf(&["inline", "json", "raw"])),
            key("splunk-gzip", TRUE_OR_FALSE),
            key("splunk-insecureskipverify", TRUE_OR_FALSE),
            key("splunk-url", Accepts::Begins(&["http://", "https://"])),
            key("splunk-verify-connection", TRUE_OR_FALSE),
        ],
    ),
    (
        "syslog",
        &[key("syslog-address", Accepts::Begins(&["tcp://", "udp://", "tcp+tls://", "unix://", "unixgram://"]))],
    ),
];

/// The options that Docker has for each of these drivers.
static OF_DOCKER: &[Key] =
    &[key("mode", Accepts::OneOf(&["blocking", "non-blocking"])), key("max-buffer-size", Accepts::Size)];

/// The known options of a log driver; none of a driver that is not known.
pub fn log_options(driver: &str) -> impl Iterator<Item = &'static Key> + use<> {
    let own = OPTIONS.iter().find(|(name, _)| *name == driver).map(|(_, own)| *own);
    own.into_iter().flat_map(|own| own.iter().chain(OF_DOCKER))
}

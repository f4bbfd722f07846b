//! The fields of the registration in Consul: of the service and its proxy, or of the gateway.

use super::shape::{Choice, Fact, Kind, PORT, REAL_PORT, Shape};

pub(super) static SERVICE: Shape = Shape {
    is_strict: true,
    fields: &[
        Fact::may("name", Kind::Text),
        Fact::must("port", PORT),
        Fact::may("tags", Kind::Texts),
        Fact::may("meta", Kind::TextMap),
        Fact::may("weights", Kind::Map(&WEIGHTS)),
        Fact::may("enableTagOverride", Kind::Flag),
        Fact::may("namespace", Kind::Text),
        Fact::may("partition", Kind::Text),
        Fact::may("checks", Kind::Maps(&CHECK)).until(6),
        Fact::may("networkResilienceConfig", Kind::Map(&RESILIENCE)).since_release(9, 4),
    ],
};

const ANY_NUMBER: Kind = Kind::Whole(i64::MIN, i64::MAX);
const COUNT: Kind = Kind::Whole(0, i64::MAX);
const PERCENT: Kind = Kind::Whole(0, 100);

static WEIGHTS: Shape =
    Shape { is_strict: true, fields: &[Fact::must("passing", ANY_NUMBER), Fact::must("warning", ANY_NUMBER)] };

static RESILIENCE: Shape = Shape {
    is_strict: true,
    fields: &[
        Fact::may("enabled", Kind::Flag).never_null(),
        Fact::may("outlierDetection", Kind::Map(&OUTLIER_DETECTION)),
    ],
};

static OUTLIER_DETECTION: Shape = Shape {
    is_strict: true,
    fields: &[
        Fact::may("interval", COUNT).never_null(),
        Fact::may("maxFailures", Kind::Whole(1, i64::MAX)).never_null(),
        Fact::may("enforcingConsecutive5xx", PERCENT).never_null(),
        Fact::may("maxEjectionPercent", PERCENT).never_null(),
        Fact::may("consecutive5xx", COUNT).since(10),
        Fact::may("consecutiveGatewayFailure", COUNT).since(10),
        Fact::may("enforcingConsecutiveGatewayFailure", PERCENT).since(10),
    ],
};

/// A check that the client agent runs.
static CHECK: Shape = Shape {
    is_strict: true,
    fields: &[
        Fact::may("checkId", Kind::Text),
        Fact::may("name", Kind::Text),
        Fact::may("notes", Kind::Text),
        Fact::may("status", Kind::OneOf(STATES)),
        Fact::may("interval", Kind::Text),
        Fact::may("timeout", Kind::Text),
        Fact::may("ttl", Kind::Text),
        Fact::may("args", Kind::Words),
        Fact::may("http", Kind::Text),
        Fact::may("header", Kind::AnyMap),
        Fact::may("method", Kind::Text),
        Fact::may("body", Kind::Text),
        Fact::may("tcp", Kind::Text),
        Fact::may("tcpUseTls", Kind::Flag),
        Fact::may("udp", Kind::Text),
        Fact::may("os_service", Kind::Text),
        Fact::may("grpc", Kind::Text),
        Fact::may("grpcUseTls", Kind::Flag),
        Fact::may("h2ping", Kind::Text),
        Fact::may("h2pingUseTls", Kind::Flag),
        Fact::may("tlsServerName", Kind::Text),
        Fact::may("tlsSkipVerify", Kind::Flag),
        Fact::may("aliasNode", Kind::Text),
        Fact::may("aliasService", Kind::Text),
        Fact::may("successBeforePassing", ANY_NUMBER),
        Fact::may("failuresBeforeCritical", ANY_NUMBER),
    ],
};

const STATES: &[Choice] =
    &[Choice::new("passing"), Choice::new("warning"), Choice::new("critical"), Choice::new("maintenance")];

pub(super) static PROXY: Shape = Shape {
    is_strict: false,
    fields: &[
        Fact::may("config", Kind::AnyMap),
        Fact::may("localServiceAddress", Kind::Text).since(7),
        Fact::may("publicListenerPort", PORT).since(6),
        Fact::may("healthCheckPort", PORT).since(7),
        Fact::may("upstreams", Kind::Maps(&UPSTREAM)),
        Fact::may("meshGateway", Kind::Map(&MESH_GATEWAY)),
        Fact::may("expose", Kind::Map(&EXPOSE)),
    ],
};

static UPSTREAM: Shape = Shape {
    is_strict: true,
    fields: &[
        Fact::must("destinationName", Kind::NotEmpty),
        Fact::must("localBindPort", REAL_PORT),
        Fact::may("localBindAddress", Kind::Text),
        Fact::may("destinationType", Kind::OneOf(&[Choice::new("service"), Choice::new("prepared_query")])),
        Fact::may("destinationNamespace", Kind::Text),
        Fact::may("destinationPartition", Kind::Text),
        Fact::may("destinationPeer", Kind::Text).since(7),
        Fact::may("datacenter", Kind::Text),
        Fact::may("config", Kind::AnyMap),
        Fact::may("meshGateway", Kind::Map(&MESH_GATEWAY)),
    ],
};

static MESH_GATEWAY: Shape = Shape {
    is_strict: false,
    fields: &[Fact::must("mode", Kind::OneOf(&[Choice::new("none"), Choice::new("local"), Choice::new("remote")]))],
};

static EXPOSE: Shape = Shape {
    is_strict: false,
    fields: &[Fact::may("checks", Kind::Flag), Fact::may("paths", Kind::Maps(&EXPOSED_PATH))],
};

static EXPOSED_PATH: Shape = Shape {
    is_strict: false,
    fields: &[
        Fact::may("listenerPort", PORT),
        Fact::may("path", Kind::Text),
        Fact::may("localPathPort", PORT),
        Fact::may("protocol", Kind::OneOf(&[Choice::new("http"), Choice::new("http2")])),
    ],
};

pub(super) static GATEWAY: Shape = Shape {
    is_strict: true,
    fields: &[
        Fact::must("kind", Kind::OneOf(GATEWAY_KINDS)),
        Fact::may("name", Kind::Text),
        Fact::may("lanAddress", Kind::Map(&ADDRESS)),
        Fact::may("wanAddress", Kind::Map(&ADDRESS)),
        Fact::may("tags", Kind::Texts),
        Fact::may("meta", Kind::TextMap),
        Fact::may("namespace", Kind::Text),
        Fact::may("partition", Kind::Text),
        Fact::may("healthCheckPort", PORT).since(7),
        Fact::may("proxy", Kind::Map(&GATEWAY_PROXY)),
    ],
};

const GATEWAY_KINDS: &[Choice] =
    &[Choice::since("mesh-gateway", 5), Choice::since("api-gateway", 8), Choice::since("terminating-gateway", 8)];

static ADDRESS: Shape = Shape { is_strict: true, fields: &[Fact::may("address", Kind::Text), Fact::may("port", PORT)] };

static GATEWAY_PROXY: Shape = Shape { is_strict: false, fields: &[Fact::may("config", Kind::AnyMap)] };

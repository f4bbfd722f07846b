//! The fields of the configuration, and the releases of consul-ecs that know them. Source: the releases' changelog and
//! reference, <https://developer.hashicorp.com/consul/docs/reference/ecs>

use super::{
    registration::{GATEWAY, PROXY, SERVICE},
    shape::{Choice, Fact, Kind, PORT, Shape},
};

/// The complete configuration.
pub(super) static ROOT: Shape = Shape {
    is_strict: true,
    fields: &[
        Fact::must("bootstrapDir", Kind::NotEmpty),
        Fact::may("consulCACertFile", Kind::Text).since(5).until(6),
        Fact::may("consulHTTPAddr", Kind::Text).since(5).until(6),
        Fact::may("consulLogin", Kind::Map(&LOGIN)).since(5),
        Fact::must("consulServers", Kind::Map(&SERVERS)).since(7),
        Fact::may("controller", Kind::Map(&CONTROLLER)).since(7),
        Fact::may("gateway", Kind::Map(&GATEWAY)).since(5).never_null(),
        Fact::may("healthSyncContainers", Kind::Texts),
        Fact::may("logLevel", Kind::OneOf(LOG_LEVELS)).since(5),
        Fact::may("proxy", Kind::Map(&PROXY)),
        Fact::may("service", Kind::Map(&SERVICE)).never_null(),
        Fact::may("transparentProxy", Kind::Map(&TRANSPARENT_PROXY)).since(8),
    ],
};

const LOG_LEVELS: &[Choice] =
    &[Choice::new("TRACE"), Choice::new("DEBUG"), Choice::new("INFO"), Choice::new("WARN"), Choice::new("ERROR")];

static LOGIN: Shape = Shape {
    is_strict: true,
    fields: &[
        Fact::may("enabled", Kind::Flag),
        Fact::may("method", Kind::Text),
        Fact::may("includeEntity", Kind::Flag),
        Fact::may("extraLoginFlags", Kind::Words).until(5),
        Fact::may("meta", Kind::TextMap).since(6),
        Fact::may("region", Kind::Text).since(6),
        Fact::may("stsEndpoint", Kind::Text).since(6),
        Fact::may("serverIdHeaderValue", Kind::Text).since(6),
        Fact::may("datacenter", Kind::Text).since(7),
    ],
};

static SERVERS: Shape = Shape {
    is_strict: true,
    fields: &[
        Fact::must("hosts", Kind::NotEmpty),
        Fact::may("skipServerWatch", Kind::Flag),
        Fact::may("defaults", Kind::Map(&TLS)),
        Fact::may("http", Kind::Map(&HTTP)),
        Fact::may("grpc", Kind::Map(&GRPC)),
    ],
};

static TLS: Shape = Shape {
    is_strict: false,
    fields: &[
        Fact::may("caCertFile", Kind::Text),
        Fact::may("tls", Kind::Flag),
        Fact::may("tlsServerName", Kind::Text),
    ],
};

static HTTP: Shape = Shape {
    is_strict: false,
    fields: &[
        Fact::may("caCertFile", Kind::Text),
        Fact::may("https", Kind::Flag),
        Fact::may("port", PORT),
        Fact::may("tls", Kind::Flag),
        Fact::may("tlsServerName", Kind::Text),
    ],
};

static GRPC: Shape = Shape {
    is_strict: false,
    fields: &[
        Fact::may("caCertFile", Kind::Text),
        Fact::may("port", PORT),
        Fact::may("tls", Kind::Flag),
        Fact::may("tlsServerName", Kind::Text),
    ],
};

static CONTROLLER: Shape = Shape {
    is_strict: true,
    fields: &[
        Fact::may("iamRolePath", Kind::Text),
        Fact::may("partitionsEnabled", Kind::Flag),
        Fact::may("partition", Kind::Text),
    ],
};

static TRANSPARENT_PROXY: Shape = Shape {
    is_strict: true,
    fields: &[
        Fact::may("enabled", Kind::Flag),
        Fact::may("excludeInboundPorts", Kind::Ports),
        Fact::may("excludeOutboundPorts", Kind::Ports),
        Fact::may("excludeOutboundCIDRs", Kind::Texts),
        Fact::may("excludeUIDs", Kind::Texts),
        Fact::may("consulDNS", Kind::Map(&DNS)).never_null(),
    ],
};

static DNS: Shape = Shape { is_strict: true, fields: &[Fact::may("enabled", Kind::Flag)] };

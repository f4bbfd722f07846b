//! What a proxy says of itself: answers of Envoy's administration interface to `/certs`, `/clusters` and `/config_dump`, as a person
//! saved them: <https://www.envoyproxy.io/docs/envoy/latest/operations/admin>. Only what is judged is kept; a configuration may
//! contain secrets.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Deserializer, Value};

/// How much of the reason of a rejection is kept, in characters.
const SHOWN_CHARS: usize = 200;

/// The answers of one proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProxyOutput {
    /// The service of the proxy, by its certificate or its bootstrap.
    pub service: Option<String>,
    /// `/certs`
    pub certificates: Option<Vec<HeldCertificate>>,
    /// `/clusters`
    pub clusters: Option<BTreeSet<String>>,
    /// `/clusters`
    pub endpoints: Vec<Endpoint>,
    /// `/config_dump`
    pub listeners: Option<Vec<Listener>>,
    /// `/config_dump`
    pub rejections: Vec<Rejection>,
}

/// A certificate that a proxy holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldCertificate {
    /// Whether the proxy trusts it. Otherwise it is its own.
    pub is_root: bool,
    pub valid_from: Timestamp,
    pub expires: Timestamp,
}

/// Where a proxy sends requests of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Endpoint {
    pub cluster: String,
    pub address: String,
    /// Whether outlier detection has ejected it.
    pub is_ejected: bool,
    pub connections: u64,
    pub failed_connections: u64,
}

/// Where a proxy takes requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// It ends with its address and port.
    pub name: String,
    /// Otherwise it waits for other parts of its configuration.
    pub is_active: bool,
}

/// A configuration that a proxy refused. Envoy 1.3x says so of listeners; its API has the field for clusters too:
/// <https://github.com/envoyproxy/envoy/blob/main/api/envoy/admin/v3/config_dump_shared.proto>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The listener or the cluster.
    pub name: String,
    pub reason: String,
}

/// The keys of lines of `/clusters`:
/// <https://www.envoyproxy.io/docs/envoy/latest/operations/admin#get--clusters>
const OF_CLUSTERS: [&str; 29] = [
    "added_via_api",
    "canary",
    "cx_active",
    "cx_connect_fail",
    "cx_total",
    "eds_service_name",
    "health_flags",
    "hostname",
    "local_origin_success_rate",
    "local_origin_success_rate_average",
    "local_origin_success_rate_ejection_threshold",
    "max_connections",
    "max_pending_requests",
    "max_requests",
    "max_retries",
    "observability_name",
    "priority",
    "region",
    "rq_active",
    "rq_error",
    "rq_success",
    "rq_timeout",
    "rq_total",
    "sub_zone",
    "success_rate",
    "success_rate_average",
    "success_rate_ejection_threshold",
    "weight",
    "zone",
];

/// Why a text says nothing of a proxy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProxyOutputError {
    #[error("has no answer of Envoy to /certs, /clusters or /config_dump")]
    Nothing,
    #[error("has an answer of Envoy that is not complete: {0}")]
    Broken(String),
}

impl ProxyOutput {
    /// Whether it has an active listener of one of these names.
    pub fn listens(&self, is_wanted: &dyn Fn(&str) -> bool) -> bool {
        self.listeners.iter().flatten().any(|listener| listener.is_active && is_wanted(&listener.name))
    }

    /// Reads one answer, or several one after the other. Other lines, such as the banner of `aws ecs execute-command`, do not
    /// count.
    ///
    /// # Errors
    /// It has no answer, or a part of one.
    pub fn parse(text: &str) -> Result<Self, ProxyOutputError> {
        let text = text.replace('\r', "");
        let (mut output, mut rest) = (Self::default(), text.as_str());
        while !rest.is_empty() {
            if rest.starts_with('{') {
                let mut documents = Deserializer::from_str(rest).into_iter::<Document>();
                let document = documents.next().transpose();
                let document = document.map_err(|error| ProxyOutputError::Broken(error.to_string()))?;
                if let Some(document) = document {
                    output.add(document);
                }
                rest = rest.get(documents.byte_offset()..).unwrap_or_default();
                continue;
            }
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            output.add_line(line);
            rest = after;
        }
        if output == Self::default() { Err(ProxyOutputError::Nothing) } else { Ok(output) }
    }

    /// A line of `/clusters`: `cluster::key::value`, or `cluster::address::key::value`.
    fn add_line(&mut self, line: &str) {
        let mut parts = line.trim().rsplitn(3, "::");
        let (Some(value), Some(key), Some(subject)) = (parts.next(), parts.next(), parts.next()) else { return };
        // Errors of programs, and addresses of IPv6, have two colons as well.
        if !OF_CLUSTERS.contains(&key) {
            return;
        }
        let (cluster, address) = subject.split_once("::").unwrap_or((subject, ""));
        self.clusters.get_or_insert_default().insert(cluster.to_owned());
        let has_port = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        if !has_port {
            return;
        }
        // The lines of an endpoint stand together.
        let is_it = |endpoint: &Endpoint| endpoint.cluster == cluster && endpoint.address == address;
        if !self.endpoints.last().is_some_and(is_it) {
            let (cluster, address) = (cluster.to_owned(), address.to_owned());
            self.endpoints.push(Endpoint { cluster, address, ..Endpoint::default() });
        }
        let Some(endpoint) = self.endpoints.last_mut() else { return };
        match key {
            "health_flags" => endpoint.is_ejected = value.contains("failed_outlier_check"),
            "cx_total" => endpoint.connections = value.parse().unwrap_or_default(),
            "cx_connect_fail" => endpoint.failed_connections = value.parse().unwrap_or_default(),
            _ => {}
        }
    }

    fn add(&mut self, document: Document) {
        for pair in document.certificates.into_iter().flatten() {
            let held = self.certificates.get_or_insert_default();
            let (roots, own) = (pair.ca_cert.iter(), pair.cert_chain.iter());
            held.extend(roots.map(|it| it.held(true)).chain(own.clone().map(|it| it.held(false))));
            let named = own.flat_map(|it| &it.subject_alt_names).filter_map(|it| service_of(&it.uri));
            self.service = named.map(str::to_owned).next().or_else(|| self.service.take());
        }
        for config in document.configs.into_iter().flatten() {
            let node = config.pointer("/bootstrap/node/cluster").and_then(Value::as_str);
            self.service = self.service.take().or_else(|| node.map(str::to_owned));
            for field in ["dynamic_listeners", "dynamic_active_clusters", "dynamic_warming_clusters"] {
                let parts = config.get(field).and_then(Value::as_array).into_iter().flatten();
                parts.for_each(|part| self.add_part(part));
            }
            // A proxy without a listener has the section all the same.
            if config.get("@type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with(".ListenersConfigDump")) {
                self.listeners.get_or_insert_default();
            }
        }
    }

    /// A listener or a cluster of `/config_dump`.
    fn add_part(&mut self, part: &Value) {
        let text = |pointer: &str| part.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let of_cluster = text("/cluster/name").or_else(|| text("/error_state/failed_configuration/name"));
        if let (Some(name), Some(reason)) = (text("/name").or(of_cluster), text("/error_state/details")) {
            self.rejections.push(Rejection { name, reason: reason.chars().take(SHOWN_CHARS).collect() });
        }
        if let Some(name) = text("/name") {
            let is_active = part.get("active_state").is_some();
            self.listeners.get_or_insert_default().push(Listener { name, is_active });
        }
    }
}

/// The service in the name of a certificate: `spiffe://<trust domain>/ns/default/dc/dc1/svc/web`.
fn service_of(uri: &str) -> Option<&str> {
    uri.strip_prefix("spiffe://")?.rsplit_once("/svc/").map(|(_, service)| service)
}

/// An answer in JSON: of `/certs` or of `/config_dump`.
#[derive(Deserialize)]
struct Document {
    certificates: Option<Vec<CertificatePair>>,
    configs: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct CertificatePair {
    #[serde(default)]
    ca_cert: Vec<Certificate>,
    #[serde(default)]
    cert_chain: Vec<Certificate>,
}

#[derive(Deserialize)]
struct Certificate {
    #[serde(default)]
    subject_alt_names: Vec<AlternativeName>,
    valid_from: Timestamp,
    expiration_time: Timestamp,
}

#[derive(Deserialize)]
struct AlternativeName {
    #[serde(default)]
    uri: String,
}

impl Certificate {
    fn held(&self, is_root: bool) -> HeldCertificate {
        HeldCertificate { is_root, valid_from: self.valid_from, expires: self.expiration_time }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CLUSTERS: &str = "\
        local_app::default_priority::max_connections::1024\n\
        local_app::added_via_api::true\n\
        local_app::127.0.0.1:9090::cx_connect_fail::0\n\
        api.default.dc1.internal.x.consul::added_via_api::true\n\
        api.default.dc1.internal.x.consul::10.0.0.2:20000::cx_total::7\n\
        api.default.dc1.internal.x.consul::10.0.0.2:20000::cx_connect_fail::5\n\
        api.default.dc1.internal.x.consul::10.0.0.2:20000::health_flags::/failed_outlier_check\n\
        orders.default.dc1.internal.x.consul::added_via_api::true\n\
        v6::[fd00::2]:20000::health_flags::healthy\n";

    fn certs() -> String {
        let certificate = |name: &str| {
            json!({
                "path": "<inline>", "serial_number": "0a", "days_until_expiration": "2",
                "subject_alt_names": [{ "uri": name }],
                "valid_from": "2026-11-22T12:00:00Z", "expiration_time": "2026-11-25T12:00:00Z",
            })
        };
        let (root, own) =
            (certificate("spiffe://x.consul"), certificate("spiffe://x.consul/ns/default/dc/dc1/svc/web"));
        serde_json::to_string_pretty(&json!({ "certificates": [{ "ca_cert": [root], "cert_chain": [own] }] })).unwrap()
    }

    fn dump() -> String {
        let listener = |name: &str, state: &str| json!({ "name": name, state: { "version_info": "1" } });
        let mut refused = listener("orders:127.0.0.1:1235", "error_state");
        refused["error_state"] = json!({ "details": "r".repeat(300), "failed_configuration": { "secret": "s" } });
        let listeners =
            [listener("api:127.0.0.1:1234", "active_state"), listener("slow:127.0.0.1:1236", "warming_state"), refused];
        json!({ "configs": [
            { "@type": "type.googleapis.com/envoy.admin.v3.BootstrapConfigDump", "bootstrap": { "node": { "cluster": "web" } } },
            { "@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump", "dynamic_active_clusters": [{ "cluster": { "name": "local_app" } }] },
            { "@type": "type.googleapis.com/envoy.admin.v3.ListenersConfigDump", "dynamic_listeners": listeners },
        ] })
        .to_string()
    }

    #[test]
    fn answers_are_read_one_after_the_other_within_the_lines_of_a_session() {
        let session = format!(
            "Starting session with SessionId: ecs-1\r\n{}\n{CLUSTERS}{}\n\nExiting session.\n",
            certs(),
            dump()
        );
        let output = ProxyOutput::parse(&session).unwrap();
        assert_eq!(output.service.as_deref(), Some("web"));
        let held: Vec<bool> = output.certificates.unwrap().iter().map(|it| it.is_root).collect();
        assert_eq!(held, [true, false]);
        assert_eq!(output.clusters.unwrap().len(), 4);
        let [own, api, v6] = output.endpoints.as_slice() else { panic!("{:?}", output.endpoints) };
        assert_eq!((own.address.as_str(), own.is_ejected), ("127.0.0.1:9090", false));
        assert_eq!((api.connections, api.failed_connections, api.is_ejected), (7, 5, true));
        assert_eq!(v6.address, "[fd00::2]:20000");
        let listeners: Vec<(String, bool)> =
            output.listeners.unwrap().into_iter().map(|it| (it.name, it.is_active)).collect();
        assert_eq!(listeners[0], ("api:127.0.0.1:1234".to_owned(), true));
        assert!(listeners[1..].iter().all(|(_, is_active)| !is_active), "{listeners:?}");
        let [refused] = output.rejections.as_slice() else { panic!("{:?}", output.rejections) };
        assert_eq!((refused.name.as_str(), refused.reason.len()), ("orders:127.0.0.1:1235", SHOWN_CHARS));
    }

    #[test]
    fn rejected_parts_are_found_with_and_without_an_older_configuration() {
        let rejected = |name: &str, details: &str| {
            json!({
                "failed_configuration": { "@type": "type.googleapis.com/envoy.config.listener.v3.Listener", "name": name },
                "last_update_attempt": "2026-11-23T12:00:00.123Z", "details": details,
            })
        };
        let listeners = json!([
            { "name": "api:127.0.0.1:1234", "active_state": { "version_info": "1" }, "error_state": rejected("api:127.0.0.1:1234", "a") },
            { "name": "new:127.0.0.1:1235", "error_state": rejected("new:127.0.0.1:1235", "b") },
            { "name": "well:127.0.0.1:1236", "active_state": { "version_info": "1" } },
        ]);
        let clusters = [
            json!({ "version_info": "1", "cluster": { "name": "api.default" }, "error_state": { "details": "c" } }),
            json!({ "version_info": "1", "cluster": { "name": "well.default" } }),
        ];
        let section = |kind: &str, field: &str, parts: Value| json!({ "@type": format!("type.googleapis.com/envoy.admin.v3.{kind}"), field: parts });
        let dump = json!({ "configs": [
            section("ListenersConfigDump", "dynamic_listeners", listeners),
            section("ClustersConfigDump", "dynamic_active_clusters", json!(clusters)),
        ] });
        let output = ProxyOutput::parse(&dump.to_string()).unwrap();
        let found: Vec<(&str, &str)> =
            output.rejections.iter().map(|it| (it.name.as_str(), it.reason.as_str())).collect();
        assert_eq!(found, [("api:127.0.0.1:1234", "a"), ("new:127.0.0.1:1235", "b"), ("api.default", "c")]);
        let active: Vec<bool> = output.listeners.unwrap().iter().map(|it| it.is_active).collect();
        assert_eq!(active, [true, false, true]);
        // A part of the answer is enough
        let waiting = json!([{ "error_state": rejected("api.default", "d") }]);
        let part = json!({ "configs": [section("ClustersConfigDump", "dynamic_warming_clusters", waiting)] });
        let output = ProxyOutput::parse(&part.to_string()).unwrap();
        assert_eq!((output.rejections.len(), output.listeners), (1, None));
    }

    #[test]
    fn text_without_an_answer_and_an_answer_without_its_end_are_errors() {
        assert_eq!(ProxyOutput::parse("curl: not found\n"), Err(ProxyOutputError::Nothing));
        let half: String = dump().chars().take(200).collect();
        assert!(matches!(ProxyOutput::parse(&half), Err(ProxyOutputError::Broken(_))));
        // Each answer alone is enough
        for answer in [certs(), CLUSTERS.to_owned(), dump()] {
            ProxyOutput::parse(&answer).unwrap();
        }
    }
}

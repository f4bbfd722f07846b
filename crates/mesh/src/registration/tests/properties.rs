//! Configurations with random fields and values.

use proptest::prelude::*;

use super::*;

/// The objects of [`full_service`] and [`full_gateway`] with fields of consul-ecs, as JSON pointers.
const IN_SERVICE: [&str; 10] = [
    "",
    "/service",
    "/service/weights",
    "/proxy",
    "/proxy/meshGateway",
    "/proxy/expose",
    "/proxy/expose/paths/0",
    "/proxy/upstreams/0",
    "/proxy/upstreams/0/meshGateway",
    "/transparentProxy",
];
const IN_GATEWAY: [&str; 5] = ["", "/gateway", "/gateway/lanAddress", "/gateway/wanAddress", "/gateway/proxy"];

/// The error about `config` with the field `key` in the object at `pointer`.
fn with_unknown_field(mut config: Value, pointer: &str, key: &str) -> InvalidField {
    let object = config.pointer_mut(pointer).and_then(Value::as_object_mut).expect("an object");
    object.insert(key.to_owned(), json!("hunter2"));
    parse(&config).unwrap_err()
}

/// `/proxy/upstreams/0` and `x` as `proxy.upstreams[0].x`.
fn path(pointer: &str, key: &str) -> String {
    let path = format!("{pointer}/{key}").replace("/0", "[0]").replace('/', ".");
    format!("{CONFIG_VARIABLE}: {}", path.trim_start_matches('.'))
}

proptest! {
    #[test]
    fn an_unknown_field_is_named_and_its_value_is_not_shown(
        service in proptest::sample::select(&IN_SERVICE[..]),
        gateway in proptest::sample::select(&IN_GATEWAY[..]),
        key in "x[a-z]{0,10}",
    ) {
        for (config, pointer) in [(full_service(), service), (full_gateway(), gateway)] {
            let error = with_unknown_field(config, pointer, &key);
            prop_assert_eq!(error.field(), path(pointer, &key));
            prop_assert!(!error.to_string().contains("hunter2"), "{}", error);
        }
    }

    #[test]
    fn an_unknown_field_cannot_forge_log_lines(key in "x\\PC{0,300}\n") {
        let error = with_unknown_field(full_service(), "/service", &key).to_string();
        prop_assert!(!error.contains('\n'), "{error}");
        prop_assert!(error.chars().count() < 2_000, "{error}");
    }

    #[test]
    fn parsing_never_panics(json in "[{}\\[\\]\",:a-z0-9 ]{0,60}", text in "\\PC{0,60}") {
        for json in [json, text] {
            for registrar in [Registrar::ControlPlane, Registrar::MeshInit] {
                let _ = MeshConfig::parse(&json, registrar);
            }
        }
    }

    /// Every value replaced by another: what is read in full can be registered, or has an invalid name.
    #[test]
    fn any_value_in_any_field_is_read_or_refused(
        pointer in proptest::sample::select(pointers(&full_service())),
        value in proptest::sample::select(vec![
            json!(null), json!(-1), json!("a b"), json!([]), json!({}), json!(1e300),
        ]),
    ) {
        let mut config = full_service();
        if let Some(field) = config.pointer_mut(&pointer) {
            *field = value;
        }
        if let Ok(config) = parse(&config) {
            let _ = config.tenancy(true);
            let _ = registrations(&config, &place(), &Tenancy::Community);
        }
    }
}

/// The pointers to all values in `value`.
fn pointers(value: &Value) -> Vec<String> {
    let below = |step: String, value: &Value| -> Vec<String> {
        pointers(value).into_iter().map(|rest| format!("/{step}{rest}")).collect()
    };
    let mut all = vec![String::new()];
    match value {
        Value::Object(fields) => all.extend(fields.iter().flat_map(|(key, value)| below(key.clone(), value))),
        Value::Array(items) => all.extend(items.iter().enumerate().flat_map(|(i, item)| below(i.to_string(), item))),
        _ => {}
    }
    all
}

//! The addresses that the app's variables name.

use mesh::local_address::LocalAddress;

use super::*;
use crate::examples::{described, revision};

/// The first container of the first task, which is the app, has a variable with this value.
fn with(value: &'static str) -> impl Fn(&mut World) {
    move |world| {
        let app = &mut revision(&mut world.observed.clusters[0].tasks[0]).containers[0];
        app.local_addresses = LocalAddress::in_value("API_URL", value);
    }
}

#[track_caller]
fn assert_url(verdict: PlaceVerdict, part: &str, change: impl FnOnce(&mut World)) {
    assert_line(NEW, Place::Url, verdict, part, change);
}

#[test]
fn address_of_the_upstream_is_right_and_another_possibly_wrong() {
    assert_url(PlaceVerdict::Ok, "API_URL of container app names 127.0.0.1:1234", with("http://127.0.0.1:1234/v1"));
    let part = "API_URL of container app names 127.0.0.1:1235, where no upstream listens. That of api listens on 127.0.0.1:1234";
    assert_url(PlaceVerdict::Possible, part, with("http://127.0.0.1:1235"));
    assert_url(PlaceVerdict::NotNeeded, "no environment variable", |_| {});
}

#[test]
fn port_of_another_listener_in_the_task_is_not_meant_for_the_destination() {
    let database = with("postgres://localhost:5432/orders");
    assert_url(PlaceVerdict::Possible, "localhost:5432", &database);
    assert_url(PlaceVerdict::NotNeeded, "no environment variable", |world| {
        database(world);
        revision(&mut world.observed.clusters[0].tasks[0]).containers[1].ports = vec![5432];
    });
    // The app's own port, as it is registered
    assert_url(PlaceVerdict::NotNeeded, "no environment variable", with("http://localhost:8080"));
}

#[test]
fn address_on_which_the_upstream_does_not_listen_is_possibly_wrong() {
    let part = "API_URL of container app names [::1]:1234, and the upstream listens on 127.0.0.1";
    assert_url(PlaceVerdict::Possible, part, with("http://[::1]:1234"));
    let bound = |address: &'static str| {
        move |world: &mut World| {
            with("http://127.0.0.1:1234")(world);
            for proxy in world.source.proxies.as_mut().unwrap() {
                let upstream =
                    serde_json::json!({ "DestinationName": "api", "LocalBindPort": 1234, "LocalBindAddress": address });
                proxy.upstreams = vec![serde_json::from_value(upstream).unwrap()];
            }
        }
    };
    assert_url(PlaceVerdict::Possible, "and the upstream listens on 127.0.0.2", bound("127.0.0.2"));
    assert_url(PlaceVerdict::Ok, "names 127.0.0.1:1234", bound("0.0.0.0"));
}

#[test]
fn localhost_may_mean_another_address_than_the_upstream_s() {
    let part = "names localhost:1234, and the upstream listens on 127.0.0.1: localhost may mean ::1 first";
    let line = assert_line(NEW, Place::Url, PlaceVerdict::Possible, part, with("http://localhost:1234"));
    assert_eq!(line.change.as_deref(), Some("Name 127.0.0.1 instead of localhost in API_URL"));
    // On both addresses
    assert_url(PlaceVerdict::Ok, "names localhost:1234", |world| {
        with("http://localhost:1234")(world);
        for upstream in world.source.proxies.as_mut().unwrap().iter_mut().flat_map(|proxy| &mut proxy.upstreams) {
            upstream.local_bind_address = "::".to_owned();
        }
    });
}

#[test]
fn task_s_own_value_replaces_that_of_its_definition() {
    assert_url(PlaceVerdict::Ok, "names 127.0.0.1:1234", |world| {
        with("http://localhost:1235")(world);
        let own = ("API_URL".to_owned(), "http://127.0.0.1:1234".to_owned());
        let task = described(&mut world.observed.clusters[0].tasks[0]);
        task.placement.overrides = [("app".to_owned(), [own].into())].into();
    });
}

#[test]
fn transparent_proxy_needs_no_address() {
    assert_url(PlaceVerdict::NotNeeded, "no upstream listens", |world| {
        for proxy in world.source.proxies.as_mut().unwrap() {
            proxy.upstreams.clear();
            proxy.is_transparent = true;
        }
    });
}

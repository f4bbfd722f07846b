//! The table parses, is sorted, and contradicts itself nowhere.

use super::*;
use crate::{
    rules::rule,
    subject::{Feature, Generation},
};

fn release(text: &str) -> Release {
    text.parse().unwrap()
}

fn with_dataplane(release: Release) -> bool {
    Feature::Dataplane.is_in(release)
}

fn with_mesh_init(release: Release) -> bool {
    Generation::Dataplane.fits(release)
}

#[test]
fn the_table_parses() {
    assert!(table().as_of.date.is_some());
    let broken = include_str!("versions.toml").replace("line = \"1.10\"", "line = \"1.x\"");
    assert!(toml::from_str::<Table>(&broken).is_err());
}

#[test]
fn newest_line_of_consul_ecs_is_the_one_in_mesh() {
    assert_eq!(lines_of(Program::ConsulEcs).last(), Some(&mesh::consul_ecs::NEWEST));
}

#[test]
fn every_row_has_a_source() {
    let table = table();
    let of_consul = table.consul.iter().map(|row| &row.sources);
    let sources = of_consul
        .chain(table.consul_ecs.iter().map(|row| &row.sources))
        .chain(table.dataplane.iter().map(|row| &row.sources))
        .chain(table.defects.iter().map(|row| &row.sources));
    for sources in sources {
        assert!(!sources.is_empty() && sources.iter().all(|source| source.starts_with("https://")), "{sources:?}");
    }
}

#[test]
fn rows_are_sorted_and_refer_to_others() {
    for program in [Program::Consul, Program::ConsulEcs, Program::Dataplane] {
        let lines = lines_of(program);
        assert!(lines.is_sorted() && !lines.is_empty(), "{program}");
        for line in lines {
            let servers = consul_of(program, line).unwrap();
            assert!(!servers.is_empty(), "{program} {line} goes with no Consul");
            assert!(servers.is_sorted() && servers.iter().all(|line| consul(*line).is_some()), "{program} {line}");
            assert!(newest_of(program, line).is_none_or(|newest| newest.in_line() == line), "{program} {line}");
        }
    }
    for row in &table().consul {
        assert!(row.dataplane.iter().all(|line| dataplane(*line).is_some()), "Consul {}", row.line);
        assert!(row.dataplane.is_sorted() && row.envoy.is_sorted(), "Consul {}", row.line);
        assert!(
            matches!(&row.supported_until, Support::Day(day) if day.date.is_some() && day.time.is_none())
                || matches!(row.supported_until, Support::Line(until) if until > row.line)
        );
    }
}

#[test]
fn the_first_envoy_of_a_dataplane_is_one_that_consul_supports() {
    for row in &table().dataplane {
        let bundled = row.envoy.first().unwrap();
        let servers = consul_of(Program::Dataplane, row.line).unwrap();
        let is_known = servers.iter().any(|line| supports_envoy(*line, bundled.line) == Some(true));
        assert!(is_known, "Consul Dataplane {} with Envoy {}", bundled.releases, bundled.line);
    }
}

#[test]
fn a_defect_has_an_own_name_and_an_end_after_its_last_release() {
    let ids: Vec<&str> = table().defects.iter().map(|defect| defect.id.as_str()).collect();
    let mut once = ids.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), ids.len());
    for defect in &table().defects {
        let ended = defect.fixed_in.as_ref().is_none_or(|fixed| !defect.is_in(*fixed));
        assert!(ended, "{}: fixed in a release that has it", defect.id);
        assert!(defect.rule.as_deref().is_none_or(|id| rule(id).is_some()), "{}: its rule", defect.id);
        for phrase in [&defect.what, &defect.action] {
            assert!(!phrase.ends_with('.') && !phrase.is_empty(), "{}: a phrase, not a sentence", defect.id);
        }
    }
    assert!(table().defects.is_sorted_by_key(|defect| defect.program));
}

#[test]
fn lines_go_together_if_one_consul_goes_with_both() {
    let pair =
        |one: &str, other: &str| supports((Program::ConsulEcs, release(one)), (Program::Dataplane, release(other)));
    assert_eq!(pair("0.9", "1.6"), Some(true));
    assert_eq!(pair("0.9", "2.0"), Some(false));
    assert_eq!(pair("0.7", "1.3"), Some(true));
    assert_eq!(pair("0.6", "1.6"), Some(true), "Consul 1.15 in its LTS release");
    assert_eq!(pair("0.99", "1.3"), None);
    assert_eq!(supports((Program::ConsulEcs, release("0.10")), (Program::Consul, release("2.0"))), Some(true));
    assert_eq!(supports((Program::ConsulEcs, release("0.8")), (Program::Consul, release("2.0"))), Some(false));
}

#[test]
fn support_ends_on_a_day_or_with_a_release() {
    assert_eq!(has_ended(Program::Consul, release("1.17")), Some(true));
    assert_eq!(has_ended(Program::Consul, release("1.18")), Some(true));
    assert_eq!(has_ended(Program::Consul, release("1.21")), Some(false));
    assert_eq!(has_ended(Program::ConsulEcs, release("0.8")), Some(true));
    assert_eq!(has_ended(Program::ConsulEcs, release("0.9")), Some(false));
    assert_eq!(has_ended(Program::Dataplane, release("1.5")), Some(true));
    assert_eq!(has_ended(Program::Dataplane, release("9.9")), None);
}

#[test]
fn a_defect_begins_and_ends_with_its_releases() {
    let has = |text: &str, id: &str| defects_of(Program::ConsulEcs, release(text)).iter().any(|defect| defect.id == id);
    assert!(!has("0.8.1", "ecs-critical-overwritten"));
    assert!(has("0.9.1", "ecs-critical-overwritten"));
    assert!(!has("0.9.2", "ecs-critical-overwritten") && has("0.9.2", "ecs-writes-every-second"));
    assert!(!has("0.10.0", "ecs-writes-every-second"));
    // A line has what all of its releases have.
    assert!(has("0.8", "ecs-dataplane-check-alone") && has("0.9", "ecs-writes-every-second"));
    assert!(!has("0.9", "ecs-critical-overwritten") && !has("0.7", "ecs-shutdown") && !has("0.99", "ecs-login-replay"));
}

#[test]
fn an_image_of_the_dataplane_has_an_envoy_if_it_is_known() {
    assert_eq!(bundled_envoy(release("1.1.10")), Some(release("1.26")));
    assert_eq!(bundled_envoy(release("1.8.17")), Some(release("1.38")));
    assert_eq!(bundled_envoy(release("1.8.12")), None);
    assert_eq!(
        ["2.0.1", "2.0.4"].map(|text| bundled_envoy(release(text))),
        [Some(release("1.37")), Some(release("1.38"))]
    );
    // A later release of 1.6 went back to an older line.
    let of_1_6 = ["1.6.5", "1.6.6", "1.6.8"].map(|text| bundled_envoy(release(text)));
    assert_eq!(of_1_6, [Some(release("1.33")), None, Some(release("1.32"))]);
}

#[test]
fn consul_has_a_newest_release_up_to_the_last_line_that_is_released() {
    assert!(newest_of(Program::Consul, release("2.0")).is_some_and(|newest| newest >= release("2.0.4")));
    assert_eq!(newest_of(Program::Consul, release("2.1")), None);
}

#[test]
fn the_newest_pair_goes_together_and_has_no_known_defect_of_its_release() {
    let (consul_ecs, dataplane) = newest_pair_for(&[release("2.0")], with_mesh_init).unwrap();
    assert_eq!(Some(consul_ecs), newest_for(Program::ConsulEcs, &[release("2.0")], |_| true));
    assert_eq!(dataplane, release("2.0.4"));
    for (program, release) in [(Program::ConsulEcs, consul_ecs), (Program::Dataplane, dataplane)] {
        assert_eq!(has_ended(program, release.in_line()), Some(false));
        let by_release = |defect: &&Defect| defect.rule.as_deref() == Some("consul-release-defect");
        assert!(!defects_of(program, release).iter().any(by_release));
    }
}

#[test]
fn no_newest_release_of_the_dataplane_is_withdrawn() {
    for line in lines_of(Program::Dataplane) {
        let newest = newest_of(Program::Dataplane, line).unwrap();
        assert!(!defects_of(Program::Dataplane, newest).iter().any(|defect| defect.is_withdrawn), "{newest}");
    }
    for text in ["1.7.11", "1.8.9", "1.9.4"] {
        let defects = defects_of(Program::Dataplane, release(text));
        assert!(defects.iter().any(|defect| defect.is_withdrawn), "{text}");
    }
}

#[test]
fn a_line_of_consul_without_lines_of_envoy_says_nothing_about_them() {
    assert_eq!(supports_envoy(release("2.1"), release("1.38")), None);
    assert_eq!(supports_envoy(release("2.0"), release("1.38")), Some(true));
    assert_eq!(supports_envoy(release("2.0"), release("1.20")), Some(false));
}

#[test]
fn a_pair_goes_with_all_lines_of_consul_that_are_asked_for() {
    let pair = |consul: &[&str], among: fn(Release) -> bool| {
        let consul: Vec<Release> = consul.iter().map(|text| release(text)).collect();
        newest_pair_for(&consul, among).map(|(consul_ecs, dataplane)| format!("{consul_ecs} {dataplane}"))
    };
    assert_eq!(pair(&["1.20", "1.22"], with_dataplane).as_deref(), Some("0.9.4 1.7.13"));
    assert_eq!(pair(&["1.17"], with_dataplane).as_deref(), Some("0.7.3 1.4.6"));
    assert_eq!(pair(&["1.17"], with_mesh_init), None);
    assert_eq!(pair(&["1.15"], with_dataplane), None, "consul-ecs 0.6 has client agents");
    assert_eq!(pair(&["1.17", "1.18"], with_dataplane), None);
}

#[test]
fn servers_need_a_release_and_a_licence_before_consul_2() {
    assert!(
        before(release("2.0")).is_some_and(|demand| demand.contains("1.21.7") && demand.contains("licence of IBM"))
    );
    assert_eq!(before(release("1.22")), None);
    assert!(
        before_of_mesh_entry(release("2.1"))
            .is_some_and(|demand| demand.contains("ECDHCurves") && demand.contains("X25519MLKEM768"))
    );
}

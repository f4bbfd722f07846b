//! Examples of upgrades, and what every plan keeps.

use std::collections::BTreeSet;

use super::{hops::Pair, *};
use crate::inventory::{Generation, Images};

fn row(name: &str, generation: Generation, consul_ecs: &str, dataplane: Option<&str>) -> InventoryRow {
    InventoryRow {
        cluster: Some("arn:aws:ecs:us-east-1:123456789012:cluster/prod".to_owned()),
        file: None,
        ecs_service: Some(name.to_owned()),
        service: Some(name.to_owned()),
        partition: None,
        namespace: None,
        revision: format!("{name}:1"),
        runs_on: BTreeSet::new(),
        generation,
        images: Images {
            consul_ecs: Some(consul_ecs.to_owned()),
            consul_dataplane: dataplane.map(str::to_owned),
            ..Images::default()
        },
        desired_tasks: None,
        tasks: Some(1),
    }
}

fn dataplane(name: &str, consul_ecs: &str, dataplane: &str) -> InventoryRow {
    row(name, Generation::Dataplane, consul_ecs, Some(dataplane))
}

fn line(text: &str) -> Line {
    text.parse().unwrap()
}

fn planned(rows: &[InventoryRow], from: &str, target: &str) -> UpgradeReport {
    upgrade(rows, Some(line(from)), line(target)).unwrap()
}

/// What each step is about, and its services.
fn told(report: &UpgradeReport) -> Vec<(String, Vec<&str>)> {
    let mut told = Vec::new();
    for step in &report.steps {
        told.push((step.what.clone(), step.rows.iter().filter_map(|row| row.service.as_deref()).collect()));
    }
    told
}

/// The newest releases that go with these lines, in words.
fn pair(consul: &[&str]) -> String {
    let consul: Vec<Line> = consul.iter().map(|text| line(text)).collect();
    let pair = Pair::for_all(&consul).unwrap();
    format!("consul-ecs {} and consul-dataplane {}", pair.consul_ecs, pair.dataplane)
}

#[test]
fn tasks_come_before_the_servers_and_two_lines_at_a_time() {
    let report = planned(&[dataplane("web", "0.9.0", "1.6.2"), dataplane("api", "0.9.4", "1.7.1")], "1.20", "2.0");
    let (to_22, to_2) = (pair(&["1.20", "1.22"]), pair(&["1.22", "2.0"]));
    assert_eq!(
        told(&report),
        [
            (format!("Update the tasks to {to_22}, which go with Consul 1.20 and 1.22"), vec!["web"]),
            ("Upgrade Consul's servers from 1.20 to 1.22".to_owned(), vec![]),
            (format!("Update the tasks to {to_2}, which go with Consul 1.22 and 2.0"), vec!["web", "api"]),
            ("Upgrade Consul's servers from 1.22 to 2.0".to_owned(), vec![]),
        ]
    );
    let [web, api] = report.blockers.as_slice() else { panic!("{:?}", report.blockers) };
    assert_eq!((web.row.revision.as_str(), api.row.revision.as_str()), ("web:1", "api:1"));
    assert!(web.reasons[0].starts_with("consul-ecs 0.9.0 goes with Consul 1.20, "), "{:?}", web.reasons);
}

#[test]
fn tasks_that_go_with_the_target_are_left_alone() {
    let report = planned(&[dataplane("web", "0.10.1", "1.9.0")], "1.22", "2.0");
    assert_eq!(told(&report), [("Upgrade Consul's servers from 1.22 to 2.0".to_owned(), vec![])]);
    assert_eq!((report.blockers.as_slice(), report.unknown.as_slice()), (&[][..], &[][..]));
}

#[test]
fn where_no_release_goes_with_both_ends_the_tasks_follow_at_once() {
    let report = planned(&[row("bill", Generation::ClientAgent, "0.6.2", None)], "1.15", "1.17");
    let servers = "Upgrade Consul's servers from 1.15 to 1.17; no release of consul-ecs goes with both";
    let then = format!("At once, update the tasks to {}, which go with Consul 1.17", pair(&["1.17"]));
    assert_eq!(told(&report), [(servers.to_owned(), vec![]), (then, vec!["bill"])]);
    let notes = report.steps[1].notes.first().unwrap();
    assert!(notes.contains("upgrade-to-dataplanes"), "{notes}");
}

#[test]
fn tags_without_a_release_are_unknown_and_in_no_step() {
    for tag in ["latest", "untagged", "unknown", "9.9.9"] {
        let report = planned(&[dataplane("web", tag, "1.9.0")], "1.22", "2.0");
        assert_eq!((report.blockers.len(), report.unknown.len(), report.steps.len()), (0, 1, 1), "{tag}: {report:?}");
    }
    let unread = InventoryRow { images: Images::default(), ..row("web", Generation::Unknown, "", None) };
    assert_eq!(planned(&[unread], "1.22", "2.0").unknown.len(), 1);
}

#[test]
fn what_is_not_in_consul_s_mesh_blocks_nothing() {
    for generation in [Generation::AppMesh, Generation::None] {
        let report = planned(&[row("pay", generation, "0.1.0", None)], "1.22", "2.0");
        assert_eq!((report.blockers.len(), report.unknown.len()), (0, 0));
    }
}

#[test]
fn without_the_servers_version_there_are_blockers_and_no_order() {
    let report = upgrade(&[dataplane("web", "0.9.0", "1.6.2")], None, line("2.0")).unwrap();
    assert_eq!((report.blockers.len(), report.steps.len(), report.from), (1, 0, None));
}

#[test]
fn unknown_lines_and_downgrades_are_refused() {
    let refused = |from: &str, target: &str| upgrade(&[], Some(line(from)), line(target)).unwrap_err().to_string();
    assert!(refused("1.8", "2.0").starts_with("Consul 1.8 is not in the table of 20"), "{}", refused("1.8", "2.0"));
    assert!(refused("1.22", "3.7").starts_with("Consul 3.7 is not in the table"), "{}", refused("1.22", "3.7"));
    let expected = "Consul's servers have 2.0, which is newer than 1.21: there is no plan for a downgrade";
    assert_eq!(refused("2.0", "1.21"), expected);
}

#[test]
fn no_task_goes_back_to_an_older_release() {
    let report = planned(&[dataplane("web", "0.9.3", "1.7.1")], "1.18", "1.21");
    assert!(report.steps.iter().all(|step| step.rows.is_empty()), "{report:?}");
}

/// At every moment of every plan, each revision goes with the servers, or is newer than what goes with them, except
/// between the servers and the tasks of a hop of which that is said; and at the end it goes with the target.
#[test]
fn every_plan_ends_at_the_target_and_keeps_the_tasks_beside_the_servers() {
    let known = lines_of(Program::Consul);
    for (from, target) in known.iter().flat_map(|from| known.iter().map(move |target| (*from, *target))) {
        if from > target || Pair::for_all(&[target]).is_none() {
            continue;
        }
        for consul_ecs in lines_of(Program::ConsulEcs) {
            for dataplane in lines_of(Program::Dataplane) {
                let mut releases = Releases::with(consul_ecs, dataplane);
                let row = RowName { place: "prod".to_owned(), service: None, revision: "web:1".to_owned() };
                let hops = hops(&known, from, target);
                assert_eq!(hops.last().map_or(from, |hop| hop.to), target);
                let mut servers = from;
                for step in steps(&[(row, releases.clone())], &hops, target) {
                    if step.rows.is_empty() {
                        let hop = hops.iter().find(|hop| hop.from == servers).unwrap();
                        let fits = |line| releases.fit(line) == Fit::Goes;
                        let is_newer = |pair: Pair| releases.are_newer_than(&pair.releases());
                        assert!(
                            hop.both.is_none_or(|pair| fits(hop.from) && fits(hop.to) || is_newer(pair)),
                            "{step:?}"
                        );
                        servers = hop.to;
                    } else {
                        releases = after(&step.what);
                    }
                }
                let newest = Pair::for_all(&[target]).unwrap().releases();
                assert_eq!(servers, target);
                assert!(
                    releases.fit(target) == Fit::Goes || releases.are_newer_than(&newest),
                    "{from} {target} {consul_ecs} {dataplane}"
                );
            }
        }
    }
}

/// The releases that a step names.
fn after(what: &str) -> Releases {
    let named = |program: &str| {
        let (_, rest) = what.split_once(program).unwrap();
        let version = rest.trim_start().split([' ', ',']).next().unwrap();
        Line::of(&version.parse().unwrap())
    };
    Releases::with(named("consul-ecs"), named("consul-dataplane"))
}

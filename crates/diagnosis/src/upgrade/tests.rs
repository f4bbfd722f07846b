//! Examples of upgrades, and what every plan keeps.

use std::collections::BTreeSet;

use audit::{
    subject::version_in,
    versions::{FIRST_WITH_DATAPLANE, bundled_envoy, consul_of, envoy_of, newest_for},
};
use semver::Version;

use super::{pair::Pair, servers::Servers, *};
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
    Pair::of_dataplane(&consul).unwrap().to_string()
}

/// Tasks with a client agent of this release.
fn with_agent(name: &str, consul_ecs: &str, consul: &str) -> InventoryRow {
    let row = row(name, Generation::ClientAgent, consul_ecs, None);
    InventoryRow { images: Images { consul: Some(consul.to_owned()), ..row.images.clone() }, ..row }
}

#[test]
fn client_agents_that_lag_behind_the_servers_come_first() {
    let rows = [with_agent("old", "0.5.2", "1.11.11"), with_agent("new", "0.5.2", "1.13.2")];
    let told = |report: &UpgradeReport| {
        let report = told(report).into_iter();
        let told = report.map(|(what, rows)| (what, rows.into_iter().map(str::to_owned).collect::<Vec<_>>()));
        told.filter(|(what, _)| what.contains("servers from") || what.contains("client agents of")).collect::<Vec<_>>()
    };
    let place = |steps: &[(String, Vec<String>)], part: &str| steps.iter().position(|(what, _)| what.contains(part));
    // Given servers that are upgraded, then the agents behind them are updated first, and the others with the servers.
    let steps = told(&planned(&rows, "1.13", "1.14"));
    let first = place(&steps, "client agents of these tasks to Consul 1.13").unwrap();
    assert!(steps[first].1 == ["old"] && Some(first) < place(&steps, "servers from 1.13"), "{steps:?}");
    // Given servers that stay, then they are updated, and said not to go with the servers.
    let report = planned(&rows, "1.13", "1.13");
    assert_eq!(told(&report).iter().map(|(_, rows)| rows.join(",")).collect::<Vec<_>>(), ["old"]);
}

#[test]
fn tasks_come_before_the_servers_and_two_lines_at_a_time() {
    let report = planned(&[dataplane("web", "0.9.0", "1.6.2"), dataplane("api", "0.9.4", "1.7.1")], "1.20", "2.0");
    let (to_22, to_2) = (pair(&["1.20", "1.22"]), pair(&["1.22", "2.0"]));
    let controller = |release: &str| (format!("Update the controller of consul-ecs to {release}, if it runs"), vec![]);
    assert_eq!(
        told(&report),
        [
            controller("0.9.4"),
            (format!("Update these tasks to {to_22}, which go with Consul 1.20 and 1.22"), vec!["web"]),
            ("Upgrade Consul's servers from 1.20 to the newest 1.22".to_owned(), vec![]),
            controller("0.10.1"),
            (format!("Update these tasks to {to_2}, which go with Consul 1.22 and 2.0"), vec!["web", "api"]),
            ("Upgrade Consul's servers from 1.22 to the newest 2.0".to_owned(), vec![]),
        ]
    );
    let [web, api] = report.blockers.as_slice() else { panic!("{:?}", report.blockers) };
    assert_eq!((web.row.revision.as_str(), api.row.revision.as_str()), ("web:1", "api:1"));
    assert!(web.reasons[0].starts_with("consul-ecs 0.9.0 goes with Consul 1.20, "), "{:?}", web.reasons);
}

#[test]
fn tasks_that_go_with_the_target_are_left_alone() {
    let report = planned(&[dataplane("web", "0.10.1", "1.9.0")], "1.22", "2.0");
    assert_eq!(told(&report), [("Upgrade Consul's servers from 1.22 to the newest 2.0".to_owned(), vec![])]);
    assert_eq!((report.blockers.as_slice(), report.unknown.as_slice()), (&[][..], &[][..]));
}

#[test]
fn where_no_release_goes_with_both_ends_the_tasks_follow_at_once() {
    let report = planned(&[row("bill", Generation::ClientAgent, "0.6.2", None)], "1.15", "1.17");
    let servers = "Upgrade Consul's servers from 1.15 to the newest 1.17".to_owned();
    let then = format!("At once, update these tasks to {}, which go with Consul 1.17", pair(&["1.17"]));
    let [first, deploy, second, delete] = &told(&report)[..] else { panic!("{report:#?}") };
    assert_eq!((first, second), (&(servers, vec![]), &(then, vec!["bill"])));
    assert!(deploy.0.starts_with("Deploy the controller of consul-ecs 0.7.3 beside the ACL controller"), "{deploy:?}");
    assert!(delete.0.starts_with("When no task with a client agent is left, delete the ACL controller"), "{delete:?}");
}

#[test]
fn where_no_consul_ecs_goes_with_both_ends_consul_dataplane_comes_before_the_servers() {
    let report = planned(&[dataplane("web", "0.8.1", "1.4.0"), dataplane("api", "0.8.1", "1.6.0")], "1.19", "1.21");
    assert_eq!(
        told(&report),
        [
            ("Update these tasks to consul-dataplane 1.7.11, which goes with Consul 1.19 and 1.21".to_owned(), vec!["web"]),
            ("Upgrade Consul's servers from 1.19 to the newest 1.21".to_owned(), vec![]),
            ("At once, update the controller of consul-ecs to 0.10.1, if it runs".to_owned(), vec![]),
            (
                "At once, update these tasks to consul-ecs 0.10.1 and consul-dataplane 1.7.11, which go with Consul 1.21".to_owned(),
                vec!["web", "api"]
            ),
        ]
    );
    // A consul-ecs that does not go with the servers as they are is updated with it
    let report = planned(&[dataplane("web", "0.7.3", "1.4.0")], "1.19", "1.21");
    let expected = "Update these tasks to consul-ecs 0.8.1, which goes with Consul 1.19, and consul-dataplane 1.7.11, which goes \
                    with Consul 1.19 and 1.21";
    assert_eq!(told(&report)[1], (expected.to_owned(), vec!["web"]));
    let after = "At once, update these tasks to consul-ecs 0.10.1, which goes with Consul 1.21";
    assert_eq!(told(&report)[4], (after.to_owned(), vec!["web"]));
}

#[test]
fn proxy_older_than_the_oldest_that_the_servers_support_is_updated_before() {
    let report = planned(&[dataplane("web", "0.9.4", "1.5.0")], "1.19", "1.20");
    let [web] = report.blockers.as_slice() else { panic!("{report:#?}") };
    let expected =
        "consul-dataplane 1.5.0 goes with Consul 1.19: it contains Envoy 1.29, and Consul 1.20 starts at Envoy 1.30";
    assert_eq!(web.reasons, [expected]);
    assert!(told(&report)[0].0.starts_with("Update these tasks to consul-dataplane 1.7.11, "), "{report:#?}");
}

#[test]
fn tasks_with_a_client_agent_keep_it_until_there_is_a_dataplane_for_them() {
    let report = planned(&[row("bill", Generation::ClientAgent, "0.4.3", None)], "1.11", "1.14");
    let steps: Vec<String> = told(&report).into_iter().map(|(what, _)| what).collect();
    let [servers, controller, tasks, agents, last, agents_again] = &steps[..] else { panic!("{steps:#?}") };
    assert_eq!(servers, "Upgrade Consul's servers from 1.11 to the newest 1.13");
    assert_eq!(controller, "At once, update the ACL controller of consul-ecs to 0.6.2, if it runs");
    assert_eq!(tasks, "At once, update these tasks to consul-ecs 0.6.2, which goes with Consul 1.13");
    assert_eq!(
        agents,
        "Update the client agents of these tasks to Consul 1.13, and their Envoy to one of 1.20, 1.21, 1.22, 1.23"
    );
    assert_eq!(last, "Upgrade Consul's servers from 1.13 to the newest 1.14");
    assert!(agents_again.starts_with("Update the client agents of these tasks to Consul 1.14, "), "{agents_again}");
}

#[test]
fn controllers_are_updated_before_their_tasks() {
    let controller = |release: &str| row("controller", Generation::None, release, None);
    let report = planned(&[dataplane("web", "0.9.4", "1.9.12"), controller("0.8.1")], "1.22", "2.0");
    assert_eq!((report.revisions, report.blockers.len()), (2, 2));
    let steps = told(&report);
    assert_eq!(steps[0], ("Update the controller of consul-ecs to 0.10.1".to_owned(), vec!["controller"]));
    assert_eq!((steps[1].1.as_slice(), steps.len()), (&["web"][..], 3));
    let report = planned(&[dataplane("web", "0.9.4", "1.9.12"), controller("0.10.1")], "1.22", "2.0");
    assert_eq!(told(&report)[0].1, ["web"], "it is new enough");
    let report = planned(&[dataplane("web", "0.10.0", "1.9.12"), controller("0.9.4")], "1.22", "2.0");
    assert_eq!(told(&report)[0].1, ["controller"], "without tasks as well");
}

#[test]
fn the_acl_controller_runs_until_its_tasks_have_moved() {
    let bill = row("bill", Generation::ClientAgent, "0.6.2", None);
    let report = planned(&[bill, row("acl", Generation::None, "0.6.2", None)], "1.15", "1.17");
    let steps = told(&report);
    let of_acl: Vec<usize> = (0..steps.len()).filter(|index| steps[*index].1.contains(&"acl")).collect();
    assert_eq!((of_acl, steps.len()), (vec![1, 3], 4), "deployed beside it, and deleted at the end: {steps:#?}");
    assert!(report.steps[2].notes[0].contains("/upgrade/ecs/dataplane"));
}

#[test]
fn demands_of_a_line_that_is_left_out_are_told() {
    let report = planned(&[], "1.12", "1.14");
    let [servers] = report.steps.as_slice() else { panic!("{report:#?}") };
    assert!(servers.notes[0].contains("agents without ports.https"), "of 1.13: {servers:?}");
    assert!(servers.notes[1].contains("ports.grpc_tls"), "of 1.14: {servers:?}");
}

#[test]
fn fips_images_get_the_suffix_of_their_release() {
    let noted = |tag: &str| {
        let report = planned(&[dataplane("web", tag, "1.9.12")], "1.22", "2.0");
        report.steps.iter().flat_map(|step| &step.notes).any(|note| note.contains("-fips1403"))
    };
    assert_eq!((noted("0.9.4-fips1402"), noted("0.9.4")), (true, false));
}

#[test]
fn target_without_releases_for_the_tasks_is_said() {
    let report = planned(&[row("bill", Generation::ClientAgent, "0.2.0", None)], "1.10", "1.10");
    assert_eq!((report.blockers.len(), report.steps.len()), (0, 0));
    let report = planned(&[dataplane("web", "0.7.3", "1.2.0")], "1.14", "1.15");
    assert_eq!(report.steps[0].notes, ["no release is known that goes with Consul 1.15 for web:1"]);
}

#[test]
fn tags_without_a_release_are_to_be_found_out_first() {
    for tag in ["latest", "untagged", "unknown", "9.9.9"] {
        let report = planned(&[dataplane("web", tag, "1.9.0")], "1.22", "2.0");
        assert_eq!((report.blockers.len(), report.unknown.len()), (0, 1), "{tag}: {report:?}");
        assert!(told(&report)[0].0.starts_with("Find out what these go with, and plan again"), "{tag}");
        assert_eq!(told(&report)[0].1, ["web"], "{tag}");
        let reason = match tag {
            "latest" => "the tag latest of consul-ecs names no release".to_owned(),
            "untagged" => "the image of consul-ecs has no tag".to_owned(),
            "unknown" => "the image of consul-ecs is not known".to_owned(),
            _ => format!("consul-ecs 9.9.9 is not in the table of {}", table().as_of),
        };
        assert_eq!(report.unknown[0].reasons, [reason]);
    }
    let unread = InventoryRow { images: Images::default(), ..row("web", Generation::Unknown, "", None) };
    let reasons = &planned(&[unread], "1.22", "2.0").unknown[0].reasons;
    assert_eq!(reasons, &["its containers are not known, nor whether it is in the mesh"]);
}

#[test]
fn release_that_is_not_known_is_not_updated() {
    let rows = [dataplane("web", "latest", "1.6.2"), row("controller", Generation::None, "latest", None)];
    let report = planned(&rows, "1.20", "1.22");
    let [find_out, servers] = &told(&report)[..] else { panic!("{report:#?}") };
    assert!(find_out.0.starts_with("Find out what these go with"), "{find_out:?}");
    assert_eq!((find_out.1.as_slice(), servers.1.as_slice()), (&["web", "controller"][..], &[][..]));
    let [web] = report.blockers.as_slice() else { panic!("{report:#?}") };
    assert_eq!(web.row.revision, "web:1", "its consul-dataplane does not go with the target");
}

#[test]
fn controller_of_an_unknown_release_is_not_said_to_be_missing() {
    let rows = [dataplane("web", "0.9.4", "1.9.12"), row("controller", Generation::None, "latest", None)];
    let report = planned(&rows, "1.22", "2.0");
    assert_eq!(told(&report)[0].1, ["controller"], "it is to be found out");
    assert_eq!(told(&report)[1].1, ["web"], "{report:#?}");
    assert!(report.steps.iter().all(|step| !step.what.contains("if it runs")), "{report:#?}");
}

#[test]
fn what_is_not_in_consul_s_mesh_blocks_nothing() {
    for generation in [Generation::AppMesh, Generation::None] {
        let row = InventoryRow { images: Images::default(), ..row("pay", generation, "", None) };
        let report = planned(&[row], "1.22", "2.0");
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
fn no_program_goes_back_to_an_older_release() {
    let report = planned(&[dataplane("web", "0.9.3", "1.7.1")], "1.18", "1.21");
    assert!(report.steps.iter().all(|step| step.rows.is_empty()), "{report:?}");
    // The other program of the revision is updated nevertheless
    let report = planned(&[dataplane("web", "0.9.1", "2.0.1")], "1.22", "2.0");
    assert_eq!(told(&report)[1].1, ["web"], "{report:?}");
    assert_eq!(report.steps[1].notes[0], "web:1 keeps consul-dataplane 2.0.1, which is newer");
    assert_eq!(told(&report)[2].0, "Upgrade Consul's servers from 1.22 to the newest 2.0");
}

#[test]
fn what_is_newer_than_the_target_is_to_be_decided() {
    let report = planned(&[dataplane("web", "0.10.1", "2.0.1")], "1.22", "1.22");
    let [(what, rows)] = &told(&report)[..] else { panic!("{report:#?}") };
    assert!(what.starts_with("Decide about these, which do not go with Consul 1.22"), "{what}");
    assert_eq!(rows, &["web"]);
}

#[test]
fn every_note_is_said_once() {
    let report = planned(&[dataplane("web", "0.8.1", "1.4.2")], "1.18", "2.0");
    let notes: Vec<&String> = report.steps.iter().flat_map(|step| &step.notes).collect();
    let unique: BTreeSet<&&String> = notes.iter().collect();
    assert_eq!(unique.len(), notes.len(), "{notes:#?}");
}

/// What there is after each step of a plan for one revision: the line of the servers, and the release of Consul Dataplane.
fn states(plan: &Plan<'_>, from: Line, dataplane: Option<Version>) -> Vec<(Line, Option<Version>)> {
    let (mut states, mut servers, mut dataplane) = (vec![(from, dataplane.clone())], from, dataplane);
    for step in &plan.steps {
        if let Some(hop) = step.what.strip_prefix("Upgrade Consul's servers from ") {
            let (before, after) = hop.split_once(" to the newest ").unwrap();
            assert_eq!(line(before), servers);
            servers = line(after);
        } else if let Some((_, release)) = step.what.split_once("consul-dataplane ") {
            let release = version_in(release).unwrap();
            dataplane = dataplane.max(Some(release));
        }
        states.push((servers, dataplane.clone()));
    }
    states
}

/// Whether the servers accept the proxy of a release of Consul Dataplane.
fn accepts(servers: Line, dataplane: &Version) -> bool {
    let lines = consul_of(Program::Dataplane, Line::of(dataplane)).unwrap();
    let is_too_old = bundled_envoy(dataplane).is_some_and(|envoy| envoy < envoy_of(servers)[0]);
    lines.contains(&servers) && !is_too_old
}

/// Whether there are releases for `from` whose Consul Dataplane goes with both ends.
fn is_spanned(from: Line, to: Line) -> bool {
    newest_for(Program::ConsulEcs, &[from], FIRST_WITH_DATAPLANE..).is_some()
        && newest_for(Program::Dataplane, &[from, to], ..).is_some()
}

/// Of every line of every program, between all lines of Consul: the servers reach the target at most two lines at a time,
/// accept the proxy of the tasks after each step wherever there is a release for that, and the tasks go with them at the end, or
/// are newer, or the plan says that no release is known.
#[test]
fn every_plan_ends_at_the_target() {
    let known = lines_of(Program::Consul);
    let dataplanes = lines_of(Program::Dataplane).into_iter().map(Some).chain([None]);
    let dataplanes: Vec<Option<Line>> = dataplanes.collect();
    let first_of = |line: Line| version_in(&format!("{line}.0")).unwrap();
    for (from, target) in known.iter().flat_map(|from| known.iter().map(move |target| (*from, *target))) {
        for consul_ecs in lines_of(Program::ConsulEcs) {
            for dataplane in dataplanes.iter().filter(|_| from <= target) {
                let row = RowName { place: "prod".to_owned(), service: None, revision: "web:1".to_owned() };
                let (consul_ecs, dataplane) = (first_of(consul_ecs), dataplane.map(first_of));
                let programs = [(Program::ConsulEcs, &consul_ecs)].into_iter();
                let programs = programs.chain(dataplane.as_ref().map(|release| (Program::Dataplane, release)));
                let all = [(row, Releases::with(programs))];
                let plan = Plan::new(&all, &known, from, target);
                let case =
                    format!("{from} to {target}, consul-ecs {consul_ecs}, dataplane {dataplane:?}: {:#?}", plan.steps);
                let states = states(&plan, from, dataplane);
                for (before, after) in states.iter().zip(&states[1..]).filter(|(before, after)| before.0 < after.0) {
                    let passed = known.iter().filter(|line| **line > before.0 && **line <= after.0);
                    assert!(passed.count() <= 2, "{case}");
                    let Some(proxy) = after.1.as_ref().filter(|_| is_spanned(before.0, after.0)) else { continue };
                    let newest = newest_for(Program::Dataplane, &[before.0, after.0], ..).unwrap();
                    assert!(*newest >= Version::new(1, 3, 0), "consul-ecs starts it with -config-file: {case}");
                    assert!(accepts(after.0, proxy) || proxy > newest, "{proxy} is refused: {case}");
                }
                let (_, tasks) = &plan.tasks[0];
                let ends = match Pair::for_tasks(tasks, &[target]) {
                    Some(pair) => tasks.updated(&Servers::all(&[target]), &pair.releases()).is_none(),
                    None => from == target || plan.steps.iter().any(|step| !step.notes.is_empty()),
                };
                let servers = states.last().unwrap().0;
                assert!(servers == target && (ends || tasks.fit(target) == Fit::Goes), "{case}");
            }
        }
    }
}

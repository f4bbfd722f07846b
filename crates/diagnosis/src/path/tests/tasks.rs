//! The tasks at both ends.

use mesh::{catalog::CheckStatus, consul_ecs::names::DATAPLANE, task::TaskPhase};
use mesh_examples::exited;

use super::*;
use crate::examples::{described, register, revision};

#[test]
fn task_without_a_proxy_cannot_call() {
    let forget = |number: u8| {
        move |world: &mut World| {
            let catalog = world.observed.clusters[0].catalog.as_mut().unwrap();
            catalog.instances.retain(|instance| instance.task != id(number));
        }
    };
    let part = "1 of 2 tasks cannot call: task";
    let line = assert_line(NEW, Place::SourceTasks, PlaceVerdict::Possible, part, forget(1));
    assert_eq!(line.commands, [format!("ecs-mesh why {}", id(1))]);
    assert_line(NEW, Place::SourceTasks, PlaceVerdict::Fault, "2 of 2 tasks cannot call", |world| {
        forget(1)(world);
        forget(2)(world);
    });
    // From the task that has one
    assert_line(NEW, Place::SourceTasks, PlaceVerdict::Ok, "1 task, registered", |world| {
        forget(1)(world);
        world.from_task = Some(id(2));
    });
    assert_line(NEW, Place::SourceTasks, PlaceVerdict::Fault, "no task", |world| world.from_task = Some(id(7)));
}

#[test]
fn disconnected_host_of_every_task_is_a_fault_and_a_failing_check_is_none() {
    assert_line(NEW, Place::SourceTasks, PlaceVerdict::Fault, "ECS has had no contact with the agent", |world| {
        for task in &mut world.observed.clusters[0].tasks {
            described(task).placement.is_disconnected = true;
        }
    });
    // A check of its own keeps only requests to it away
    assert_line(NEW, Place::SourceTasks, PlaceVerdict::Ok, "2 tasks, registered", |world| {
        for check in &mut world.observed.clusters[0].catalog.as_mut().unwrap().checks {
            check.status = CheckStatus::Critical;
        }
    });
}

#[test]
fn stopped_proxy_of_every_task_is_a_fault_and_a_drain_is_none() {
    assert_line(NEW, Place::SourceTasks, PlaceVerdict::Fault, "2 of 2 tasks cannot call", |world| {
        for task in &mut world.observed.clusters[0].tasks {
            let proxy = described(task).containers.iter_mut().find(|container| container.name == DATAPLANE).unwrap();
            (proxy.is_stopped, proxy.exit_code) = (true, Some(1));
        }
    });
    // Without its health-sync, nothing reports its health, and its proxy goes on
    assert_line(NEW, Place::SourceTasks, PlaceVerdict::Ok, "2 tasks, registered", |world| {
        for task in &mut world.observed.clusters[0].tasks {
            revision(task).programs.health_sync = Some("consul-ecs-health-sync".to_owned());
            described(task).containers.push(exited("consul-ecs-health-sync", 1));
        }
    });
    // A drain keeps requests to it away, and stops none of its own
    assert_line(NEW, Place::SourceTasks, PlaceVerdict::Ok, "2 tasks, registered", |world| {
        for task in &mut world.observed.clusters[0].tasks {
            described(task).phase = TaskPhase::Stopping;
        }
    });
}

#[test]
fn service_outside_of_ecs_is_told_by_its_proxies_and_one_that_is_nowhere_is_a_fault() {
    let elsewhere = |world: &mut World| world.observed.clusters[0].tasks.clear();
    assert_line(NEW, Place::SourceTasks, PlaceVerdict::Ok, "2 proxies in Consul", elsewhere);
    assert_line(NEW, Place::SourceTasks, PlaceVerdict::Unknown, "not everything could be read", |world| {
        elsewhere(world);
        world.observed.problems.push(refused());
    });
    let nowhere = |world: &mut World| {
        elsewhere(world);
        world.source.proxies = Ok(Vec::new());
    };
    assert_line(
        NEW,
        Place::SourceTasks,
        PlaceVerdict::Fault,
        "no task of service web runs, and Consul has no proxy",
        nowhere,
    );
    assert_line(NEW, Place::SourceTasks, PlaceVerdict::Unknown, "not everything could be read", |world| {
        nowhere(world);
        world.observed.problems.push(refused());
    });
}

#[test]
fn no_proxy_that_passes_is_a_fault_and_one_is_enough() {
    for version in BOTH {
        let mut critical = proxies(version, "all proxies of api");
        critical.truncate(1);
        assert!(!critical[0].is_passing(), "{critical:?}");
        let with = |proxies: Vec<ConnectProxy>| {
            move |world: &mut World| world.destination.proxies.values_mut().for_each(|it| *it = Ok(proxies.clone()))
        };
        let part = "no proxy of api passes: api-sidecar-proxy-2 (c)";
        let line = assert_line(version, Place::DestinationTasks, PlaceVerdict::Fault, part, with(critical.clone()));
        assert_eq!(line.commands, ["ecs-mesh why api"]);
        let passing = proxies(version, "nothing configured, default deny: healthy proxies");
        let both = [passing, critical].concat();
        let part = "1 of 2 proxies of api pass";
        assert_line(version, Place::DestinationTasks, PlaceVerdict::Ok, part, with(both));
    }
}

#[test]
fn tasks_that_are_not_registered_are_named() {
    let part = "ECS runs web, and Consul has no proxy of it; task";
    let to_itself = |world: &mut World| {
        let mut own = chain(NEW, "nothing configured, default deny");
        own.targets.values_mut().for_each(|target| target.service = "web".to_owned());
        world.chained(own, &["api"]);
    };
    assert_line(NEW, Place::DestinationTasks, PlaceVerdict::Fault, part, |world| {
        to_itself(world);
        world.observed.clusters[0].catalog.as_mut().unwrap().instances.clear();
    });
}

#[test]
fn proxy_at_a_loopback_address_takes_no_request() {
    let at = |address: &'static str| {
        move |world: &mut World| {
            let proxies = world.destination.proxies.values_mut().flatten().flatten();
            proxies.for_each(|proxy| proxy.address = address.to_owned());
        }
    };
    assert_line(NEW, Place::DestinationTasks, PlaceVerdict::Fault, "at a loopback address", at("127.0.0.1"));
    assert_line(NEW, Place::DestinationTasks, PlaceVerdict::Ok, "1 of 1 proxy", at("10.0.0.7"));
}

/// The service web, which has tasks, is called: by the proxy of its first task.
pub(super) fn to_web(world: &mut World) {
    let mut own = chain(NEW, "nothing configured, default deny");
    own.targets.values_mut().for_each(|target| target.service = "web".to_owned());
    world.chained(own, &[]);
    let proxies = world.destination.proxies.values_mut().flatten().flatten();
    proxies.for_each(|proxy| proxy.task = Some(id(1)));
}

#[test]
fn proxies_without_a_running_task_and_tasks_without_a_proxy_are_possible() {
    assert_line(NEW, Place::DestinationTasks, PlaceVerdict::Ok, "1 of 1 proxy", to_web);
    // The proxy of a task that ECS no longer knows
    let part = format!("ECS does not run the tasks of 1 proxy, such as {} at 10.0.0.99", id(9));
    let line = assert_line(NEW, Place::DestinationTasks, PlaceVerdict::Possible, &part, |world| {
        to_web(world);
        register(world.observed.clusters[0].catalog.as_mut().unwrap(), 9, CheckStatus::Passing);
        for proxies in world.destination.proxies.values_mut().flatten() {
            let address = "10.0.0.99".to_owned();
            proxies.push(ConnectProxy { task: Some(id(9)), address, ..proxies[0].clone() });
        }
    });
    assert_eq!(line.commands, [format!("ecs-mesh why {}", id(9))]);
    // A running task that Consul has lost
    let part = format!("1 of 1 proxy of web passing, but task {} is not registered", id(2));
    assert_line(NEW, Place::DestinationTasks, PlaceVerdict::Possible, &part, |world| {
        to_web(world);
        let catalog = world.observed.clusters[0].catalog.as_mut().unwrap();
        catalog.instances.retain(|instance| instance.task != id(2));
    });
}

#[test]
fn app_that_fails_behind_a_proxy_that_passes_is_possible() {
    assert_line(NEW, Place::DestinationTasks, PlaceVerdict::Ok, "1 of 1 proxy", to_web);
    let part = "Its proxy reaches the app at 127.0.0.1:9090 alone";
    assert_line(NEW, Place::DestinationTasks, PlaceVerdict::Possible, part, |world| {
        to_web(world);
        let checks = &mut world.observed.clusters[0].catalog.as_mut().unwrap().checks;
        let of_service = checks.iter_mut().filter(|check| check.service_name == "web");
        of_service.for_each(|check| check.status = CheckStatus::Critical);
    });
}

#[test]
fn app_that_is_registered_at_a_port_that_no_container_has_is_possible() {
    let mapped = |ports: &'static [u16]| {
        move |world: &mut World| {
            to_web(world);
            revision(&mut world.observed.clusters[0].tasks[0]).containers[0].ports = ports.to_vec();
        }
    };
    let part = "their app is registered at port 9090, and the containers of web:3 have 8080, 8081";
    let line = assert_line(NEW, Place::DestinationTasks, PlaceVerdict::Possible, part, mapped(&[8080, 8081]));
    assert!(line.change.unwrap().starts_with("Set service.port"));
    // A definition without port mappings says nothing
    for ports in [&[9090, 8080][..], &[]] {
        assert_line(NEW, Place::DestinationTasks, PlaceVerdict::Ok, "1 of 1 proxy", mapped(ports));
    }
}

#[test]
fn terminating_gateway_needs_a_permission_that_its_role_does_not_have_by_itself() {
    let said = |is_gateway: bool| {
        let mut world = World::new(NEW);
        let proxies = world.destination.proxies.values_mut().flatten().flatten();
        proxies.for_each(|proxy| proxy.is_terminating_gateway = is_gateway);
        let lines = world.path().lines.into_iter().filter(|line| line.place == Place::DestinationTasks);
        lines.map(|line| line.what).collect::<Vec<String>>()
    };
    let part = r#"its token needs service "api" { policy = "write" }"#;
    assert!(said(true)[1].ends_with(part), "{:?}", said(true));
    assert_eq!(said(false).len(), 1, "{:?}", said(false));
}

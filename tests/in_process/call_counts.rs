//! The cost model: the number of calls for each kind of event, counted by recorders in front of a real Consul and MiniStack.
//! The table in tests/CALLS.md has the same numbers.

use std::sync::Arc;

use crate::{
    environment::{self, Environment, at, client, sdk_at},
    sweep::swept,
    time::{Fixed, LONG},
};
use ::aws::ecs::AwsEcs;
use jiff::{SignedDuration, Timestamp};
use local_stack::world::{World, cluster_arn, idle_check};
use mesh::tenancy::Tenancy;
use observe::{Deadline, Inspector, SweepOrder};
use serde_json::json;
use test_harness::{
    ecs_agent::{DataplaneService, Release},
    fleet::Fleet,
    recorder::{Answer, Recorder},
};

fn none() -> Vec<String> {
    Vec::new()
}

#[tokio::test]
async fn a_task_outside_the_mesh_costs_one_call() {
    let world = World::without_deployment("cost-plain").await;
    let definition = world.definition("cost-plain-app", &json!([]), None).await;
    let task = world.run(&definition).await;
    let event = world.event(&task).await;
    let environment = Environment::start(&world, "auto").await;
    assert_eq!(
        environment.calls_for(std::slice::from_ref(&event)).await,
        (vec!["DescribeTaskDefinition".to_owned()], none())
    );
    assert_eq!(environment.calls_for(&[event]).await, (none(), none()));
}

#[tokio::test]
async fn a_task_that_logs_in_costs_no_secret_and_no_token() {
    let world = World::without_deployment("cost-login").await;
    world.create_node().await;
    let definition = world.dataplane_definition(&world.service()).await;
    let (task, next) = (world.run(&definition).await, world.run(&definition).await);
    let environment = Environment::start(&world, "auto").await;
    let (aws, consul) = environment.calls_for(&[world.event(&task).await]).await;
    // Without the cluster's node no task can register its service; it is not read again for a minute
    assert_eq!((aws, consul), (vec!["DescribeTaskDefinition".to_owned()], vec!["GET catalog/nodes".to_owned()]));
    assert_eq!(environment.calls_for(&[world.event(&next).await]).await, (none(), none()));
    // And its end requests no idle check
    world.stop(&task).await;
    let (aws, consul) = environment.calls_for(&[world.event(&task).await]).await;
    assert_eq!((aws, consul), (none(), vec!["GET acl/tokens".to_owned(), "GET catalog/node-services".to_owned()]));
}

#[tokio::test]
async fn an_event_of_another_cluster_costs_nothing() {
    let world = World::without_deployment("cost-foreign").await;
    let environment = Environment::start(&world, "auto").await;
    let foreign = include_str!("../../events/task-in-another-account.json");
    assert_eq!(environment.calls_for(&[serde_json::from_str(foreign).unwrap()]).await, (none(), none()));
}

#[tokio::test]
async fn known_tokens_make_starts_cheaper() {
    let world = World::without_deployment("cost-start").await;
    world.create_node().await;
    let definition = world.mesh_definition("cost-start-web").await;
    let second = world.mesh_definition("cost-start-api").await;
    let (task, other) = (world.run(&definition).await, world.run(&second).await);
    let (event, other_event) = (world.event(&task).await, world.event(&other).await);
    let environment = Environment::start(&world, "auto").await;

    // Nothing exists: the service's and the client agents' tokens are created
    let (aws, consul) = environment.calls_for(std::slice::from_ref(&event)).await;
    assert_eq!(
        aws,
        ["CreateSecret", "CreateSecret", "DescribeTaskDefinition", "GetSecretValue", "GetSecretValue", "PutEvents"]
    );
    assert_eq!(consul, ["GET catalog/nodes", "PUT acl/policy", "PUT acl/token", "PUT acl/token"]);

    // The service has no token: two AWS calls, one more for the new definition, and one Consul call
    let (aws, consul) = environment.calls_for(&[other_event]).await;
    assert_eq!(aws, ["CreateSecret", "DescribeTaskDefinition", "GetSecretValue", "PutEvents"]);
    assert_eq!(consul, ["PUT acl/token"]);

    // The environment has the token in its cache: no calls
    let next = world.run(&definition).await;
    assert_eq!(environment.calls_for(&[world.event(&next).await]).await, (none(), none()));

    // A cold environment: one AWS and one Consul call for each of the two tokens, and one for the definition
    let cold = Environment::start(&world, "auto").await;
    let (aws, consul) = cold.calls_for(&[event]).await;
    assert_eq!(aws, ["DescribeTaskDefinition", "GetSecretValue", "GetSecretValue"]);
    assert_eq!(consul, ["GET acl/token", "GET acl/token", "GET catalog/nodes"]);
}

#[tokio::test]
async fn a_first_start_with_another_spelling_costs_two_lists_more() {
    let world = World::without_deployment("cost-spelling").await;
    world.create_node().await;
    let (service, spelled) = (world.service(), world.service().to_ascii_uppercase());
    let read = [("CONSUL_HTTP_TOKEN", spelled.as_str())];
    let definition = world.definition_reading(&service, &local_stack::world::mesh_tags(&service), None, &read).await;
    let event = world.event(&world.run(&definition).await).await;
    let environment = Environment::start(&world, "auto").await;
    let (aws, consul) = environment.calls_for(std::slice::from_ref(&event)).await;
    assert_eq!(aws, ["CreateSecret", "DescribeTaskDefinition", "GetSecretValue", "PutEvents"]);
    assert_eq!(consul, ["GET acl/tokens", "GET acl/tokens", "GET catalog/nodes", "PUT acl/token"]);
    let (_, consul) = Environment::start(&world, "auto").await.calls_for(&[event]).await;
    assert_eq!(consul, ["GET acl/token", "GET catalog/nodes"], "an existing token is not looked for again");
}

#[tokio::test]
async fn a_dry_run_costs_what_a_sweep_that_finds_nothing_costs() {
    let world = World::without_deployment("cost-dry").await;
    world.create_node().await;
    let definition = world.mesh_definition("cost-dry-web").await;
    let task = world.run(&definition).await;
    let settings = [("TOKEN_MODE", "auto"), ("BOOTSTRAP", "none")];
    let environment = Environment::scripted(&world, &settings, |_, _| Answer::Forward).await;
    environment.handle(&[world.event(&task).await]).await;
    let dry_run = SweepOrder { dry_run: true, ..SweepOrder::default() };
    for order in [dry_run, SweepOrder::default()] {
        let (report, (aws, consul)) = environment.calls_of(swept(&environment, &order)).await;
        assert!(report.problems.is_empty() && report.clusters[0].planned.is_empty(), "{report:?}");
        // The two tokens, of the service and of the client agents, are read: a plan does not list what exists
        assert_eq!(
            aws,
            ["DescribeClusters", "DescribeTasks", "GetSecretValue", "GetSecretValue", "ListTasks", "ListTasks"]
        );
        let lists = ["GET acl/tokens", "GET agent/members", "GET catalog/node-services", "GET health/node"];
        assert_eq!(consul, ["GET acl/token"; 2].into_iter().chain(lists).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_lost_token_costs_two_writes() {
    let world = World::without_deployment("cost-lost").await;
    let definition = world.mesh_definition("cost-lost-web").await;
    let task = world.run(&definition).await;
    let event = world.event(&task).await;
    Environment::start(&world, "auto").await.calls_for(std::slice::from_ref(&event)).await;
    let pair = world.provisioned(&world.secret_name("cost-lost-web")).await;
    // Given a pair in the secret that Consul does not hold
    world.consul.delete(&format!("/v1/acl/token/{}", pair.accessor_id)).await;
    let cold = Environment::start(&world, "auto").await;
    let (aws, consul) = cold.calls_for(&[event]).await;
    assert_eq!(aws, ["DescribeTaskDefinition", "GetSecretValue", "GetSecretValue", "PutEvents", "PutSecretValue"]);
    // Reads of the client agents' token, of this one, and of the controller's: absence requires a valid credential
    assert_eq!(consul, ["GET acl/token", "GET acl/token", "GET acl/token", "GET catalog/nodes", "PUT acl/token"]);
    assert_eq!(world.provisioned(&world.secret_name("cost-lost-web")).await, pair);
}

#[tokio::test]
async fn an_old_event_costs_one_more_call() {
    let world = World::without_deployment("cost-old").await;
    let definition = world.mesh_definition("cost-old-web").await;
    let task = world.run(&definition).await;
    let environment = Environment::start(&world, "auto").await;
    environment.calls_for(&[world.event(&task).await]).await;
    // Given a service with an empty secret, and an event from an hour ago
    world.put_secret("cost-old-cost-old-api", &json!({})).await;
    let second = world.mesh_definition("cost-old-api").await;
    let other = world.run(&second).await;
    let mut event = world.event(&other).await;
    event["time"] = json!((jiff::Timestamp::now() - jiff::SignedDuration::from_hours(1)).to_string());
    let cold = Environment::start(&world, "auto").await;
    let (aws, consul) = cold.calls_for(&[event]).await;
    assert_eq!(
        aws,
        ["DescribeTaskDefinition", "DescribeTasks", "GetSecretValue", "GetSecretValue", "PutEvents", "PutSecretValue"]
    );
    assert_eq!(consul, ["GET acl/token", "PUT acl/token"]);
}

#[tokio::test]
async fn a_batch_of_stopped_tasks_shares_its_reads() {
    let mut fleet = Fleet::of(World::without_deployment("cost-stop").await, "auth-method").await;
    fleet.add_services(1).await;
    let environment = Environment::start(&fleet.world, "auth-method").await;
    fleet.start(0, 3).await;
    fleet.logs_in = false;
    let started = fleet.start(0, 37).await;
    let mut events = Vec::new();
    for task in 0..40 {
        let [_, stopped] = fleet.stop(task).await;
        events.push(stopped);
    }
    // Given a task definition in the cache
    environment.calls_for(&started[..1]).await;
    // When 40 tasks with 80 instances and 3 login tokens stop: no AWS call, one list, one read, ⌈80/64⌉ transactions
    let (aws, consul) = environment.calls_for(&events).await;
    assert_eq!(aws, none());
    assert_eq!(
        consul,
        [
            "DELETE acl/token",
            "DELETE acl/token",
            "DELETE acl/token",
            "GET acl/tokens",
            "GET catalog/node-services",
            "PUT txn",
            "PUT txn",
        ]
    );
    // And a replay changes nothing
    let (aws, consul) = environment.calls_for(&events).await;
    assert_eq!((aws, consul), (none(), vec!["GET acl/tokens".to_owned(), "GET catalog/node-services".to_owned()]));
}

#[tokio::test]
async fn a_stopping_task_costs_three_calls() {
    let world = World::without_deployment("cost-drain").await;
    let definition = world.mesh_definition("cost-drain-web").await;
    let task = world.run(&definition).await;
    world.register_instance("cost-drain-web", &task).await;
    let environment = Environment::start(&world, "auth-method").await;
    environment.calls_for(&[world.event(&task).await]).await;
    let event = world.event_as(&task, "RUNNING", "STOPPED", 9).await;
    let (aws, consul) = environment.calls_for(&[event]).await;
    assert_eq!(aws, none());
    assert_eq!(consul, ["GET catalog/node-services", "GET health/node", "PUT catalog/register"]);
}

#[tokio::test]
async fn the_last_stop_schedules_an_idle_check() {
    let world = World::without_deployment("cost-revoke").await;
    let definition = world.mesh_definition("cost-revoke-web").await;
    let task = world.run(&definition).await;
    let environment = Environment::start(&world, "auto").await;
    environment.calls_for(&[world.event(&task).await]).await;
    world.stop(&task).await;
    let (aws, consul) = environment.calls_for(&[world.event(&task).await]).await;
    assert_eq!(aws, ["SendMessageBatch"]);
    assert_eq!(consul, ["GET acl/tokens", "GET catalog/node-services"]);

    // Before the end of the grace period, the idle check only lists tasks
    let listing = ["DescribeTasks", "ListTasks", "ListTasks"];
    let (aws, consul) = environment.calls_for(&[idle_check("cost-revoke-web")]).await;
    assert_eq!((aws, consul), (listing.map(str::to_owned).to_vec(), none()));
}

#[tokio::test]
async fn many_stops_share_one_idle_check() {
    let world = World::without_deployment("cost-looks").await;
    let definition = world.mesh_definition("cost-looks-web").await;
    let other = world.mesh_definition("cost-looks-api").await;
    let environment = Environment::start(&world, "auto").await;
    let mut events = Vec::new();
    for definition in [&definition, &definition, &other] {
        let task = world.run(definition).await;
        environment.calls_for(&[world.event(&task).await]).await;
        world.stop(&task).await;
        events.push(world.event(&task).await);
    }
    // Each idle check lists every task: a deployment of thousands must not schedule thousands of checks
    for (event, asked) in events.iter().zip([1, 0, 1]) {
        let (aws, _) = environment.calls_for(std::slice::from_ref(event)).await;
        assert_eq!(aws, vec!["SendMessageBatch"; asked]);
    }
    // And without a grace period, every stop schedules a check
    let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
    let settings = [("REVOCATION_GRACE_SECONDS", "0")];
    let environment = Environment::with(&world, consul, &settings, |edges| edges).await;
    for event in &events[..2] {
        let (aws, _) = environment.calls_for(std::slice::from_ref(event)).await;
        assert!(aws.contains(&"SendMessageBatch".to_owned()), "{aws:?}");
    }
}

/// An environment without a grace period, `hours` later.
async fn hours_later(world: &World<'_>, hours: i64) -> Environment {
    let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
    let clock = Arc::new(Fixed(Timestamp::now() + SignedDuration::from_hours(hours)));
    Environment::with(world, consul, &[("REVOCATION_GRACE_SECONDS", "0")], |edges| at(clock, edges)).await
}

#[tokio::test]
async fn a_revocation_costs_two_idle_checks() {
    let world = World::without_deployment("cost-gone").await;
    let definition = world.mesh_definition("cost-gone-web").await;
    let task = world.run(&definition).await;
    Environment::start(&world, "auto").await.calls_for(&[world.event(&task).await]).await;
    world.stop(&task).await;
    let listing = ["DescribeTaskDefinition", "DescribeTasks", "GetSecretValue", "ListTasks", "ListTasks"];
    // The idle check that hides the token schedules the one that deletes it
    let (aws, consul) = hours_later(&world, 1).await.calls_for(&[idle_check("cost-gone-web")]).await;
    assert_eq!(aws, [&listing[..], &["PutSecretValue", "SendMessageBatch"]].concat());
    assert_eq!(consul, ["GET acl/token"]);
    let (aws, consul) = hours_later(&world, 2).await.calls_for(&[idle_check("cost-gone-web")]).await;
    assert_eq!(aws, [&listing[..], &["PutEvents", "PutSecretValue"]].concat());
    assert_eq!(consul, ["DELETE acl/token"]);
    // An idle check of a service without a token
    let (aws, consul) = hours_later(&world, 2).await.calls_for(&[idle_check("cost-gone-web")]).await;
    assert_eq!((aws, consul), (listing.map(str::to_owned).to_vec(), none()));
}

#[tokio::test]
async fn an_old_version_of_a_secret_is_renewed() {
    let world = World::without_deployment("cost-anew").await;
    let definition = world.mesh_definition("cost-anew-web").await;
    let task = world.run(&definition).await;
    let event = world.event(&task).await;
    Environment::start(&world, "auto").await.calls_for(std::slice::from_ref(&event)).await;
    // When the version may be hidden soon: one more call for each of the two tokens, and then none
    let later = hours_later(&world, 1).await;
    let (aws, consul) = later.calls_for(std::slice::from_ref(&event)).await;
    let writes = aws.iter().filter(|call| *call == "PutSecretValue").count();
    assert_eq!((writes, consul), (2, vec!["GET acl/token".to_owned(); 2]), "{aws:?}");
    assert_eq!(later.calls_for(&[event]).await, (none(), none()));
}

#[tokio::test]
async fn a_task_with_an_agent_costs_one_more() {
    let world = World::without_deployment("cost-agent").await;
    let agent = json!({ "name": "consul-client", "image": "hashicorp/consul:1.8", "essential": false });
    let task = world.run(&world.definition_with("cost-agent-web", &[agent]).await).await;
    let environment = Environment::start(&world, "auth-method").await;
    environment.calls_for(&[world.event(&task).await]).await;
    world.stop(&task).await;
    // Its agent has left: the catalog has nothing of it
    let (aws, consul) = environment.calls_for(&[world.event(&task).await]).await;
    assert_eq!(aws, none());
    assert_eq!(consul, ["GET acl/tokens", "GET catalog/node-services", "GET catalog/service"]);
}

#[tokio::test]
async fn a_repaired_task_costs_two_writes_and_a_repair_three_reads_of_ecs() {
    let world = World::without_deployment("cost-repair").await;
    let service = DataplaneService::of(&world, Release::V0_10);
    let tasks = service.create_ecs_service(&world, 12, &json!([])).await;
    for task in &tasks {
        task.settle().await;
    }
    let settings = [("TOKEN_MODE", "auth-method"), ("BOOTSTRAP", "none"), ("TIME_BOUNDS", "health-lag=0")];
    let environment = Environment::scripted(&world, &settings, |_, _| Answer::Forward).await;
    swept(&environment, &SweepOrder::default()).await;
    for lost in [1, 11] {
        // Given a Consul that has lost some of the tasks
        for task in &tasks[..lost] {
            task.forget().await;
        }
        // When a sweep repairs them
        let (report, (aws, consul)) = environment.calls_of(swept(&environment, &SweepOrder::default())).await;
        assert_eq!((report.outcome.as_str(), report.clusters[0].repaired), ("done", lost), "{report:?}");
        // Then the tasks are described before and after the writes, and for the recheck; their definitions and ECS services
        // before the writes, for their tags; then the events are published
        let described = ["DescribeServices", "DescribeTaskDefinition"].into_iter().chain(["DescribeTasks"; 4]);
        let expected = ["DescribeClusters"].into_iter().chain(described).chain(["ListTasks"; 2]);
        assert_eq!(aws, expected.chain(vec!["PutEvents"; lost.div_ceil(10)]).collect::<Vec<_>>());
        // Each costs one write for its service and one for its sidecar proxy, and all of them together the datacenter, in which the
        // grants of login tokens have to be valid, and two more reads of the checks
        let reads = ["GET acl/tokens", "GET agent/members", "GET agent/self", "GET catalog/node-services"];
        let reads = reads.into_iter().chain(["GET health/node"; 3]);
        assert_eq!(consul, reads.chain(vec!["PUT catalog/register"; 2 * lost]).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_host_without_contact_costs_one_call_if_it_runs_and_a_drain_if_it_is_gone() {
    let world = World::without_deployment("cost-host").await;
    let service = DataplaneService::of(&world, Release::V0_10);
    let tasks = service.create_ecs_service(&world, 2, &json!([])).await;
    for task in &tasks {
        task.settle().await;
    }
    let lost = json!({ "cluster": world.name, "task": tasks[0].arn, "connectivity": "DISCONNECTED" });
    world.ecs_call("SubmitTaskStateChange", &lost).await;
    let container_instance = world.cluster().replace(":cluster/", ":container-instance/") + "/0123";
    let mut event: serde_json::Value =
        serde_json::from_str(include_str!("../../events/host-disconnected.json")).unwrap();
    event["detail"]["clusterArn"] = json!(world.cluster());
    event["detail"]["containerInstanceArn"] = json!(container_instance);
    let id = event["detail"]["ec2InstanceId"].as_str().unwrap().to_owned();
    for state in ["running", "terminated"] {
        // Given an EC2 that knows the state of the host, on which the first task runs
        let (id, on_it) = (id.clone(), json!({ "taskArns": [tasks[0].arn] }).to_string());
        let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
        let aws = crate::environment::aws(move |seen, _| match seen.operation().as_deref() {
            Some("DescribeInstances") => Answer::ok(crate::ec2_client::described(&[(&id, state)])),
            Some("ListTasks") => Answer::ok(on_it.clone()),
            _ => Answer::Forward,
        })
        .await;
        let environment = Environment::between(&world, consul, aws, &[("BOOTSTRAP", "none")], |edges| edges).await;
        let (aws, consul) = environment.calls_for(std::slice::from_ref(&event)).await;
        if state == "running" {
            assert_eq!((aws, consul), (vec!["DescribeInstances".to_owned()], none()));
            continue;
        }
        let described = ["DescribeInstances", "DescribeTaskDefinition", "DescribeTasks", "ListTasks", "PutEvents"];
        assert_eq!(aws, described);
        let reads = ["GET catalog/node-services", "GET health/node", "GET health/node"];
        assert_eq!(consul, [&reads[..], &["PUT catalog/register"]].concat());
        let drains = async |task: usize| tasks[task].statuses().await.keys().filter(|id| id.starts_with('_')).count();
        assert_eq!((drains(0).await, drains(1).await), (2, 0));
    }
}

#[tokio::test]
async fn what_doctor_reads_of_the_sidecar_proxies_costs_two_reads_for_each_cluster() {
    // Given a sidecar proxy with one more check, of another program
    let world = World::without_deployment("cost-sidecars").await;
    let task = world.run(&world.dataplane_definition(&world.service()).await).await;
    world.register_instance(&world.service(), &task).await;
    let ids = world.service_ids().await;
    let sidecar = ids.iter().find(|id| id.ends_with("-sidecar-proxy")).unwrap();
    let esm = json!({
        "CheckID": "esm", "Name": "external", "Status": "passing", "ServiceID": sidecar,
        "Definition": { "TCP": "10.0.0.1:20000", "Interval": "10s" },
    });
    world.register_raw(&json!({ "Check": esm })).await;
    let (aws, consul) = (
        environment::aws(|_, _| Answer::Forward).await,
        Recorder::before(&world.consul.address, |_, _| Answer::Forward).await,
    );
    let (ecs, client) = (AwsEcs::new(&sdk_at(&aws.url)), client(&consul.url, &world.consul.management_token));
    let inspector = Inspector {
        ecs: &ecs,
        consul: &client,
        secret_prefix: "cost-sidecars".parse().unwrap(),
        default_tenancy: Tenancy::Community,
        deadline: Deadline::after(LONG),
    };
    let cluster = cluster_arn("cost-sidecars").parse().unwrap();
    let mut clusters = inspector.inspect_ecs(&[cluster], &|_| {}).await.clusters;
    assert_eq!(consul.lines(), [""; 0]);
    // When Consul is asked too
    inspector.add_catalogs(&mut clusters).await.unwrap();
    // Then the check is read
    let checks = &clusters[0].catalog.as_ref().unwrap().checks;
    assert!(checks.iter().any(|check| check.id == "esm" && check.service_id == *sidecar), "{checks:?}");
    let paths: Vec<String> = consul.lines().iter().map(|line| line.split("/arn").next().unwrap().to_owned()).collect();
    assert_eq!(paths, ["POST /v1/internal/acl/authorize", "GET /v1/catalog/node-services", "GET /v1/health/node"]);
}

#[tokio::test]
async fn outlier_detection_that_tasks_bring_costs_one_read_for_its_service() {
    // Given two tasks of a service that bring outlier detection, and one of another service that does not
    let world = World::without_deployment("cost-outliers").await;
    let mut service = DataplaneService::of(&world, Release::V0_10);
    let resilience = json!({ "enabled": true, "outlierDetection": { "maxFailures": 5 } });
    service.config["service"]["networkResilienceConfig"] = resilience;
    service.run(&world).await;
    service.run(&world).await;
    DataplaneService::named("cost-outliers-other", Release::V0_10).run(&world).await;
    let aws = environment::aws(|_, _| Answer::Forward).await;
    let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
    let (ecs, client) = (AwsEcs::new(&sdk_at(&aws.url)), client(&consul.url, &world.consul.management_token));
    let inspector = Inspector {
        ecs: &ecs,
        consul: &client,
        secret_prefix: "cost-outliers".parse().unwrap(),
        default_tenancy: Tenancy::Community,
        deadline: Deadline::after(LONG),
    };
    let cluster = cluster_arn("cost-outliers").parse().unwrap();
    // When status, why or compare reads the cluster
    let (inspection, _) = inspector.inspect(&[cluster], &|_| {}).await;
    let entries = |consul: &Recorder| -> Vec<String> {
        consul.lines().into_iter().filter(|line| line.starts_with("GET /v1/config/")).collect()
    };
    assert_eq!(entries(&consul), [format!("GET /v1/config/service-defaults/{}", world.service())]);
    let read: Vec<_> = inspection.clusters[0].outlier_detection.values().collect();
    assert!(matches!(read.as_slice(), [Ok(None)]), "{read:?}");
    // And doctor reads the config entry mesh with one request, which a Consul before 1.9 refuses because it has none
    consul.forget();
    assert_eq!(inspector.mesh_entry().await.unwrap(), None);
    assert_eq!(entries(&consul), ["GET /v1/config/mesh/mesh"]);
}

//! Services, checks, nodes and agents: simulated Consul against a real one.

use consul::ConsulError;
use controller::Edges;
use mesh::arn::{ClusterArn, TaskArn, TaskId};
use mesh::catalog::{CheckStatus, DrainReason, HealthCheck, ServiceInstance};
use mesh::tenancy::Tenancy;
use serde_json::json;

use super::{Exchange, assert_same, real};
use crate::{calls::CallOutcome, dialect::Dialect, direct::Direct};
use local_stack::world::World;

const HOME: Tenancy = Tenancy::Community;
const SERVICE: &str = "service-0";
/// The first of the simulated tasks.
const TASK: &str = "00000000000000000000000000000000";

fn task() -> TaskId {
    TASK.parse().unwrap()
}

/// All fields of a service that the controller reads.
fn seen(instance: &ServiceInstance, cluster: &ClusterArn) -> String {
    let on_it = instance.node == cluster.as_str();
    let of_cluster = instance.task_arn.as_ref().is_some_and(|arn| arn.is_in(cluster));
    let ServiceInstance { id, name, task, tenancy, .. } = instance;
    format!("{id} {name} {task} {tenancy:?} {on_it} {of_cluster} {}", instance.modify_index > 0)
}

fn all_seen(instances: &[ServiceInstance], cluster: &ClusterArn) -> Vec<String> {
    let mut lines: Vec<String> = instances.iter().map(|instance| seen(instance, cluster)).collect();
    lines.sort();
    lines
}

fn checks_seen(checks: &[HealthCheck]) -> Vec<String> {
    // Consul's own check of a node that runs an agent belongs to no service.
    let of_services = checks.iter().filter(|check| !check.service_id.is_empty());
    let line = |c: &HealthCheck| {
        format!("{} {} {} {} {:?} {}", c.id, c.kind, c.service_id, c.service_name, c.status, c.output)
    };
    let mut lines: Vec<String> = of_services.map(line).collect();
    lines.sort();
    lines
}

async fn node(edges: &Edges, name: &str, cluster: &ClusterArn) -> Result<Option<String>, ConsulError> {
    let node = edges.reads.consul.node(name, &HOME).await?;
    Ok(node.map(|node| format!("{} {:?} {:?}", node.is_synthetic, all_seen(&node.instances, cluster), node.others)))
}

/// Reads and changes of a cluster's node with one task's service, its sidecar proxy, their checks, and another owner's service.
async fn exchange(edges: &Edges, cluster: &ClusterArn) -> Exchange {
    let (reads, writes) = (&edges.reads.consul, &edges.writes.consul);
    let (mut all, name) = (Exchange::default(), cluster.as_str());
    let unknown: TaskId = "ffffffffffffffffffffffffffffffff".parse().unwrap();
    all.note("node that is not there", node(edges, "nowhere", cluster).await);
    all.note("node", node(edges, name, cluster).await);
    let is_its_node = |names: Vec<String>| names.iter().any(|node| node == name);
    all.note("is a synthetic node", reads.synthetic_nodes(&HOME).await.map(is_its_node));
    let asked = [unknown.clone(), task()];
    let found = reads.instances(cluster, &HOME, &asked).await.unwrap().unwrap();
    all.note("instances", Ok::<_, ConsulError>(all_seen(&found, cluster)));
    all.note("of an unknown task", reads.instances(cluster, &HOME, std::slice::from_ref(&unknown)).await);
    all.note("of no task", reads.instances(cluster, &HOME, &[]).await);
    let service = SERVICE.parse().unwrap();
    let of_service = reads.instances_of(&service, &HOME, &[task()]).await.map(|all| all_seen(&all, cluster));
    all.note("of the service", of_service);
    all.note("of the service, of an unknown task", reads.instances_of(&service, &HOME, &[unknown]).await);
    let checks = reads.checks(cluster, &HOME, &asked).await.unwrap();
    all.note("checks", Ok::<_, ConsulError>(checks_seen(&checks)));
    all.note("checks of nothing", reads.checks(cluster, &HOME, &[]).await);
    all.note("checks of the node", reads.node_checks(name, &HOME).await.map(|checks| checks_seen(&checks)));
    all.note("checks of no node", reads.node_checks("nowhere", &HOME).await);

    let critical: Vec<HealthCheck> =
        checks.iter().map(|c| HealthCheck { status: CheckStatus::Critical, ..c.clone() }).collect();
    all.note("set checks to critical", writes.set_checks(&critical).await);
    all.note("critical checks", reads.node_checks(name, &HOME).await.map(|checks| checks_seen(&checks)));
    // New checks
    let drain = |instance: &ServiceInstance| HealthCheck::maintenance(instance, DrainReason::Stopping);
    let mut drains: Vec<HealthCheck> = found.iter().map(drain).collect();
    all.note("drain", writes.set_checks(&drains).await);
    all.note("drain again", writes.set_checks(&drains).await);
    // A drain because of a gone host is another check, and ends
    let of_host = |instance: &ServiceInstance| HealthCheck::maintenance(instance, DrainReason::HostGone);
    let of_hosts: Vec<HealthCheck> = found.iter().map(of_host).collect();
    all.note("drain because of the host", writes.set_checks(&of_hosts).await);
    let known = reads.node_checks(name, &HOME).await.unwrap();
    let known: Vec<HealthCheck> = known.into_iter().filter(HealthCheck::drains_for_gone_host).collect();
    let stale = HealthCheck { modify_index: known[0].modify_index + 1_000, ..known[0].clone() };
    all.note("one of two drains has changed", writes.deregister_checks(&[known[1].clone(), stale]).await);
    all.note("no drain has ended", reads.checks(cluster, &HOME, &asked).await.map(|checks| checks_seen(&checks)));
    all.note("end the drains", writes.deregister_checks(&known).await);
    all.note("ended drains", reads.checks(cluster, &HOME, &asked).await.map(|checks| checks_seen(&checks)));
    all.note("end them again", writes.deregister_checks(&known).await);
    all.note("drain once more", writes.set_checks(&drains).await);
    all.note("recover", writes.set_checks(&checks).await);
    all.note("checks of the drained", reads.checks(cluster, &HOME, &asked).await.map(|checks| checks_seen(&checks)));
    let stray = HealthCheck { service_id: "gone".to_owned(), id: "gone-app".to_owned(), ..critical[0].clone() };
    all.note("check of a service that is gone", writes.set_checks(&[stray]).await);
    "once more".clone_into(&mut drains[0].output);
    drains.push(drain(&ServiceInstance { id: "gone".to_owned(), ..found[0].clone() }));
    all.note("drain one of them that is gone", writes.set_checks(&drains).await);
    all.note("all or nothing", reads.node_checks(name, &HOME).await.map(|checks| checks_seen(&checks)));

    let stale = ServiceInstance { modify_index: found[0].modify_index + 1_000, ..found[0].clone() };
    all.note("one of two has changed", writes.deregister(&[found[1].clone(), stale]).await);
    all.note("nothing was deregistered", node(edges, name, cluster).await);
    let many: Vec<ServiceInstance> =
        (0..200).map(|number| ServiceInstance { id: format!("none-{number}"), ..found[0].clone() }).collect();
    all.note("too many at once", writes.deregister(&many).await);
    all.note("deregister", writes.deregister(&found).await);
    all.note("only the other owner's service is left", node(edges, name, cluster).await);
    all.note("deregister what is gone", writes.deregister(&found).await);
    all.note("deregister node", writes.deregister_node(name, &HOME).await);
    all.note("node that is gone", node(edges, name, cluster).await);
    all.note("instances of a node that is gone", reads.instances(cluster, &HOME, &asked).await);
    all.note("deregister it again", writes.deregister_node(name, &HOME).await);
    all.note("force an unknown agent to leave", writes.force_leave("unknown", &HOME).await);
    let servers = reads
        .members(&HOME)
        .await
        .map(|all| all.iter().any(|member| member.status == mesh::catalog::AgentStatus::Alive));
    all.note("an agent is alive", servers);
    all
}

#[tokio::test]
async fn the_catalog_behaves_as_on_consul() {
    let _turn = super::turn().await;
    // Given a task's services on the synthetic node of a real cluster
    let world = World::without_deployment("conform-catalog").await;
    let cluster: ClusterArn = world.cluster().parse().unwrap();
    let arn = TaskArn::in_cluster(&cluster, &task());
    world.register_instance(SERVICE, arn.as_str()).await;
    world.register_raw(&json!({ "Service": { "ID": "database", "Service": "database" } })).await;
    let real = exchange(&real(&world).await, &cluster).await;
    // And the same services in the simulation
    for simulated in Dialect::ALL.map(Direct::new) {
        let cluster = simulated.with(|world| {
            world.register(0);
            for check in &mut world.consul.checks {
                (check.status, check.output) = (CheckStatus::Passing, String::new());
            }
            let cluster = world.clusters[0].clone();
            world.consul.others.push((cluster.as_str().to_owned(), "database".to_owned()));
            world.ecs.deleted.push((cluster.clone(), 0));
            world.is_cleaned_up = true;
            cluster
        });
        let simulated = simulated.drive(CallOutcome::Served, exchange(&simulated.edges, &cluster));
        assert_same(&simulated, &real);
    }
}

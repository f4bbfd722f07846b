//! Consul loses the node of a cluster: the event that finds it has all tasks of the cluster registered again, without waiting for a
//! scheduled sweep.

use std::time::Duration;

use controller::{Controller, Delivery};
use mesh::{
    scope::{BootstrapExtent, Scope},
    settings::{Mode, RepairMode},
};
use observe::Deadline;
use serde_json::{Value, json};

use super::{Mesh, admission::become_impostor};

impl Mesh {
    /// Consul loses the cluster's node, with all that is on it.
    fn lose_node(&self) {
        self.change(|world| world.consul.remove_node(world.ecs.tasks[0].cluster.as_str()));
    }

    fn has_node(&self) -> bool {
        self.0.with(|world| world.consul.nodes.contains(world.ecs.tasks[0].cluster.as_str()))
    }

    /// How many of the first tasks have checks in Consul.
    fn registered(&self, tasks: usize) -> usize {
        (0..tasks).filter(|task| !self.statuses(*task).is_empty()).count()
    }

    fn told_to_stop(&self, task: usize) -> Value {
        let mut event = self.event(task);
        event["detail"]["desiredStatus"] = json!("STOPPED");
        event
    }

    /// Has a controller, which remembers, handle an event. Returns the orders of sweeps.
    async fn orders_of(&self, controller: &Controller, event: &Value) -> Vec<Value> {
        let batch = [Delivery { id: "1".to_owned(), receipt: None, receives: 1, body: event.to_string() }];
        let work = controller.handle(&batch, Deadline::after(Duration::from_secs(60)));
        let report = self.0.serve(Box::pin(work)).await;
        assert!(report.failures.is_empty() && report.faults.is_empty(), "{report:?}");
        let sent = self.0.with(|world| std::mem::take(&mut world.sqs.messages));
        let sent = sent.iter().map(|message| serde_json::from_str::<Value>(&message.body).expect("JSON"));
        sent.filter(|message| message["detail-type"] == "Cluster Node Lost").collect()
    }
}

/// As a deployment that creates the nodes of clusters.
fn sets_up(scope: &mut Scope) {
    scope.bootstrap.extent = BootstrapExtent::Dataplane;
}

#[tokio::test(start_paused = true)]
async fn the_event_of_a_started_task_has_all_tasks_registered_again() {
    let mesh = Mesh::running(3);
    mesh.lose_node();
    let event = mesh.event(0);
    let controller = mesh.controller(sets_up);
    // The event creates the node, which the new task needs, and orders a sweep
    let orders = mesh.orders_of(&controller, &event).await;
    assert_eq!((mesh.has_node(), mesh.registered(3), orders.len()), (true, 0, 1));
    assert_eq!((mesh.calls("Sqs").len(), mesh.calls("Consul").len()), (1, 3), "see tests/CALLS.md");
    let cluster = mesh.0.with(|world| world.ecs.tasks[0].cluster.to_string());
    assert_eq!(
        orders[0],
        json!({
            "source": "ecs-mesh-controller", "detail-type": "Cluster Node Lost", "detail": { "clusters": [cluster] }
        })
    );
    // Which registers every task, and orders no other
    assert_eq!(mesh.orders_of(&controller, &orders[0]).await, [json!(null); 0]);
    assert_eq!(mesh.registered(3), 3);
    // A sweep that was ordered twice changes nothing
    mesh.orders_of(&controller, &orders[0]).await;
    let writes: Vec<String> = mesh.calls("Consul").into_iter().filter(|call| !call.starts_with("GET ")).collect();
    assert_eq!(
        writes.iter().filter(|call| call.starts_with("PUT register")).count(),
        6,
        "an instance and a proxy each: {writes:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_event_of_a_stopping_task_finds_the_lost_node_too() {
    let mesh = Mesh::running(3);
    mesh.lose_node();
    let told = mesh.told_to_stop(2);
    let controller = mesh.controller(sets_up);
    let orders = mesh.orders_of(&controller, &told).await;
    assert_eq!(orders.len(), 1);
    mesh.orders_of(&controller, &orders[0]).await;
    assert_eq!((mesh.has_node(), mesh.registered(2)), (true, 2));
}

#[tokio::test(start_paused = true)]
async fn an_environment_orders_one_sweep_of_a_cluster_a_minute() {
    let mesh = Mesh::running(2);
    let controller = mesh.controller(sets_up);
    // Given a node that the environment has just seen, that another tool then removes
    let event = mesh.event(0);
    assert!(mesh.orders_of(&controller, &event).await.is_empty());
    mesh.lose_node();
    let event = mesh.event(0);
    assert!(
        mesh.orders_of(&controller, &event).await.is_empty(),
        "the events of a deployment share a read of the node"
    );
    // When Consul answers that it does not exist
    let told = mesh.told_to_stop(1);
    assert_eq!(mesh.orders_of(&controller, &told).await.len(), 1);
    // Then the next event reads it again, and creates it
    let event = mesh.event(0);
    assert_eq!((mesh.orders_of(&controller, &event).await.len(), mesh.has_node()), (0, true));
    // And only after a minute another sweep is ordered
    mesh.lose_node();
    assert!(mesh.orders_of(&controller, &told).await.is_empty());
    mesh.change(|world| world.now += 60_000);
    assert_eq!(mesh.orders_of(&controller, &told).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn no_sweep_is_ordered_that_would_register_nothing() {
    for (mode, repair) in
        [(Mode::Act, RepairMode::Report), (Mode::Act, RepairMode::Off), (Mode::Observe, RepairMode::On)]
    {
        let mesh = Mesh::running(2);
        mesh.lose_node();
        let event = mesh.event(0);
        let controller = mesh.controller(|scope| {
            sets_up(scope);
            (scope.mode, scope.repair) = (mode, repair);
        });
        assert!(mesh.orders_of(&controller, &event).await.is_empty(), "{mode:?} {repair:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_order_that_nobody_sent_registers_no_impostor_and_sweeps_no_foreign_cluster() {
    let mesh = Mesh::running(2);
    let order = |cluster: &str| {
        json!({
            "source": "ecs-mesh-controller", "detail-type": "Cluster Node Lost", "detail": { "clusters": [cluster] }
        })
    };
    let own = mesh.0.with(|world| world.ecs.tasks[0].cluster.to_string());
    let controller = mesh.controller(sets_up);
    mesh.orders_of(&controller, &order(&format!("{own}-of-others"))).await;
    assert_eq!(mesh.calls("Ecs"), [""; 0]);
    // Given a task that Consul has lost, and that nothing proves to be admitted
    become_impostor(&mesh, 1);
    mesh.lose(1);
    mesh.orders_of(&controller, &order(&own)).await;
    assert_eq!((mesh.registered(1), mesh.statuses(1).is_empty()), (1, true));
}

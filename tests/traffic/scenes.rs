//! What happens to a task while requests are sent.

use std::time::{Duration, Instant};

use local_stack::wait::{SOON, eventually};
use serde_json::json;

use crate::{mesh::Mesh, task::Stop};

/// How long a scene is watched.
const WATCHED: Duration = Duration::from_secs(25);
/// How long an app goes on that ends in an orderly way.
const ORDERLY: Duration = Duration::from_secs(5);
/// The head start of an event that comes before SIGTERM.
const AHEAD: Duration = Duration::from_secs(2);

#[derive(Clone, Copy)]
pub(crate) enum Scene {
    AppExits,
    EventFirst,
    AppServes,
    WithoutHealthSync,
    Replaced,
    Killed,
    EnvoyKilled,
    Forgotten,
}

impl Scene {
    pub(crate) const ALL: [Self; 8] = [
        Self::AppExits,
        Self::EventFirst,
        Self::AppServes,
        Self::WithoutHealthSync,
        Self::Replaced,
        Self::Killed,
        Self::EnvoyKilled,
        Self::Forgotten,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AppExits => "a task is stopped, and the app exits at once at SIGTERM",
            Self::EventFirst => "the same, and ECS's event comes 2 s before SIGTERM",
            Self::AppServes => "a task is stopped, and the app serves 5 s more",
            Self::WithoutHealthSync => "a task is stopped whose health-sync is dead",
            Self::Replaced => "three tasks are replaced in turn, the app exits at once",
            Self::Killed => "a whole task is killed",
            Self::EnvoyKilled => "Envoy of a task is killed",
            Self::Forgotten => "Consul forgets a task",
        }
    }

    /// Plays it with requests, and restores the mesh. The result is a cell of the table.
    pub(crate) async fn play(self, mesh: &mut Mesh) -> String {
        let load = mesh.load().await;
        let start = Instant::now();
        let note = self.happen(mesh).await;
        tokio::time::sleep(WATCHED.saturating_sub(start.elapsed())).await;
        let lost = load.end(start).await;
        mesh.fill().await;
        format!("{lost}{note}")
    }

    /// What it adds to the number of lost requests.
    async fn happen(self, mesh: &mut Mesh) -> String {
        let at_once = Stop { signal_after: Duration::ZERO, app_serves: Duration::ZERO };
        match self {
            Self::AppExits => mesh.api.remove(0).stop(mesh, at_once).await,
            Self::EventFirst => {
                mesh.api.remove(0).stop(mesh, Stop { signal_after: AHEAD, ..at_once }).await;
            }
            Self::AppServes => mesh.api.remove(0).stop(mesh, Stop { app_serves: ORDERLY, ..at_once }).await,
            Self::WithoutHealthSync => {
                let mut task = mesh.api.remove(0);
                task.kill_health_sync(mesh).await;
                task.stop(mesh, at_once).await;
            }
            Self::Replaced => {
                for _ in 0..mesh.api.len() {
                    // ECS starts the next task before it stops one.
                    let task = mesh.api.remove(0);
                    mesh.add_task().await;
                    task.stop(mesh, at_once).await;
                }
            }
            Self::Killed => mesh.api.remove(0).kill(mesh).await,
            Self::EnvoyKilled => {
                let mut task = mesh.api.remove(0);
                task.kill_envoy(mesh).await;
                mesh.end_later(task);
            }
            Self::Forgotten => return forget(mesh).await,
        }
        String::new()
    }
}

/// Consul forgets one task; with the controller, a sweep begins at once.
async fn forget(mesh: &mut Mesh) -> String {
    let all = mesh.api.len();
    let forgotten = &mesh.api[0];
    for instance in [forgotten.ecs.instance(), forgotten.ecs.sidecar()] {
        let body = json!({ "Node": mesh.world.cluster(), "ServiceID": instance });
        mesh.world.consul.put("/v1/catalog/deregister", &body).await;
    }
    let start = Instant::now();
    if !mesh.has_controller {
        tokio::time::sleep(WATCHED).await;
        let is_back = mesh.passing().await == all;
        mesh.api.remove(0).kill(mesh).await;
        return if is_back { "; came back" } else { "; never comes back" }.to_owned();
    }
    mesh.world.swept().await;
    eventually("the task to be back", SOON, || async {
        if mesh.passing().await == all { Ok(()) } else { Err("it is not") }
    })
    .await;
    format!("; back {:.1} s after the sweep starts", start.elapsed().as_secs_f64())
}

//! `health-sync` of consul-ecs in each task, as recorded (`tests/recordings/consul-ecs`): it remembers what it has written, and
//! writes what has changed since. A write that fails is not remembered.

use fastrand::Rng;
use mesh::{
    catalog::{CheckStatus, HealthCheck},
    consul_ecs::InstanceKind,
    settings::RepairMode,
};

use super::{
    containers::Containers,
    ecs::Task,
    scenario::Limits,
    task_lifecycle::TaskStatus,
    world::{World, note},
};

/// The release of consul-ecs in the tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Release {
    /// Each check follows its own container.
    V0_8,
    /// The proxy's checks pass only if every container is healthy. They are written at every tick.
    V0_9,
    /// The same; what has changed is one write.
    V0_10,
    /// The tag of the image is no version; the program is that of 0.10.
    Unknown,
}

impl Release {
    /// The release that the tag of the image tells.
    pub(crate) fn in_image(self) -> Option<mesh::release::Release> {
        let minor = match self {
            Self::V0_8 => 8,
            Self::V0_9 => 9,
            Self::V0_10 => 10,
            Self::Unknown => return None,
        };
        Some(mesh::release::Release::line(0, minor))
    }

    /// The statuses of the checks of the app, of the proxy, and of the proxy at the sidecar.
    pub(crate) fn statuses(self, is_app_healthy: bool, is_proxy_healthy: bool) -> Statuses {
        let status = |is_healthy: bool| if is_healthy { CheckStatus::Passing } else { CheckStatus::Critical };
        let proxy = status(is_proxy_healthy && (is_app_healthy || self == Self::V0_8));
        [status(is_app_healthy), proxy, proxy]
    }

    /// What a tick writes: checks by number, write by write.
    fn writes(self, remembered: [Option<CheckStatus>; 3], wanted: Statuses) -> Vec<Vec<usize>> {
        let changed = (0..3).filter(|check| remembered[*check] != Some(wanted[*check]));
        match self {
            Self::V0_8 => changed.map(|check| vec![check]).collect(),
            Self::V0_9 => changed.filter(|check| *check == 0).chain(1..3).map(|check| vec![check]).collect(),
            Self::V0_10 | Self::Unknown => {
                Some(changed.collect()).filter(|all: &Vec<_>| !all.is_empty()).into_iter().collect()
            }
        }
    }
}

/// The statuses of a task's checks, in the order of its registrations.
type Statuses = [CheckStatus; 3];

/// What may go wrong with running tasks, and how the controller repairs it.
#[derive(Debug, Clone)]
pub(crate) struct Healing {
    pub(crate) release: Release,
    /// Whether tasks run `health-sync`.
    pub(crate) runs_health_sync: bool,
    /// Whether the health status of a container that has stopped stays as it was.
    pub(crate) shows_last_health: bool,
    /// How many times an app's health changes.
    pub(crate) flips: usize,
    /// How many containers stop in running tasks.
    pub(crate) lost_containers: usize,
    /// How many times ECS restarts a `health-sync`.
    pub(crate) sync_restarts: usize,
    /// How many times something happens to the host of a task.
    pub(crate) host_changes: usize,
    /// How many times people change the catalog.
    pub(crate) catalog_changes: usize,
    pub(crate) repair: RepairMode,
    /// The bound `health-lag`, in seconds.
    pub(crate) health_lag: u64,
}

impl Healing {
    pub(crate) fn draw(random: &mut Rng, limits: &Limits) -> Self {
        let release = [Release::V0_8, Release::V0_9, Release::V0_10, Release::Unknown][random.usize(..4)];
        let repair = match random.u32(..10) {
            0 => RepairMode::Report,
            1 => RepairMode::Off,
            _ => RepairMode::On,
        };
        let up_to = |random: &mut Rng, most: usize, is_wanted: bool| {
            if is_wanted && random.bool() { random.usize(..=most) } else { 0 }
        };
        Self {
            release,
            runs_health_sync: random.u32(..6) > 0,
            shows_last_health: random.bool(),
            flips: up_to(random, 4, limits.extras),
            lost_containers: up_to(random, 3, limits.extras),
            sync_restarts: up_to(random, 2, limits.extras),
            host_changes: up_to(random, 4, limits.extras),
            catalog_changes: up_to(random, 4, limits.manual_changes),
            repair,
            health_lag: [5, 20, 60][random.usize(..3)],
        }
    }

    /// The value of the setting `REPAIR`.
    pub(crate) fn repair_setting(&self) -> &'static str {
        match self.repair {
            RepairMode::On => "on",
            RepairMode::Report => "report",
            RepairMode::Off => "off",
        }
    }

    /// The statuses that ECS's answer means. What it does not tell is registered as critical.
    pub(crate) fn statuses(&self, containers: Containers) -> Statuses {
        if containers.is_hidden {
            return [CheckStatus::Critical; 3];
        }
        self.release.statuses(!containers.is_unhealthy, !containers.has_lost_proxy)
    }
}

/// The memory of one `health-sync`.
#[derive(Debug, Clone, Default)]
pub(crate) struct HealthSync {
    remembered: [Option<CheckStatus>; 3],
    /// What the last tick wanted, and Consul's index after it.
    last: Option<(Statuses, u64)>,
}

impl World {
    /// What the task's `health-sync` wants the checks to be; `None` if it does not run.
    fn wanted(&self, task: &Task) -> Option<Statuses> {
        let (healing, containers) = (&self.scenario.healing, task.containers());
        let is_over = task.is_stopped()
            || task.host.is_gone
            || task.has_agent
            || !task.standing.is_admitted()
            || containers.has_lost_sync;
        if is_over || !healing.runs_health_sync || !task.has_registered_at(self.now) {
            return None;
        }
        let is_proxy_healthy = !containers.has_lost_proxy || healing.shows_last_health;
        let mut wanted = healing.release.statuses(!containers.is_unhealthy, is_proxy_healthy);
        if task.status().is_some_and(TaskStatus::is_stopping) {
            // 0.9 overwrites the checks of the proxy at its next tick.
            let critical = if healing.release == Release::V0_9 { 1 } else { 3 };
            wanted[..critical].fill(CheckStatus::Critical);
        }
        Some(wanted)
    }

    /// Whether the statuses of a task's checks are what `health-sync` makes of a stopped container's last health status.
    pub(crate) fn misreads_lost_proxy(&self, task: &Task) -> bool {
        task.has_lost_proxy()
            && self.wanted(task).is_some_and(|wanted| wanted != self.scenario.healing.statuses(task.containers()))
    }

    /// The tasks whose `health-sync` would write something.
    pub(crate) fn due_health_syncs(&self) -> Vec<usize> {
        let writes_always = self.scenario.healing.release == Release::V0_9;
        let is_due = |index: &usize| {
            let task = &self.ecs.tasks[*index];
            let memory = &task.health_sync;
            self.wanted(task).is_some_and(|wanted| {
                // What fails again, or changes nothing, is not worth a step.
                (writes_always || memory.remembered != wanted.map(Some))
                    && memory.last != Some((wanted, self.consul.index))
            })
        };
        (0..self.ecs.tasks.len()).filter(is_due).collect()
    }

    /// The tasks whose `health-sync` ECS may restart, by its `restartPolicy`. ECS restarts nothing in a task that was told to stop.
    pub(crate) fn tasks_with_restarts(&self) -> Vec<usize> {
        let runs = |index: &usize| {
            let task = &self.ecs.tasks[*index];
            self.wanted(task).is_some() && task.runs_in_mesh()
        };
        (0..self.ecs.tasks.len()).filter(runs).collect()
    }

    /// ECS restarts a random `health-sync`.
    pub(crate) fn restart_any_health_sync(&mut self) {
        let candidates = self.tasks_with_restarts();
        let index = candidates[self.random.usize(..candidates.len())];
        self.restart_health_sync(index);
    }

    /// ECS restarts the task's `health-sync`. When it starts, it reads the checks of the sidecar proxy, and exits with an error
    /// unless there is exactly one. ECS does not restart it again so soon, and an event reports that it has stopped.
    ///
    /// Source: <https://github.com/hashicorp/consul-ecs/blob/v0.10.0/subcommand/health-sync/checks.go>
    pub fn restart_health_sync(&mut self, index: usize) {
        let registered = self.registrations(index);
        let sidecar = registered.iter().find(|registration| registration.kind == InstanceKind::ConnectProxy);
        let is_its =
            |check: &&HealthCheck| sidecar.is_some_and(|it| it.node == check.node && it.id == check.service_id);
        let count = self.consul.checks.iter().filter(is_its).count();
        note!(self, "health-sync of task {index} starts again, and finds {count} checks of the sidecar proxy");
        self.ecs.tasks[index].health_sync = HealthSync::default();
        if count != 1 {
            let containers = Containers { has_lost_sync: true, ..self.ecs.tasks[index].containers() };
            self.change_containers(index, containers);
            self.publish(index);
        }
    }

    /// A tick of a random `health-sync`.
    pub(crate) fn tick(&mut self) {
        let due = self.due_health_syncs();
        let index = due[self.random.usize(..due.len())];
        drop(self.sync_task(index));
    }

    /// A tick of the task's `health-sync`: its writes, and whether each succeeded.
    pub(crate) fn sync_task(&mut self, index: usize) -> Vec<(Vec<HealthCheck>, bool)> {
        let Some(wanted) = self.wanted(&self.ecs.tasks[index]) else { return Vec::new() };
        let registered = self.registrations(index).into_iter().flat_map(|registration| registration.checks);
        let checks: Vec<HealthCheck> = registered.zip(wanted).map(|(check, status)| reported(check, status)).collect();
        let mut remembered = self.ecs.tasks[index].health_sync.remembered;
        note!(self, "health-sync of task {index}: {wanted:?}, it remembers {remembered:?}");
        let mut writes = Vec::new();
        for write in self.scenario.healing.release.writes(remembered, wanted) {
            let batch: Vec<HealthCheck> = write.iter().map(|check| checks[*check].clone()).collect();
            let before = self.consul.index;
            let is_written = self.set_checks(&batch).is_ok();
            self.consul.note_health_sync(&batch, before, self.now);
            writes.push((batch, is_written));
            match is_written {
                true => write.iter().for_each(|check| remembered[*check] = Some(wanted[*check])),
                // Without the check of the service's proxy, that of the sidecar is not written.
                false if write.contains(&1) => break,
                false => {}
            }
        }
        self.ecs.tasks[index].health_sync = HealthSync { remembered, last: Some((wanted, self.consul.index)) };
        writes
    }
}

/// A check as `health-sync` writes it.
fn reported(check: HealthCheck, status: CheckStatus) -> HealthCheck {
    let health = if status == CheckStatus::Passing { "HEALTHY" } else { "UNHEALTHY" };
    HealthCheck { status, output: format!("ECS health status is {health:?} for container {:?}", check.id), ..check }
}

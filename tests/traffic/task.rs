//! A task whose programs are real: consul-ecs registers it and syncs its health, and Consul Dataplane runs its Envoy.

use std::{fs, net::SocketAddr, path::Path, process::Command, sync::Mutex, time::Duration};

use local_stack::{pids, ports, process::Process, scratch, wait::eventually};
use serde_json::{Value, json};
use test_harness::ecs_agent::{DATAPLANE, DataplaneService, DataplaneTask, HEALTH_SYNC, MESH_INIT, Release, SYNCED};
use tokio::net::TcpStream;

use crate::{
    app::Server,
    mesh::{self, Mesh},
    metadata::Metadata,
};

/// The port of every proxy, by consul-ecs's default.
const PUBLIC_LISTENER: u16 = 20_000;
/// How long a program may take to start, or to end after SIGTERM: ECS's default before it kills a container is 30 s.
const STEP: Duration = Duration::from_secs(30);

pub(crate) struct Task {
    pub(crate) ecs: DataplaneTask<'static>,
    metadata: Metadata,
    app: Option<Server>,
    dataplane: Option<Process>,
    health_sync: Option<Process>,
}

impl Task {
    /// Starts a task, as the agent does: mesh-init, then the proxy, then the app and health-sync.
    pub(crate) async fn start(mesh: &mut Mesh, service: &str, upstreams: &Value) -> Self {
        let address = mesh.next_address();
        let [app_port, ready, admin, graceful] = [(); 4].map(|()| ports::reserve());
        let folder = scratch::directory().join(format!("{service}-{address}"));
        fs::create_dir_all(&folder).unwrap();

        let mut definition = DataplaneService::named(service, Release::V0_10);
        let config = &mut definition.config;
        config["bootstrapDir"] = json!(folder);
        config["healthSyncContainers"] = json!(["app"]);
        config["consulServers"]["hosts"] = json!("127.0.0.1");
        config["consulServers"]["grpc"] = json!({ "port": mesh.grpc });
        config["consulServers"]["http"] = json!({ "https": false, "port": mesh.http });
        config["service"]["port"] = json!(app_port);
        config["proxy"] = json!({ "healthCheckPort": ready, "upstreams": upstreams });
        let config = config.to_string();

        let ecs = definition.run(mesh.world).await;
        ecs.set_address(&address.to_string()).await;
        mesh.event_of(&ecs, Duration::ZERO).await;
        let containers = [MESH_INIT, DATAPLANE, HEALTH_SYNC, "app"];
        let metadata =
            Metadata::serve(&mesh.world.cluster(), &ecs.arn, service, &address.to_string(), &containers).await;
        let programs = &mesh.programs;
        let name = |program: &str| format!("{service}-{address}-{program}");
        let env = [
            ("CONSUL_ECS_CONFIG_JSON", config),
            ("ECS_CONTAINER_METADATA_URI_V4", metadata.uri.clone()),
            // In place of a login: the releases with Consul Dataplane skip theirs if they find a token.
            ("CONSUL_HTTP_TOKEN", mesh.world.consul.management_token.clone()),
            ("DP_CREDENTIAL_TYPE", "static".to_owned()),
            ("DP_CREDENTIAL_STATIC_TOKEN", mesh.world.consul.management_token.clone()),
            ("PATH", programs.path.clone()),
        ];

        let app = Server::start(app_port, || json!({ "answer": 42 }).to_string()).await;
        run(&programs.consul_ecs, "mesh-init", &folder, &env).await;
        ecs.report_stopped(MESH_INIT, 0).await;
        metadata.stopped(MESH_INIT);

        let arguments = [
            format!("-config-file={}", folder.join("consul-dataplane.json").display()),
            format!("-envoy-admin-bind-port={admin}"),
            format!("-graceful-port={graceful}"),
        ];
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let dataplane = Mutex::new(Process::start(&name("dataplane"), &programs.dataplane, &arguments, &env));
        let public = SocketAddr::from((address, PUBLIC_LISTENER));
        eventually(&format!("the proxy of {service} at {public}"), STEP, || async {
            dataplane.lock().unwrap().assert_running();
            TcpStream::connect(public).await
        })
        .await;
        let health_sync = Process::start(&name("health-sync"), &programs.consul_ecs, &["health-sync"], &env);

        for container in [DATAPLANE, "app"] {
            metadata.healthy(container);
        }
        for container in SYNCED.into_iter().chain([DATAPLANE]) {
            ecs.report_health(container, "HEALTHY").await;
        }
        Self { ecs, metadata, app: Some(app), dataplane: dataplane.into_inner().ok(), health_sync: Some(health_sync) }
    }

    /// ECS stops it: health-sync and the app are told first, and the proxy when the app has ended.
    pub(crate) async fn stop(mut self, mesh: &Mesh, way: Stop) {
        self.ecs.tell_to_stop().await;
        self.metadata.told_to_stop();
        mesh.event_of(&self.ecs, Duration::ZERO).await;
        tokio::time::sleep(way.signal_after).await;
        if let Some(health_sync) = &self.health_sync {
            signal_term(health_sync.pid());
        }
        tokio::time::sleep(way.app_serves).await;
        drop(self.app.take());
        self.metadata.stopped("app");
        if let Some(dataplane) = self.dataplane.take() {
            let pid = dataplane.pid();
            signal_term(pid);
            ended(pid).await;
        }
        self.metadata.stopped(DATAPLANE);
        if let Some(health_sync) = self.health_sync.take() {
            ended(health_sync.pid()).await;
        }
        mesh.world.stop(&self.ecs.arn).await;
        mesh.event_of(&self.ecs, mesh::ECS_DELAY).await;
    }

    /// Everything in it is killed, as by the end of its host's memory.
    pub(crate) async fn kill(mut self, mesh: &Mesh) {
        drop(self.app.take());
        for process in [self.health_sync.take(), self.dataplane.take()].into_iter().flatten() {
            process.kill();
        }
        mesh.world.stop(&self.ecs.arn).await;
        mesh.event_of(&self.ecs, mesh::ECS_DELAY).await;
    }

    /// Its Envoy is killed. Consul Dataplane then ends by itself, and the task runs on.
    pub(crate) async fn kill_envoy(&mut self, mesh: &Mesh) {
        let dataplane = self.dataplane.take().expect("the dataplane runs");
        let pid = dataplane.pid();
        for envoy in pids::children(pid) {
            pids::kill(envoy);
        }
        ended(pid).await;
        self.metadata.stopped(DATAPLANE);
        self.ecs.report_stopped(DATAPLANE, 1).await;
        mesh.event_of(&self.ecs, mesh::ECS_DELAY).await;
    }

    /// Its health-sync is killed. ECS reports that, and nothing changes by it.
    pub(crate) async fn kill_health_sync(&mut self, mesh: &Mesh) {
        self.health_sync.take().expect("health-sync runs").kill();
        self.metadata.stopped(HEALTH_SYNC);
        self.ecs.report_stopped(HEALTH_SYNC, 137).await;
        mesh.event_of(&self.ecs, Duration::ZERO).await;
    }
}

/// How a task is stopped, counted from ECS's decision, whose event comes at once.
#[derive(Clone, Copy)]
pub(crate) struct Stop {
    /// When the containers get SIGTERM.
    pub(crate) signal_after: Duration,
    /// How long the app serves after SIGTERM.
    pub(crate) app_serves: Duration,
}

/// Runs a command of consul-ecs to its end.
async fn run(program: &Path, command: &str, folder: &Path, env: &[(&str, String)]) {
    let mut process = tokio::process::Command::new(program);
    process.arg(command).env_clear().env("HOME", folder).envs(env.iter().map(|(name, value)| (*name, value)));
    let output = tokio::time::timeout(STEP, process.kill_on_drop(true).output()).await;
    let output =
        output.unwrap_or_else(|_| panic!("{command} has not ended within {STEP:?}")).expect("the program starts");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&said));
}

fn signal_term(pid: u32) {
    let sent = Command::new("kill").args(["-TERM", &pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "no process {pid}");
}

/// Waits until a process has ended.
async fn ended(pid: u32) {
    eventually(&format!("process {pid} to end"), STEP, || async {
        if Path::new(&format!("/proc/{pid}")).exists() { Err("it runs") } else { Ok(()) }
    })
    .await;
}

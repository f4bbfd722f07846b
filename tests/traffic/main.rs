//! Requests that the mesh loses when its parts end: `make traffic`.
//!
//! ```text
//!   requests ─▶ Envoy of web ══ mutual TLS ══▶ Envoy of each api ─▶ its app
//!                                  ▲
//!   consul-ecs registers a task, consul-dataplane runs its Envoy, consul-ecs writes its health
//!                                  │
//!   MiniStack in place of ECS ─▶ events ─▶ the functions ─▶ Consul
//! ```
//!
//! Consul, consul-ecs, Consul Dataplane and Envoy are the real programs that four variables name. Each task has an address of its
//! own on loopback. Every scene runs twice: with this controller, and with none. Nothing here passes or fails by a figure: the table
//! goes to `target/traffic/table.md`.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::print_stderr, clippy::unwrap_used)]

mod app;
mod load;
mod mesh;
mod metadata;
mod programs;
mod scenes;
mod task;

use std::fs;

use local_stack::in_repository;

use crate::{mesh::Mesh, programs::Programs, scenes::Scene};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_lost() {
    let programs = match Programs::from_environment() {
        Ok(programs) => programs,
        Err(missing) => return test_harness::skip::skip_optional(&missing),
    };
    let versions = programs.versions();
    let (mut mesh, _web) = Mesh::start(programs).await;
    let mut table = format!("{versions}\n\n| what happens | this controller | none |\n| --- | --- | --- |\n");
    for scene in Scene::ALL {
        mesh.has_controller = true;
        let with = scene.play(&mut mesh).await;
        mesh.has_controller = false;
        let without = scene.play(&mut mesh).await;
        let row = format!("| {} | {with} | {without} |\n", scene.name());
        eprint!("{row}");
        table.push_str(&row);
    }
    let folder = in_repository("target/traffic");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("table.md"), &table).unwrap();
    eprint!("\n{table}");
}

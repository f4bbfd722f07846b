//! Consul itself: it was restored from a snapshot, or its certificate has expired.

use local_stack::{Stack, consul::Consul, scratch, world::World};
use serde_json::json;
use test_harness::{
    ecs_agent::{DataplaneService, DataplaneTask, Release},
    tls::Authority,
};

use super::{OnCall, deployment};
use crate::healing::snapshot::{restore, save};

/// A healthy task of an ECS service, which has logged in.
async fn run<'a>(world: &'a World<'a>, name: &str) -> DataplaneTask<'a> {
    let mut service = DataplaneService::named(&format!("{}-{name}", world.name), Release::V0_10);
    service.config["consulLogin"] = json!({ "enabled": true });
    let task = service.run_by_ecs_service(world, &json!([])).await;
    task.settle().await;
    task
}

#[tokio::test]
async fn a_restored_snapshot() {
    let consul = Consul::start().await;
    let world = deployment(&consul, "incidents-snapshot", "night-snapshot", &[("Bootstrap", "none")]).await;
    let on_call = OnCall::of(&world).await;
    // Given a snapshot that is older than the task of web
    run(&world, "api").await;
    let snapshot = save(&consul).await;
    let lost = run(&world, "web").await;
    restore(&consul, snapshot).await;
    on_call.walks_through("A restored snapshot").await;
    // Another task takes its place
    world.stop_task(&lost.arn).await;
    world.settled().await;
    on_call.is_done_with("A restored snapshot").await.unwrap();
}

#[tokio::test]
async fn an_expired_certificate() {
    let name = "server.dc1.consul";
    let authority = Authority::new();
    let valid = Consul::start_with_certificate(name, authority.certificate_for(name)).await;
    let aws = &Stack::shared().await.aws;
    let ca = valid.ca_certificate.clone().expect("a certificate");
    let ca_arn = aws.create_secret("ca-of-incidents-certificate", &ca).await;
    let parameters = [("ConsulCaCertSecretArn", ca_arn.as_str()), ("ConsulTlsServerName", name), ("Bootstrap", "none")];
    let world = deployment(&valid, "incidents-certificate", "night-certificate", &parameters).await;
    run(&world, "web").await;
    let mut on_call = OnCall::of(&world).await;
    let file = scratch::directory().join("night-certificate.pem");
    std::fs::write(&file, ca).unwrap();
    on_call.sets("CONSUL_CACERT", file.to_str().unwrap());
    on_call.sets("CONSUL_TLS_SERVER_NAME", name);
    // Given a server whose certificate has expired
    let expired = valid.start_again_with_certificate(name, authority.expired_certificate_for(name)).await;
    on_call.walks_through("Consul's expired certificate").await;
    // With a new certificate by the same authority, Consul is trusted again
    let _renewed = expired.start_again_with_certificate(name, authority.certificate_for(name)).await;
    on_call.is_done_with("Consul's expired certificate").await.unwrap();
}

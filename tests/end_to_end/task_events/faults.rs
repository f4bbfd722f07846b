//! A wrong credential, and TLS with a private authority.

use crate::fixture::{Fixture, controller_token};
use local_stack::{
    consul::Consul,
    wait::{SOON, eventually},
    world,
};
use test_harness::jwt::JwtAuthMethod;
use test_harness::tls::certificate_for;

#[tokio::test]
async fn a_wrong_credential_changes_nothing() {
    let fixture = Fixture::get().await;
    let consul = &fixture.stack.consul;
    let wrong = "11111111-2222-3333-4444-555555555555";
    let right = controller_token(consul, "right").await;
    let world = fixture.deployment_of_its_own(consul, "wrong-credential", &right.secret_id, &[]).await;
    let put_credential = async |token: &str| {
        let call = world.aws.secrets().put_secret_value().secret_id("wrong-credential-controller");
        call.secret_string(token).send().await.expect("PutSecretValue");
    };
    put_credential(wrong).await;
    let service = world.service();
    let definition = world.mesh_definition(&service).await;
    let (starting, stopping) = (world.run(&definition).await, world.run(&definition).await);
    world.register_instance(&service, &stopping).await;
    let method = JwtAuthMethod::create(consul, "wrong-credential").await;
    let login = method.log_in_task(&service, &world.cluster(), world::task_id(&stopping)).await;
    let old = world.consul_ecs_controller_token(&service).await;
    world.stop(&stopping).await;
    world.deliver(&[world.event(&starting).await, world.event(&stopping).await]).await;
    // Then the messages return to the queue, with an error that says what to do
    let log = eventually("a clear error in the log", SOON, || async {
        let lines = world.aws.logs(&world.deployed.log_group).await;
        let found = lines.iter().find(|line| line.contains("consul_credential_rejected"));
        found.cloned().ok_or_else(|| format!("{lines:#?}"))
    })
    .await;
    assert!(log.contains("CONSUL_HTTP_TOKEN_SECRET_ARN"), "{log}");
    assert!(!log.contains(wrong), "{log}");
    // And nothing has changed
    assert!(world.is_valid(&login.secret_id).await && world.is_valid(&old.token).await);
    assert_eq!(world.service_ids().await.len(), 2);
    assert_eq!(world.pair(&world.secret_name(&service)).await, Some(old.clone()));
    // And once the secret has a valid credential, it is read again, and the messages are handled
    put_credential(&right.secret_id).await;
    world.settled().await;
    assert_eq!(world.service_ids().await, Vec::<String>::new());
    assert!(!world.is_valid(&login.secret_id).await);
    assert!(world.is_valid(&old.token).await, "the starting task keeps the service's token");
}

#[tokio::test]
async fn consul_behind_tls_with_another_name() {
    let fixture = Fixture::get().await;
    let consul = Consul::start_with_certificate("server.dc1.consul", certificate_for("server.dc1.consul")).await;
    let token = controller_token(&consul, "tls").await;
    let ca = consul.ca_certificate.clone().expect("a certificate");
    // Not below the prefix of the tokens, which the role may read anyway.
    let ca_arn = fixture.stack.aws.create_secret("ca-of-tls", &ca).await;
    let parameters = [("ConsulCaCertSecretArn", ca_arn.as_str()), ("ConsulTlsServerName", "server.dc1.consul")];
    let world = fixture.deployment_of_its_own(&consul, "tls", &token.secret_id, &parameters).await;
    let definition = world.mesh_definition(&world.service()).await;
    world.start_task(&definition).await;
    world.provisioned(&world.secret_name(&world.service())).await;
}

//! `reconcile` starts with wrong settings or an unreadable secret, because CloudFormation waits for an answer.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use local_stack::{consul::Consul, functions::binary, scratch};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::startup::GOOD;
use test_harness::{
    function::{Function, RuntimeApi, wait_for_requests},
    recorder::{Answer, RecordedRequest, Recorder},
    tls::certificate_for,
};

const CA_SECRET: &str = "arn:aws:secretsmanager:us-east-1:123456789012:secret:ca-AbCdEf";

fn start(runtime: &RuntimeApi, aws: &Recorder, changes: &[(&str, &str)]) -> Function {
    let variables: Vec<(&str, &str)> =
        GOOD.into_iter().chain(changes.iter().copied()).chain([("AWS_ENDPOINT_URL", aws.url.as_str())]).collect();
    Function::start(&binary("ReconcileFunction"), runtime, &variables)
}

/// Waits for a request that matches, and returns the bodies of all that match.
async fn bodies(server: &Recorder, is_meant: impl Fn(&str) -> bool) -> Vec<Value> {
    wait_for_requests(server, 1, |seen| is_meant(&seen.line())).await.iter().map(RecordedRequest::json).collect()
}

fn update(cloud_formation: &Recorder) -> Value {
    json!({
        "RequestType": "Update", "ResponseURL": format!("{}/answer", cloud_formation.url), "StackId": "stack",
        "RequestId": "id", "LogicalResourceId": "MeshSetup", "PhysicalResourceId": "ecs-mesh-controller",
        "ResourceProperties": { "CleanupOnDelete": "false", "ReconcileRate": "rate(20 minutes)" },
    })
}

#[tokio::test]
async fn a_failed_start_is_retried() {
    let is_answered = Arc::new(AtomicBool::new(false));
    let answered = Arc::clone(&is_answered);
    let cloud_formation = Recorder::start(move |_, _| {
        answered.store(true, Ordering::SeqCst);
        Answer::ok("")
    })
    .await;
    let runtime = RuntimeApi::start(vec![update(&cloud_formation), json!({ "dryRun": true })]).await;
    let pem = rcgen::generate_simple_self_signed(vec!["consul".to_owned()]).unwrap().cert.pem();
    // The secret cannot be read until CloudFormation has its answer
    let aws = Recorder::start(move |seen, _| {
        if seen.operation().as_deref() == Some("GetSecretValue") && is_answered.load(Ordering::SeqCst) {
            return Answer::ok(json!({ "Name": "ca", "SecretString": pem }).to_string());
        }
        Answer::status(400, json!({ "__type": "AccessDeniedException", "message": "not yet" }).to_string())
    })
    .await;
    let _running =
        start(&runtime, &aws, &[("CONSUL_HTTP_ADDR", "https://127.0.0.1:1"), ("CONSUL_CACERT_SECRET_ARN", CA_SECRET)]);
    // CloudFormation gets an answer nevertheless
    let answers = bodies(&cloud_formation, |line| line == "PUT /answer").await;
    assert_eq!(answers[0]["Status"], "FAILED");
    assert!(answers[0]["Reason"].as_str().unwrap().starts_with("CONSUL_CACERT_SECRET_ARN: "), "{answers:?}");
    // And the next invocation calls AWS, which refuses the call
    let failed = bodies(&runtime.0, |line| line.ends_with("/request-1/error")).await;
    assert_eq!(failed[0]["errorType"], "incomplete", "{failed:?}");
    assert!(aws.operations().contains(&"DescribeClusters".to_owned()), "{:?}", aws.operations());
}

/// The alarm about missing sweeps takes its period from this answer (`Fn::GetAtt`).
#[tokio::test]
async fn an_update_answers_how_often_it_sweeps() {
    let cloud_formation = Recorder::start(|_, _| Answer::ok("")).await;
    let runtime = RuntimeApi::start(vec![update(&cloud_formation)]).await;
    let aws = Recorder::start(|_, _| Answer::status(400, "{}")).await;
    let _running = start(&runtime, &aws, &[]);
    let answers = bodies(&cloud_formation, |line| line == "PUT /answer").await;
    assert_eq!(answers[0]["Data"], json!({ "SweepSeconds": "1200" }), "{answers:?}");
}

/// Without a secret with a CA certificate, the system decides whom the functions trust.
#[tokio::test]
async fn consul_with_a_certificate_of_a_root_of_the_system_is_trusted() {
    let name = "server.dc1.consul";
    let consul = Consul::start_with_certificate(name, certificate_for(name)).await;
    for (authority, reason) in [
        (consul.ca_certificate.clone().unwrap(), "Consul does not know the controller's own ACL token"),
        (certificate_for(name).authority, "invalid peer certificate"),
    ] {
        let roots = scratch::directory().join(format!("{}.pem", Uuid::new_v4()));
        fs::write(&roots, authority).unwrap();
        let cloud_formation = Recorder::start(|_, _| Answer::ok("")).await;
        let runtime = RuntimeApi::start(vec![update(&cloud_formation)]).await;
        let aws = Recorder::start(|_, _| Answer::status(400, "{}")).await;
        let variables = [
            ("SSL_CERT_FILE", roots.to_str().unwrap()),
            ("CONSUL_HTTP_ADDR", consul.address.as_str()),
            ("CONSUL_TLS_SERVER_NAME", name),
        ];
        let _running = start(&runtime, &aws, &variables);
        let answers = bodies(&cloud_formation, |line| line == "PUT /answer").await;
        assert_eq!(answers[0]["Status"], "FAILED");
        assert!(answers[0]["Reason"].as_str().unwrap().contains(reason), "{answers:?}");
    }
}

#[tokio::test]
async fn an_update_names_its_wrong_setting() {
    for (setting, value, named) in [
        ("MAX_DELETE_PERCENT", "101", "MAX_DELETE_PERCENT"),
        ("RECONCILE_RATE", "rate(3 days)", "RECONCILE_RATE"),
        ("CONSUL_HTTP_ADDR", "ecs://infra/consul:8501?scheme=https", "CONSUL_CACERT_SECRET_ARN"),
    ] {
        let cloud_formation = Recorder::start(|_, _| Answer::ok("")).await;
        let runtime = RuntimeApi::start(vec![update(&cloud_formation)]).await;
        let aws = Recorder::start(|_, _| Answer::status(400, "{}")).await;
        let _running = start(&runtime, &aws, &[(setting, value)]);
        let answers = bodies(&cloud_formation, |line| line == "PUT /answer").await;
        assert_eq!(answers[0]["Status"], "FAILED");
        assert!(answers[0]["Reason"].as_str().unwrap().starts_with(&format!("{named}: got")), "{answers:?}");
    }
}

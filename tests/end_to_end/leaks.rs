//! No secret in any output at any log level: each secret has a canary, and all output of the functions is searched for the
//! canaries in several encodings.

use std::collections::BTreeSet;

use ecs_mesh_controller::custom_resource::PROOF;
use serde_json::{Value, json};

use local_stack::{
    deploy::TIME_BOUNDS,
    functions::binary,
    world::{World, idle_check, task_id},
};
use test_harness::{
    function::{Function, RuntimeApi, wait_for_requests},
    jwt::JwtAuthMethod,
    recorder::{Answer, RecordedRequest, Recorder},
};

const AWS_KEY: &str = "canary/aws+key/9f86d081884c7d659a2f";
const AWS_SESSION: &str = "canary-session-60303ae22b998861bce3";

/// The encodings of a secret.
fn forms(secret: &str) -> BTreeSet<String> {
    let bytes = secret.as_bytes();
    let digits = |prefix: &str| bytes.iter().map(|b| format!("{prefix}{b:02x}")).collect::<Vec<_>>().concat();
    let numbers: Vec<String> = bytes.iter().map(ToString::to_string).collect();
    let mut forms = BTreeSet::from([
        secret.to_lowercase(),
        secret.replace('-', "").to_lowercase(),
        percent_encoding::utf8_percent_encode(secret, percent_encoding::NON_ALPHANUMERIC).to_string().to_lowercase(),
        digits(""),
        digits("%"),
        numbers.join(", "),
        numbers.join(","),
    ]);
    // The middle of the base64 text, which does not depend on the surrounding text, for each of the three offsets.
    for skip in 0..3 {
        let whole = &bytes[skip..skip + (bytes.len() - skip) / 3 * 3];
        forms.insert(base64(whole).to_lowercase());
        forms.insert(base64(whole).replace('+', "-").replace('/', "_").to_lowercase());
    }
    forms
}

/// The base64 text of the whole groups of three bytes.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = bytes.chunks_exact(3).map(|group| {
        let number = group.iter().fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
        [18, 12, 6, 0].map(|shift| char::from(DIGITS[number >> shift & 63]))
    });
    groups.flatten().collect()
}

fn assert_silent(what: &str, text: &str, secrets: &BTreeSet<String>) {
    let text = text.to_lowercase();
    for secret in secrets {
        for form in forms(secret) {
            if let Some((before, _)) = text.split_once(&form) {
                let around: Vec<char> = before.chars().rev().take(200).collect();
                panic!("{what} shows a secret (as {form:?}) after: {}", around.iter().rev().collect::<String>());
            }
        }
    }
}

/// Every secret in the requests: tokens that were used, created and stored.
fn secrets_in(exchanges: &[RecordedRequest]) -> BTreeSet<String> {
    let mut secrets = BTreeSet::new();
    for seen in exchanges {
        secrets.extend(seen.header("x-consul-token").map(str::to_owned));
        let body = seen.json();
        // The anonymous token's is the same constant everywhere.
        secrets.extend(body["SecretID"].as_str().filter(|secret| *secret != "anonymous").map(str::to_owned));
        let stored: Option<Value> = body["SecretString"].as_str().and_then(|text| serde_json::from_str(text).ok());
        secrets.extend(stored.and_then(|stored| stored["token"].as_str().map(str::to_owned)));
    }
    secrets
}

fn batch(bodies: &[String]) -> Value {
    let record = |(index, body): (usize, &String)| json!({ "messageId": index.to_string(), "body": body });
    json!({ "Records": bodies.iter().enumerate().map(record).collect::<Vec<_>>() })
}

/// The events of a service's start and end, and the secrets that exist but are not sent.
struct ServiceEvents {
    task: String,
    beginning: Vec<Value>,
    end: Vec<Value>,
    unsent: BTreeSet<String>,
}

impl ServiceEvents {
    async fn of_a_service(world: &World<'_>) -> Self {
        let service = world.service();
        let task = world.run(&world.mesh_definition(&service).await).await;
        world.register_instance(&service, &task).await;
        let login = JwtAuthMethod::create(world.consul, world.name).await;
        let login = login.log_in_task(&service, &world.cluster(), task_id(&task)).await;
        let adopted = format!("{}-old", world.name);
        let old = world.consul_ecs_controller_token(&adopted).await;
        let old_task = world.run(&world.mesh_definition(&adopted).await).await;
        let foreign = format!("{}-foreign", world.name);
        let foreign_value = "canary-of-another-owner-1";
        world.put_secret(&world.secret_name(&foreign), &json!({ "password": foreign_value })).await;
        let foreign_task = world.run(&world.mesh_definition(&foreign).await).await;
        let malformed =
            json!({ "source": "aws.ecs", "detail-type": "ECS Task State Change", "detail": { "taskArn": 1 } });
        let not_an_event = "not an event\u{1b}[31m\n{\"outcome\":\"done\"}".to_owned();
        let beginning = vec![
            world.event(&task).await.to_string(),
            world.event(&old_task).await.to_string(),
            world.event(&foreign_task).await.to_string(),
            malformed.to_string(),
            not_an_event,
        ];
        let end = vec![
            world.event_as(&task, "RUNNING", "STOPPED", 900).await.to_string(),
            world.event_as(&task, "STOPPED", "STOPPED", 901).await.to_string(),
            idle_check(&service).to_string(),
        ];
        let alone = |bodies: Vec<String>| bodies.into_iter().map(|body| batch(&[body])).collect();
        let unsent = [login.secret_id, old.token, foreign_value.to_owned()].into();
        Self { task, beginning: alone(beginning), end: alone(end), unsent }
    }
}

/// CloudFormation's events of the stack `being-deleted`, newest first: it was completed, and asked for the clean-up.
fn events_of_a_deletion() -> String {
    let event = |(resource, id, status): (&str, &str, &str)| {
        format!(
            "<member><StackId>being-deleted</StackId><EventId>{status}</EventId><StackName>leaks</StackName>\
             <LogicalResourceId>{resource}</LogicalResourceId><PhysicalResourceId>{id}</PhysicalResourceId>\
             <Timestamp>2026-11-28T00:00:00Z</Timestamp><ResourceStatus>{status}</ResourceStatus></member>"
        )
    };
    let events = [
        (PROOF, "handle", "DELETE_COMPLETE"),
        ("leaks", "being-deleted", "DELETE_IN_PROGRESS"),
        ("leaks", "being-deleted", "CREATE_COMPLETE"),
    ];
    let members: String = events.into_iter().map(event).collect();
    format!(
        "<DescribeStackEventsResponse xmlns=\"http://cloudformation.amazonaws.com/doc/2010-05-15/\">\
         <DescribeStackEventsResult><StackEvents>{members}</StackEvents></DescribeStackEventsResult>\
         </DescribeStackEventsResponse>"
    )
}

#[tokio::test]
async fn trace_logs_and_answers_show_no_secret() {
    let world = World::without_deployment("leaks").await;
    let service_events = ServiceEvents::of_a_service(&world).await;
    let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
    let aws = Recorder::before(&world.aws.endpoint, |seen, _| {
        let is_deletion = seen.body.contains("StackName=being-deleted");
        if is_deletion { Answer::ok(events_of_a_deletion()) } else { Answer::Forward }
    })
    .await;
    let secret = world.aws.create_secret("leaks-controller", &world.consul.management_token).await;
    let cluster = world.cluster();
    let variables = [
        ("CONSUL_HTTP_ADDR", consul.url.as_str()),
        ("CONSUL_HTTP_TOKEN_SECRET_ARN", secret.as_str()),
        ("ECS_CLUSTER_ARNS", cluster.as_str()),
        ("SECRET_NAME_PREFIX", world.prefix),
        ("QUEUE_URL", world.deployed.queue_url.as_str()),
        ("REVOCATION_GRACE_SECONDS", "0"),
        ("TIME_BOUNDS", TIME_BOUNDS),
        ("LOG_LEVEL", "trace"),
        ("RUST_LOG", "trace"),
        ("RUST_BACKTRACE", "full"),
        ("AWS_ENDPOINT_URL", aws.url.as_str()),
        ("AWS_SECRET_ACCESS_KEY", AWS_KEY),
        ("AWS_SESSION_TOKEN", AWS_SESSION),
    ];
    let say = async |binary: &str, events: Vec<Value>| {
        let count = events.len();
        let runtime = RuntimeApi::start(events).await;
        let function = Function::start(binary, &runtime, &variables);
        (runtime.answers(count).await, function.end())
    };
    // When a service starts and stops, with all other kinds of events
    let (mut answers, mut printed) = say(&binary("TaskEventsFunction"), service_events.beginning).await;
    world.stop(&service_events.task).await;
    let mut events = service_events.end;
    events.push(json!({ "Records": "none" }));
    let (further, log) = say(&binary("TaskEventsFunction"), events).await;
    answers.extend(further);
    printed += &log;
    // And sweeps, and the requests of the deployment
    let cloud_formation = Recorder::start(|_, _| Answer::ok("")).await;
    let request = |kind: &str| {
        json!({
            "RequestType": kind, "ResponseURL": format!("{}/?signature=canary-signature-77de", cloud_formation.url),
            "StackId": if kind == "Delete" { "being-deleted" } else { "unknown" }, "RequestId": "id", "LogicalResourceId": "MeshSetup",
            "PhysicalResourceId": "ecs-mesh-controller", "ResourceProperties": { "CleanupOnDelete": "true" },
        })
    };
    let orders = vec![json!({}), json!({ "dryRun": true }), request("Update"), request("Delete"), json!({ "bad": 1 })];
    let (further, log) = say(&binary("ReconcileFunction"), orders).await;
    answers.extend(further);
    printed += &log;

    // Then the secrets were used, and the functions have logged
    let mut secrets = secrets_in(&consul.requests());
    secrets.extend(secrets_in(&aws.requests()));
    assert!(secrets.contains(&world.consul.management_token), "the controller's token was used");
    assert!(secrets.len() >= 3, "tokens were made: {}", consul.lines().join("\n"));
    secrets.extend(service_events.unsent);
    secrets.extend([AWS_KEY, AWS_SESSION, "canary-signature-77de"].map(str::to_owned));
    for word in ["create_token", "revoke", "\"outcome\":\"failed\"", "custom_resource"] {
        assert!(printed.contains(word), "nothing was said of {word}:\n{printed}");
    }
    // And no secret is in their logs, answers, or requests to CloudFormation and the queue
    assert_silent("the log", &printed, &secrets);
    let bodies = |seen: Vec<RecordedRequest>| seen.iter().map(|seen| seen.body.clone()).collect::<Vec<_>>().join("\n");
    assert_silent("an answer", &bodies(answers), &secrets);
    assert_silent("CloudFormation's answer", &bodies(cloud_formation.requests()), &secrets);
    let queue = aws.requests().into_iter().filter(|seen| seen.operation().is_some_and(|name| name.contains("Message")));
    assert_silent("a message", &bodies(queue.collect()), &secrets);
    // And every line is one record
    for line in printed.lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok_and(|record| record.is_object()), "not a record: {line:?}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}

#[tokio::test]
async fn echoed_requests_show_no_secret() {
    let world = World::without_deployment("echoes").await;
    let definition = world.mesh_definition(&world.service()).await;
    let task = world.run(&definition).await;
    let event = world.event(&task).await;
    for status in [400, 403, 409, 500] {
        // Given a Consul and a Secrets Manager that repeat refused requests in their answers
        let echo = move |seen: &RecordedRequest| format!("{:?}\n{}", seen.headers, seen.body);
        let consul = Recorder::start(move |seen, _| Answer::status(status, echo(seen))).await;
        let aws = Recorder::before(&world.aws.endpoint, move |seen, _| match seen.operation().as_deref() {
            Some("CreateSecret" | "PutSecretValue") if status == 400 => {
                Answer::status(400, json!({ "__type": "InvalidRequestException", "Message": echo(seen) }).to_string())
            }
            _ => Answer::Forward,
        })
        .await;
        let cluster = world.cluster();
        let variables = [
            ("CONSUL_HTTP_ADDR", consul.url.as_str()),
            ("CONSUL_HTTP_TOKEN", world.consul.management_token.as_str()),
            ("ECS_CLUSTER_ARNS", cluster.as_str()),
            ("SECRET_NAME_PREFIX", world.prefix),
            ("QUEUE_URL", world.deployed.queue_url.as_str()),
            ("LOG_LEVEL", "trace"),
            ("AWS_ENDPOINT_URL", aws.url.as_str()),
        ];
        let runtime = RuntimeApi::start(vec![batch(&[event.to_string()]), event.clone()]).await;
        let function = Function::start(&binary("TaskEventsFunction"), &runtime, &variables);
        let answers = runtime.answers(2).await;
        let printed = function.end();
        let mut secrets = secrets_in(&consul.requests());
        secrets.extend(secrets_in(&aws.requests()));
        assert!(!secrets.is_empty() && printed.contains("\"outcome\":\"failed\""), "{printed}");
        assert_silent("the log", &printed, &secrets);
        for answer in answers {
            assert_silent("an answer", &answer.body, &secrets);
        }
    }
}

#[tokio::test]
async fn audits_show_no_secret_of_a_definition() {
    let world = World::without_deployment("leaky-audit").await;
    let canary = "canary-database-7c211433f02071597741";
    let container = json!({
        "name": "leaky", "image": "app:1", "essential": true,
        "environment": [{ "name": "DB_PASSWORD", "value": canary }, { "name": "CONSUL_HTTP_TOKEN", "value": canary }],
        "command": ["sh", "-c", format!("consul agent -token {canary}")],
    });
    let definition = world.definition_with(&world.service(), &[container]).await;
    let topic = aws_sdk_sns::Client::new(&world.aws.sdk())
        .create_topic()
        .name("leaky-audit")
        .send()
        .await
        .unwrap()
        .topic_arn
        .unwrap();
    aws_sdk_s3::Client::new(&world.aws.sdk()).create_bucket().bucket("leaky-audit").send().await.unwrap();
    let aws = Recorder::before(&world.aws.endpoint, |_, _| Answer::Forward).await;
    let cluster = world.cluster();
    let variables = [
        ("ECS_CLUSTER_ARNS", cluster.as_str()),
        ("FINDINGS_TOPIC_ARN", topic.as_str()),
        ("REPORTS_BUCKET", "leaky-audit"),
        ("LOG_LEVEL", "trace"),
        ("AWS_ENDPOINT_URL", aws.url.as_str()),
    ];
    let formats = ["json", "text", "sarif", "junit", "github", "markdown", "html"];
    let orders = formats.map(|format| json!({ "taskDefinition": definition.0, "format": format }));
    let runtime = RuntimeApi::start(orders.to_vec()).await;
    let function = Function::start(&binary("AuditFunction"), &runtime, &variables);
    let answers = runtime.answers(formats.len()).await;
    let announced = wait_for_requests(&aws, 1, |seen| seen.body.contains("Publish")).await;
    let printed = function.end();
    assert!(answers.iter().all(|answer| answer.uri.ends_with("/response") && answer.body.contains("leaky")));
    let secrets = BTreeSet::from([canary.to_owned()]);
    assert_silent("the log", &printed, &secrets);
    assert!(!announced.is_empty());
    for said in answers.iter().chain(&aws.requests()) {
        assert_silent("a report or an announcement", &said.body, &secrets);
    }
}

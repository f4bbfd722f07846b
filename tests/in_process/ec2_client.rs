//! The client of EC2 against a recorder: its request, and EC2's answers.

use aws::ec2::{AwsEc2, Ec2, Ec2Error};
use mesh::host::{Ec2InstanceId, Ec2Instances};
use test_harness::recorder::{Answer, Recorder};

use crate::environment::sdk_at;

fn ids(ids: &[&str]) -> Vec<Ec2InstanceId> {
    ids.iter().map(|id| id.parse().unwrap()).collect()
}

/// An answer as EC2 documents it, with an instance of each reservation.
pub(crate) fn described(instances: &[(&str, &str)]) -> String {
    let reservation = |(id, state): &(&str, &str)| {
        format!(
            "<item><reservationId>r-1234567890abcdef0</reservationId><ownerId>123456789012</ownerId><groupSet/>\
             <instancesSet><item><instanceId>{id}</instanceId><imageId>ami-bff32ccc</imageId>\
             <instanceState><code>48</code><name>{state}</name></instanceState><placement><tenancy>default</tenancy></placement>\
             <stateReason><code>Client.UserInitiatedShutdown</code><message>stopped</message></stateReason>\
             <tagSet><item><key>Name</key><value>&lt;running&gt;</value></item></tagSet></item></instancesSet></item>"
        )
    };
    let reservations: String = instances.iter().map(reservation).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <DescribeInstancesResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">\n\
         <requestId>8f7724cf-496f-496e-8fe3-example</requestId>\n<reservationSet>{reservations}</reservationSet>\
         </DescribeInstancesResponse>"
    )
}

pub(crate) fn refused() -> Answer {
    let body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>UnauthorizedOperation</Code>\
                <Message>You are not authorized to perform this operation.</Message></Error></Errors>\
                <RequestID>ea966190-f9aa-478e-9ede-example</RequestID></Response>";
    Answer::status(403, body)
}

#[tokio::test]
async fn the_request_is_a_signed_form_that_filters_by_ids() {
    let server = Recorder::start(|_, _| Answer::ok(described(&[]))).await;
    let many: Vec<String> = (0..201).map(|number| format!("i-{number:017x}")).collect();
    let many = ids(&many.iter().map(String::as_str).collect::<Vec<_>>());
    let found = AwsEc2::new(&sdk_at(&server.url)).instances(&many).await.unwrap();
    assert_eq!(found, Ec2Instances::default());
    // A filter has at most 200 values
    assert_eq!(server.lines(), ["POST /", "POST /"]);
    let [first, second] = server.requests().try_into().unwrap_or_else(|all| panic!("two requests: {all:?}"));
    let start = "Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=instance-id&Filter.1.Value.1=i-0";
    assert!(first.body.starts_with(start) && first.body.ends_with("&Filter.1.Value.200=i-000000000000000c7"));
    assert!(second.body.ends_with("&Filter.1.Value.1=i-000000000000000c8"), "{}", second.body);
    assert_eq!(first.header("content-type"), Some("application/x-www-form-urlencoded"));
    let signature = first.header("authorization").unwrap();
    assert!(signature.starts_with("AWS4-HMAC-SHA256 Credential=test/"), "{signature}");
    assert!(
        signature.contains("/us-east-1/ec2/aws4_request, SignedHeaders=content-type;host;x-amz-date, "),
        "{signature}"
    );
}

#[tokio::test]
async fn every_state_of_an_instance_is_read() {
    let states = ["pending", "running", "shutting-down", "terminated", "stopping", "stopped", "of-next-year"];
    let all: Vec<(String, &str)> = states.iter().enumerate().map(|(n, state)| (format!("i-{n}"), *state)).collect();
    let answer = described(&all.iter().map(|(id, state)| (id.as_str(), *state)).collect::<Vec<_>>());
    let server = Recorder::start(move |_, _| Answer::ok(answer.clone())).await;
    let asked = ids(&["i-0", "i-1", "i-2", "i-3", "i-4", "i-5", "i-6", "i-7"]);
    let found = AwsEc2::new(&sdk_at(&server.url)).instances(&asked).await.unwrap();
    let gone = ids(&["i-2", "i-3", "i-4", "i-5"]).into_iter().collect();
    assert_eq!(found, Ec2Instances { gone, running: ids(&["i-1"]).into_iter().collect() });
}

#[tokio::test]
async fn a_refusal_says_what_to_allow_and_other_failures_where_ec2_is() {
    let error = async |answer: fn() -> Answer| {
        let server = Recorder::start(move |_, _| answer()).await;
        AwsEc2::new(&sdk_at(&server.url)).instances(&ids(&["i-1"])).await.unwrap_err()
    };
    let refused = error(refused).await;
    assert!(matches!(refused, Ec2Error::Refused(_)), "{refused:?}");
    let text = refused.to_string();
    assert!(
        text.contains("UnauthorizedOperation: You are not authorized") && text.contains("Allow ec2:Describe"),
        "{text}"
    );
    for answer in [(|| Answer::status(503, "busy")) as fn() -> Answer, || Answer::ok("<html/>"), || Answer::ok("")] {
        let failed = error(answer).await;
        assert!(matches!(failed, Ec2Error::Failed(_)), "{failed:?}");
        assert!(failed.to_string().contains("endpoint for EC2"), "{failed}");
    }
}

#[tokio::test]
async fn an_answer_of_another_shape_says_nothing() {
    for body in [
        "<DescribeInstancesResponse/>",
        "<DescribeInstancesResponse><instanceId>i-1</instanceId></DescribeInstancesResponse>",
    ] {
        let server = Recorder::start(move |_, _| Answer::ok(body)).await;
        let found = AwsEc2::new(&sdk_at(&server.url)).instances(&ids(&["i-1"])).await.unwrap();
        assert_eq!(found, Ec2Instances::default(), "{body}");
    }
}

//! The client of Elastic Load Balancing against a recorder: its requests, and the answers.

use aws::load_balancers::{AwsLoadBalancers, Target, TargetsError};
use observe::read_targets;
use test_harness::recorder::{Answer, Recorder};

use crate::environment::sdk_at;

const GROUP: &str = "arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067";

/// An answer as Elastic Load Balancing documents it.
const ANSWER: &str = "<DescribeTargetHealthResponse xmlns=\"http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/\">\
    <DescribeTargetHealthResult><TargetHealthDescriptions>\
    <member><HealthCheckPort>80</HealthCheckPort><TargetHealth><State>healthy</State></TargetHealth>\
    <Target><Port>80</Port><Id>10.0.0.1</Id></Target></member>\
    <member><HealthCheckPort>80</HealthCheckPort><TargetHealth><Description>Health checks failed</Description>\
    <State>unhealthy</State><Reason>Target.FailedHealthChecks</Reason></TargetHealth>\
    <Target><Port>8080</Port><Id>i-0376fadf</Id></Target></member>\
    </TargetHealthDescriptions></DescribeTargetHealthResult><ResponseMetadata><RequestId>c534f810</RequestId>\
    </ResponseMetadata></DescribeTargetHealthResponse>";

#[tokio::test]
async fn targets_of_a_group_are_read_with_their_states() {
    let server = Recorder::start(|_, _| Answer::ok(ANSWER)).await;
    let found = AwsLoadBalancers::new(&sdk_at(&server.url)).targets(GROUP).await.unwrap();
    let target = |id: &str, port, state: &str, reason: &str| Target {
        id: id.to_owned(),
        port: Some(port),
        state: state.to_owned(),
        reason: reason.to_owned(),
    };
    let expected =
        [target("10.0.0.1", 80, "healthy", ""), target("i-0376fadf", 8080, "unhealthy", "Target.FailedHealthChecks")];
    assert_eq!(found, expected);
    let [request] = server.requests().try_into().unwrap_or_else(|all| panic!("one request: {all:?}"));
    let form =
        "Action=DescribeTargetHealth&Version=2015-12-01&TargetGroupArn=arn%3Aaws%3Aelasticloadbalancing%3Aus-west-2";
    assert!(request.body.starts_with(form), "{}", request.body);
    let signature = request.header("authorization").unwrap();
    assert!(signature.contains("/us-east-1/elasticloadbalancing/aws4_request"), "{signature}");
}

#[tokio::test]
async fn target_without_a_possible_port_is_kept() {
    for port in ["", "<Port></Port>", "<Port>0</Port>", "<Port>99999</Port>"] {
        let server = Recorder::start(move |_, _| Answer::ok(ANSWER.replace("<Port>80</Port>", port))).await;
        let found = AwsLoadBalancers::new(&sdk_at(&server.url)).targets(GROUP).await.unwrap();
        let ports: Vec<Option<u16>> = found.iter().map(|target| target.port).collect();
        assert_eq!(ports, [None, Some(8080)], "{port}");
    }
}

#[tokio::test]
async fn answer_that_is_cut_off_is_a_failure() {
    for end in [" xmlns", "<member>", "</Target>", "</TargetHealthDescriptions>", "</DescribeTargetHealthResponse>"] {
        let (cut, _) = ANSWER.split_once(end).unwrap();
        let server = Recorder::start(move |_, _| Answer::ok(cut)).await;
        let failed = AwsLoadBalancers::new(&sdk_at(&server.url)).targets(GROUP).await.unwrap_err();
        assert!(matches!(failed, TargetsError::Failed(_)), "{end}: {failed:?}");
    }
}

#[tokio::test]
async fn refusal_is_told_from_a_failure() {
    let error = async |answer: fn() -> Answer| {
        let server = Recorder::start(move |_, _| answer()).await;
        AwsLoadBalancers::new(&sdk_at(&server.url)).targets(GROUP).await.unwrap_err()
    };
    let refused = error(|| {
        let body = "<ErrorResponse xmlns=\"http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/\"><Error><Type>Sender</Type>\
                    <Code>AccessDenied</Code><Message>no policy allows it</Message></Error></ErrorResponse>";
        Answer::status(403, body)
    });
    let refused = refused.await;
    assert!(matches!(refused, TargetsError::Refused(_)), "{refused:?}");
    assert!(
        refused.to_string().contains("AccessDenied: no policy allows it. Allow elasticloadbalancing:"),
        "{refused}"
    );
    for answer in [(|| Answer::status(503, "busy")) as fn() -> Answer, || Answer::ok("<html/>"), || Answer::ok("")] {
        let failed = error(answer).await;
        assert!(matches!(failed, TargetsError::Failed(_)), "{failed:?}");
    }
}

#[tokio::test]
async fn each_target_group_costs_one_call_and_none_costs_none() {
    let server = Recorder::start(|_, _| Answer::ok(ANSWER)).await;
    let balancers = AwsLoadBalancers::new(&sdk_at(&server.url));
    assert!(read_targets(&balancers, [].into()).await.0.is_empty());
    assert_eq!(server.lines(), [""; 0]);
    let groups = [GROUP, "arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/green/1"];
    let read = read_targets(&balancers, groups.map(str::to_owned).into()).await;
    assert_eq!((read.0.len(), server.lines().len()), (2, 2));
}

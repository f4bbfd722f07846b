//! The client of EC2 against a recorder: its request, and EC2's answers.

use std::net::Ipv4Addr;

use aws::ec2::{AclEntry, AwsEc2, Ec2, Ec2Error, GroupRule, Interface, NetworkAcl, Ports, RulePeer};
use aws::ecs::{AwsEcs, Clusters as _};
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
async fn an_answer_of_ec2_that_is_cut_off_is_a_failure() {
    let whole = described(&[("i-1", "running"), ("i-2", "terminated")]);
    for end in [" xmlns", "<item>", "i-2", "</reservationSet>", "</DescribeInstancesResponse>"] {
        let cut = whole.split_once(end).unwrap().0.to_owned();
        let server = Recorder::start(move |_, _| Answer::ok(cut.clone())).await;
        let failed = AwsEc2::new(&sdk_at(&server.url)).instances(&ids(&["i-1", "i-2"])).await.unwrap_err();
        assert!(matches!(failed, Ec2Error::Failed { .. }), "{end}: {failed:?}");
    }
}

#[tokio::test]
async fn a_refusal_says_what_to_allow_and_other_failures_where_ec2_is() {
    let error = async |answer: fn() -> Answer| {
        let server = Recorder::start(move |_, _| answer()).await;
        AwsEc2::new(&sdk_at(&server.url)).instances(&ids(&["i-1"])).await.unwrap_err()
    };
    let refused = error(refused).await;
    assert!(matches!(refused, Ec2Error::Refused { .. }), "{refused:?}");
    let text = refused.to_string();
    assert!(
        text.contains("UnauthorizedOperation: You are not authorized") && text.contains("Allow ec2:Describe"),
        "{text}"
    );
    for answer in [(|| Answer::status(503, "busy")) as fn() -> Answer, || Answer::ok("<html/>"), || Answer::ok("")] {
        let failed = error(answer).await;
        assert!(matches!(failed, Ec2Error::Failed { .. }), "{failed:?}");
        assert!(failed.to_string().contains("endpoint for EC2"), "{failed}");
    }
}

#[tokio::test]
async fn an_answer_of_aws_that_never_ends_is_read_up_to_the_limit() {
    let server = Recorder::start(|_, _| Answer::Endless("<DescribeInstancesResponse>")).await;
    let error = AwsEc2::new(&sdk_at(&server.url)).instances(&ids(&["i-1"])).await.unwrap_err().to_string();
    assert!(error.contains("DescribeInstances") && error.contains("longer than the limit of 32 MiB"), "{error}");
    // And by the clients of the SDK, which ask once
    let server = Recorder::start(|_, _| Answer::Endless("{\"taskArns\":[\"")).await;
    let cluster = "arn:aws:ecs:us-east-1:123456789012:cluster/prod".parse().unwrap();
    let error = AwsEcs::new(&sdk_at(&server.url)).cluster_statuses(&[cluster]).await.unwrap_err().to_string();
    assert!(error.contains("longer than the limit of 32 MiB"), "{error}");
    assert_eq!(server.operations(), ["DescribeClusters"]);
}

#[tokio::test]
async fn of_an_error_of_aws_only_the_beginning_is_read() {
    let long = || Answer::status(400, format!("{}{}", " ".repeat(33 << 20), "{}"));
    let server = Recorder::start(move |_, _| long()).await;
    let error = AwsEc2::new(&sdk_at(&server.url)).instances(&ids(&["i-1"])).await.unwrap_err().to_string();
    assert!(!error.contains("longer than the limit") && error.len() < 1_000, "{error}");
    // And by the clients of the SDK
    let cluster = "arn:aws:ecs:us-east-1:123456789012:cluster/prod".parse().unwrap();
    let error = AwsEcs::new(&sdk_at(&server.url)).cluster_statuses(&[cluster]).await.unwrap_err().to_string();
    assert!(!error.contains("longer than the limit") && error.len() < 1_000, "{error}");
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

/// An answer as EC2 documents it.
fn page(action: &str, set: &str, items: &str, next: &str) -> String {
    let next = if next.is_empty() { String::new() } else { format!("<nextToken>{next}</nextToken>") };
    format!(
        "<{action}Response xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><requestId>f7de5e98-example</requestId>\
         <{set}>{items}</{set}>{next}</{action}Response>"
    )
}

#[tokio::test]
async fn interfaces_are_read_with_the_groups_that_they_have() {
    let item = "<item><networkInterfaceId>eni-1</networkInterfaceId><subnetId>subnet-1</subnetId><vpcId>vpc-1</vpcId>\
                <privateIpAddress>10.0.0.1</privateIpAddress><groupSet><item><groupId>sg-1</groupId><groupName>web</groupName>\
                </item><item><groupId>sg-2</groupId><groupName>all</groupName></item></groupSet><attachment><attachmentId>\
                eni-attach-1</attachmentId></attachment><privateIpAddressesSet><item><privateIpAddress>10.0.0.1\
                </privateIpAddress><primary>true</primary></item></privateIpAddressesSet></item>";
    let server = Recorder::start(move |request, _| {
        let next = if request.body.contains("NextToken=more%2F1") { "" } else { "more/1" };
        Answer::ok(page("DescribeNetworkInterfaces", "networkInterfaceSet", item, next))
    })
    .await;
    let address = Ipv4Addr::new(10, 0, 0, 1);
    let found = AwsEc2::new(&sdk_at(&server.url)).interfaces(&[address]).await.unwrap();
    let groups = ["sg-1", "sg-2"].map(str::to_owned).to_vec();
    let expected = Interface { address, vpc: "vpc-1".to_owned(), subnet: "subnet-1".to_owned(), groups };
    // Of both pages
    assert_eq!(found, [expected.clone(), expected]);
    let [first, second] = server.requests().try_into().unwrap_or_else(|all| panic!("two requests: {all:?}"));
    let form = "Action=DescribeNetworkInterfaces&Version=2016-11-15&Filter.1.Name=addresses.private-ip-address&Filter.1.Value.1=10.0.0.1";
    assert_eq!((first.body.as_str(), second.body.as_str()), (form, format!("{form}&NextToken=more%2F1").as_str()));
}

#[tokio::test]
async fn every_kind_of_security_group_rule_is_read() {
    let rule = |egress: bool, protocol: &str, ports: (i32, i32), peer: &str| {
        format!(
            "<item><securityGroupRuleId>sgr-1</securityGroupRuleId><groupId>sg-1</groupId><groupOwnerId>1</groupOwnerId>\
             <isEgress>{egress}</isEgress><ipProtocol>{protocol}</ipProtocol><fromPort>{}</fromPort><toPort>{}</toPort>{peer}\
             <tagSet/></item>",
            ports.0, ports.1
        )
    };
    let items = [
        rule(true, "-1", (-1, -1), "<cidrIpv4>0.0.0.0/0</cidrIpv4>"),
        rule(false, "tcp", (20_000, 20_001), "<referencedGroupInfo><groupId>sg-2</groupId></referencedGroupInfo>"),
        rule(false, "tcp", (1, 2), "<prefixListId>pl-1</prefixListId>"),
        rule(false, "tcp", (1, 2), "<cidrIpv6>::/0</cidrIpv6>"),
    ]
    .concat();
    let server =
        Recorder::start(move |_, _| Answer::ok(page("DescribeSecurityGroupRules", "securityGroupRuleSet", &items, "")))
            .await;
    let found = AwsEc2::new(&sdk_at(&server.url)).group_rules(&["sg-1".to_owned()]).await.unwrap();
    let rule = |is_egress: bool, protocol: &str, ports: Ports, peer: RulePeer| GroupRule {
        group: "sg-1".to_owned(),
        is_egress,
        protocol: protocol.to_owned(),
        ports,
        peer,
    };
    let expected = [
        rule(true, "-1", Ports::ALL, RulePeer::Block("0.0.0.0/0".parse().unwrap())),
        rule(false, "tcp", Ports::new(20_000, 20_001), RulePeer::Group("sg-2".to_owned())),
        rule(false, "tcp", Ports::new(1, 2), RulePeer::PrefixList("pl-1".to_owned())),
        rule(false, "tcp", Ports::new(1, 2), RulePeer::Other),
    ];
    assert_eq!(found, expected);
    // None is asked about none
    assert_eq!(AwsEc2::new(&sdk_at(&server.url)).group_rules(&[]).await.unwrap(), []);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn entries_of_a_network_acl_are_in_the_order_in_which_they_decide() {
    let entry = |number: u32, egress: bool, action: &str, protocol: &str, rest: &str| {
        format!(
            "<item><ruleNumber>{number}</ruleNumber><protocol>{protocol}</protocol><ruleAction>{action}</ruleAction>\
             <egress>{egress}</egress>{rest}</item>"
        )
    };
    let range = "<cidrBlock>10.0.0.0/8</cidrBlock><portRange><from>1024</from><to>65535</to></portRange>";
    let entries = [
        entry(32_767, false, "deny", "-1", "<cidrBlock>0.0.0.0/0</cidrBlock>"),
        entry(100, false, "allow", "6", range),
        entry(101, true, "allow", "-1", "<ipv6CidrBlock>::/0</ipv6CidrBlock>"),
    ]
    .concat();
    let item = format!(
        "<item><networkAclId>acl-1</networkAclId><vpcId>vpc-1</vpcId><default>true</default><entrySet>{entries}</entrySet>\
         <associationSet><item><networkAclAssociationId>a</networkAclAssociationId><networkAclId>acl-1</networkAclId>\
         <subnetId>subnet-1</subnetId></item></associationSet></item>"
    );
    let server = Recorder::start(move |_, _| Answer::ok(page("DescribeNetworkAcls", "networkAclSet", &item, ""))).await;
    let found = AwsEc2::new(&sdk_at(&server.url)).network_acls(&["subnet-1".to_owned()]).await.unwrap();
    let entry = |number, is_egress, allows, protocol: &str, ports, block: Option<&str>| {
        let block = block.map(|block| block.parse().unwrap());
        AclEntry { number, is_egress, allows, protocol: protocol.to_owned(), ports, block }
    };
    let entries = vec![
        entry(100, false, true, "6", Ports::new(1024, 65_535), Some("10.0.0.0/8")),
        entry(101, true, true, "-1", Ports::ALL, None),
        entry(32_767, false, false, "-1", Ports::ALL, Some("0.0.0.0/0")),
    ];
    assert_eq!(found, [NetworkAcl { id: "acl-1".to_owned(), subnets: vec!["subnet-1".to_owned()], entries }]);
}

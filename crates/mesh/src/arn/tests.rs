use proptest::prelude::*;

use super::*;

const ID: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn every_partition_parses() {
    for partition in ["aws", "aws-cn", "aws-us-gov", "aws-iso", "aws-iso-b", "aws-eusc"] {
        let cluster: ClusterArn = format!("arn:{partition}:ecs:xx-east-1:123456789012:cluster/prod").parse().unwrap();
        assert_eq!(cluster.name(), "prod");
        assert_eq!(cluster.aws_partition(), partition);
        assert_eq!(cluster.account(), "123456789012");
        assert_eq!(cluster.region(), "xx-east-1");
    }
}

#[test]
fn both_task_arn_formats_are_in_their_cluster() {
    let prod: ClusterArn = "arn:aws:ecs:us-east-1:123456789012:cluster/prod".parse().unwrap();
    let test: ClusterArn = "arn:aws:ecs:us-east-1:123456789012:cluster/test".parse().unwrap();
    let new: TaskArn = format!("arn:aws:ecs:us-east-1:123456789012:task/prod/{ID}").parse().unwrap();
    let old: TaskArn = "arn:aws:ecs:us-east-1:123456789012:task/c5cba4eb-5dad-405e-96db-71ef8eefe6a8".parse().unwrap();
    assert_eq!(new.id().as_str(), ID);
    assert!(new.is_in(&prod) && !new.is_in(&test));
    assert!(old.is_in(&prod) && old.is_in(&test));
    assert_eq!((new.cluster(), new.region()), (Some(prod), "us-east-1"));
    assert_eq!((old.cluster(), old.region()), (None, "us-east-1"));
}

#[test]
fn arn_of_another_account_is_not_in_the_cluster() {
    let prod: ClusterArn = "arn:aws:ecs:us-east-1:123456789012:cluster/prod".parse().unwrap();
    for stem in
        ["aws-cn:ecs:us-east-1:123456789012", "aws:ecs:eu-west-1:123456789012", "aws:ecs:us-east-1:999999999999"]
    {
        let task: TaskArn = format!("arn:{stem}:task/prod/{ID}").parse().unwrap();
        let definition: TaskDefinitionArn = format!("arn:{stem}:task-definition/web:7").parse().unwrap();
        assert!(!task.is_in(&prod) && !definition.is_beside(&prod), "{stem}");
    }
}

#[test]
fn another_kind_of_resource_is_neither_a_task_nor_its_definition() {
    let of = |resource: &str| format!("arn:aws:ecs:us-east-1:123456789012:{resource}");
    assert_eq!(TaskDefinitionArn::of_task(&of("daemon-task-definition/agent:1")), Ok(None));
    assert_eq!(TaskDefinitionArn::of_task(&of("task-definition/web:7")).unwrap().unwrap().short_name(), "web:7");
    assert!(TaskDefinitionArn::of_task(&of("task-definition/web")).is_err());
    assert!(TaskDefinitionArn::of_task("nonsense").is_err());
    assert_eq!(TaskArn::of_listed(&of(&format!("daemon/prod/{ID}"))), Ok(None));
    assert_eq!(TaskArn::of_listed(&of(&format!("task/prod/{ID}"))).unwrap().unwrap().id().as_str(), ID);
    assert!(TaskArn::of_listed(&of("task/prod/of-a-new-form")).is_err());
}

#[test]
fn namesakes_differ_only_in_case() {
    let [prod, upper, test] = ["prod", "PROD", "test"]
        .map(|name| format!("arn:aws:ecs:us-east-1:123456789012:cluster/{name}").parse::<ClusterArn>().unwrap());
    assert!(prod.is_namesake_of(&upper) && upper.is_namesake_of(&prod));
    assert!(!prod.is_namesake_of(&prod) && !prod.is_namesake_of(&test));
}

#[test]
fn a_cluster_mark_may_be_a_name_or_an_arn() {
    let arn = "arn:aws:ecs:us-east-1:123456789012:cluster/prod";
    let prod: ClusterArn = arn.parse().unwrap();
    assert!(prod.is_named_by("prod") && prod.is_named_by(arn));
    assert!(!prod.is_named_by("prod2") && !prod.is_named_by("arn:aws:ecs:eu-west-1:123456789012:cluster/prod"));
}

#[test]
fn task_definition_arn_has_its_family() {
    let arn: TaskDefinitionArn = "arn:aws:ecs:us-east-1:123456789012:task-definition/web_1:7".parse().unwrap();
    assert_eq!(arn.family().as_str(), "web_1");
    for revision in ["", "x", "-7", "+7", "07", "4294967296", "7 "] {
        let arn = format!("arn:aws:ecs:us-east-1:123456789012:task-definition/web:{revision}");
        assert!(arn.parse::<TaskDefinitionArn>().is_err(), "{arn}");
    }
}

#[test]
fn errors_name_the_field_and_the_value() {
    let error = "arn:aws:s3:::bucket".parse::<TaskArn>().unwrap_err().to_string();
    assert!(error.starts_with("task ARN: got \"arn:aws:s3:::bucket\", expected a task ARN"), "{error}");
}

#[test]
fn malformed_arns_are_rejected() {
    for arn in [
        "",
        "arn:aws:ecs:us-east-1:123456789012:cluster/",
        "arn:aws:ecs:us-east-1:12345:cluster/prod",
        "arn:aws:ecs::123456789012:cluster/prod",
        "arn:azure:ecs:us-east-1:123456789012:cluster/prod",
        "arn:aws:ecs:us-east-1:123456789012:cluster/a/b",
        "arn:aws:ecs:us-east-1:123456789012:cluster/a\" or \"\" == \"",
    ] {
        assert!(arn.parse::<ClusterArn>().is_err(), "{arn}");
    }
    for arn in [
        "arn:aws:ecs:us-east-1:123456789012:task/prod/".to_owned(),
        format!("arn:aws:ecs:us-east-1:123456789012:task/prod/x/{ID}"),
        format!("arn:aws:ecs:us-east-1:123456789012:task/prod/{ID}0"),
        format!("arn:aws:ecs:us-east-1:123456789012:cluster/prod/{ID}"),
    ] {
        assert!(arn.parse::<TaskArn>().is_err(), "{arn}");
    }
    assert!("arn:aws:ecs:us-east-1:123456789012:task-definition/web".parse::<TaskDefinitionArn>().is_err());
}

#[test]
fn revisions_of_one_definition_have_an_order() {
    let arn = |name: &str| -> TaskDefinitionArn {
        format!("arn:aws:ecs:us-east-1:123456789012:task-definition/{name}").parse().unwrap()
    };
    assert_eq!(arn("web:10").previous(), Some(arn("web:9")));
    assert_eq!(arn("web:1").previous(), None);
    assert_eq!(arn("web:3").earlier().collect::<Vec<_>>(), [arn("web:2"), arn("web:1")]);
    assert_eq!(arn("web:10").earlier().last(), Some(arn("web:5")));
    // By number, not as text
    assert!(arn("web:9").is_before(&arn("web:10")) && !arn("web:10").is_before(&arn("web:9")));
    assert!(!arn("web:9").is_before(&arn("web:9")) && !arn("api:9").is_before(&arn("web:10")));
}

proptest! {
    #[test]
    fn parsing_never_panics(text in "\\PC*") {
        let _ = text.parse::<ClusterArn>();
        let _ = text.parse::<TaskArn>();
        let _ = text.parse::<TaskDefinitionArn>();
    }

    #[test]
    fn display_returns_the_parsed_text(name in "[A-Za-z0-9_-]{1,40}", id in "[0-9a-f]{32}") {
        let arn = format!("arn:aws-cn:ecs:cn-north-1:123456789012:task/{name}/{id}");
        prop_assert_eq!(arn.parse::<TaskArn>().unwrap().to_string(), arn);
    }
}

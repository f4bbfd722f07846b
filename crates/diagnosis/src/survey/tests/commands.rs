//! The commands of findings, which users copy into a shell.

use super::*;

#[test]
fn commands_repeat_the_options_of_aws_that_the_survey_had() {
    let commands = |options: Vec<(&'static str, &'static str)>| -> Vec<String> {
        let findings = found(|world| {
            lose_tag(&mut world.inspection.clusters[0], 1);
            world.datacenter.intentions = Ok(Vec::new());
            let repair = PlannedAction::Repair { task_id: id(2).to_string(), instances: vec![], checks: vec![] };
            of_plan(world).planned.extend([repair, PlannedAction::ForceLeave { node: "ip-10-0-0-1".into() }]);
            world.options = options;
        });
        findings.into_iter().flat_map(|finding| finding.commands).collect()
    };
    let why = format!("ecs-mesh why {} --cluster prod", id(2));
    let given = commands(vec![("--profile", "on call"), ("--region", "us-east-1")]);
    for command in [
        format!("{why} --profile 'on call' --region us-east-1"),
        "ecs-mesh check --cluster prod --profile 'on call' --region us-east-1".to_owned(),
        "ecs-mesh path --to web --profile 'on call' --region us-east-1".to_owned(),
        "consul force-leave -prune ip-10-0-0-1".to_owned(),
    ] {
        assert!(given.contains(&command), "{command}: {given:#?}");
    }
    let plain = commands(Vec::new());
    assert!(plain.contains(&why) && plain.contains(&"ecs-mesh check --cluster prod".to_owned()), "{plain:#?}");
}

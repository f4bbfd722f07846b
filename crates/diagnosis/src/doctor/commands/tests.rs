//! Tests of the checks in [`super`].

use super::*;

mod command_lines {
    use super::*;
    use crate::doctor::examples;

    #[test]
    fn commands_go_to_the_same_place() {
        let commands = Commands { profile: Some("prod".to_owned()), ..examples::commands() };
        assert_eq!(
            commands.aws("sts get-caller-identity"),
            "aws sts get-caller-identity --region us-east-1 --profile prod"
        );
        assert_eq!(examples::commands().ecs_mesh("redrive"), "ecs-mesh redrive --stack mesh --region us-east-1");
    }

    #[test]
    fn name_that_a_shell_would_read_is_quoted() {
        let commands = Commands { profile: Some("prod; reboot".to_owned()), ..examples::commands() };
        assert_eq!(commands.aws("sts"), "aws sts --region us-east-1 --profile 'prod; reboot'");
        assert_eq!((word(""), word("arn:aws:a/b-c")), ("''".to_owned(), "arn:aws:a/b-c".to_owned()));
    }

    #[test]
    fn update_keeps_the_template_and_the_other_parameters() {
        let stack = examples::stack("mesh", &[("Mode", "act"), ("EcsClusterArns", "*")]);
        let expected = "aws cloudformation update-stack --stack-name mesh --use-previous-template --parameters \
                        'ParameterKey=Mode,ParameterValue=\"observe\"' ParameterKey=EcsClusterArns,UsePreviousValue=true \
                        --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND --region us-east-1";
        assert_eq!(examples::commands().update(&stack, &[("Mode", "observe")]), expected);
    }

    #[test]
    fn text_is_one_word() {
        assert_eq!(quoted("acl = \"write\""), "'acl = \"write\"'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}

mod policy {
    use mesh::permissions::required_to_observe;

    use super::*;

    #[test]
    fn policy_has_all_rules() {
        let command = update_policy("ours", &policy_rules(&required_to_observe()));
        let start =
            "consul acl policy update -name ours -rules 'acl = \"read\"\nagent_prefix \"\" { policy = \"read\" }\n";
        assert!(command.starts_with(start), "{command}");
    }
}

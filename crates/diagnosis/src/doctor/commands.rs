//! Commands that a person can paste.

/// Commands for one stack, in the region and with the profile of the person who asks.
#[derive(Debug, Clone)]
pub struct Commands {
    /// The name of the stack.
    pub stack: String,
    /// The region.
    pub region: String,
    /// The profile, if one was given.
    pub profile: Option<String>,
}

impl Commands {
    /// A command of the AWS CLI.
    pub(super) fn aws(&self, words: &str) -> String {
        format!("aws {words}{}", self.place())
    }

    /// A command of `ecs-mesh` for the stack.
    pub(super) fn ecs_mesh(&self, words: &str) -> String {
        format!("ecs-mesh {words} --stack {}{}", self.stack, self.place())
    }

    /// A deployment that sets some parameters.
    pub(super) fn deploy(&self, parameters: &str) -> String {
        format!("sam deploy --stack-name {} --parameter-overrides {parameters}{}", self.stack, self.place())
    }

    /// The first deployment.
    pub(super) fn first_deploy(&self) -> String {
        format!("sam build && sam deploy --guided --stack-name {}{}", self.stack, self.place())
    }

    fn place(&self) -> String {
        let profile = self.profile.as_ref().map(|profile| format!(" --profile {profile}")).unwrap_or_default();
        format!(" --region {}{profile}", self.region)
    }
}

/// A text as one word of a shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
pub(super) fn of_tests() -> Commands {
    Commands { stack: "mesh".to_owned(), region: "us-east-1".to_owned(), profile: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_go_to_the_same_place() {
        let commands = Commands { profile: Some("prod".to_owned()), ..of_tests() };
        assert_eq!(
            commands.aws("sts get-caller-identity"),
            "aws sts get-caller-identity --region us-east-1 --profile prod"
        );
        assert_eq!(of_tests().ecs_mesh("redrive"), "ecs-mesh redrive --stack mesh --region us-east-1");
    }

    #[test]
    fn text_is_one_word() {
        assert_eq!(quoted("acl = \"write\""), "'acl = \"write\"'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}

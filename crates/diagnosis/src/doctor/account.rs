//! The check of the AWS credentials.

use aws::installation::Caller;

use super::{Read, commands::Commands, report::Check};

const NAME: &str = "aws";

/// Whether there are credentials, and whose they are.
pub(super) fn check(caller: &Read<Caller>, commands: &Commands) -> Check {
    match caller {
        Ok(caller) => Check::ok(NAME, format!("account {}, as {}", caller.account, caller.arn)),
        Err(why) => Check::failed(NAME, why).mended_by([commands.aws("sts get-caller-identity")]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::{CheckOutcome, commands::of_tests};

    #[test]
    fn caller_is_said() {
        let caller =
            Caller { account: "123456789012".to_owned(), arn: "arn:aws:iam::123456789012:user/ana".to_owned() };
        let made = check(&Ok(caller), &of_tests());
        assert_eq!(
            (made.outcome, made.seen.as_str()),
            (CheckOutcome::Ok, "account 123456789012, as arn:aws:iam::123456789012:user/ana")
        );
    }

    #[test]
    fn without_credentials_nothing_works() {
        let made = check(&Err("the AWS credentials: the call failed: expired".to_owned()), &of_tests());
        assert_eq!(made.outcome, CheckOutcome::Failed);
        assert_eq!(made.mend, ["aws sts get-caller-identity --region us-east-1"]);
    }
}

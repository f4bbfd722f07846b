//! What the policies of a role allow. Source:
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html>

use audit_read::definition::Statement;
use document::HOLE;

/// A call to AWS.
pub(super) struct Call<'c> {
    /// `ecs:ListTasks`.
    pub(super) action: &'c str,
    /// The ARNs of its objects. In an unknown part, `*` stands for any text without a colon. One of them is enough.
    /// Empty if the action knows no resource.
    pub(super) resources: Vec<String>,
}

/// What a role's policies say of a call.
pub(super) enum Permission<'s> {
    /// These statements allow it, certainly or possibly.
    Allowed(Vec<&'s Statement>),
    /// No statement allows the action.
    Missing,
    /// This statement allows the action, but for other resources.
    Elsewhere(&'s Statement),
    /// This statement denies it. No other statement can allow it.
    Denied(&'s Statement),
}

impl Call<'_> {
    /// What the statements of all policies say.
    pub(super) fn permission<'s>(&self, statements: &'s [Statement]) -> Permission<'s> {
        let of_action: Vec<&Statement> = statements.iter().filter(|statement| self.is_in(statement)).collect();
        if let Some(denial) = of_action.iter().find(|statement| self.is_denied_by(statement)) {
            return Permission::Denied(denial);
        }
        let allowing: Vec<&Statement> = of_action.into_iter().filter(|statement| statement.is_allowing).collect();
        match allowing.first() {
            None => Permission::Missing,
            Some(first) if !allowing.iter().any(|statement| self.is_allowed_by(statement)) => {
                Permission::Elsewhere(first)
            }
            Some(_) => Permission::Allowed(allowing),
        }
    }

    /// Whether a statement is about it. The case of an action does not matter.
    fn is_in(&self, statement: &Statement) -> bool {
        statement.actions.iter().any(|pattern| {
            if pattern.contains(['*', '?']) {
                may_match(&pattern.to_ascii_lowercase(), &self.action.to_ascii_lowercase())
            } else {
                pattern.eq_ignore_ascii_case(self.action)
            }
        })
    }

    /// Whether one of the resources of a statement certainly or possibly covers the call.
    fn is_allowed_by(&self, statement: &Statement) -> bool {
        let covers = |resource: &Option<String>| match resource.as_deref() {
            None => true,
            Some(pattern) if self.resources.is_empty() => is_all(pattern),
            // An unknown part may be any text.
            Some(pattern) => self.resources.iter().any(|arn| may_match(&pattern.replace(HOLE, "*"), arn)),
        };
        statement.resources.is_empty() || statement.resources.iter().any(covers)
    }

    /// Whether a statement is a denial that certainly covers the call.
    fn is_denied_by(&self, statement: &Statement) -> bool {
        let is_its = |pattern: &str| {
            let is_known = |arn: &&String| !arn.contains('*');
            is_all(pattern) || self.resources.iter().filter(is_known).any(|arn| may_match(pattern, arn))
        };
        let covers = |resource: &Option<String>| {
            resource.as_deref().filter(|pattern| !pattern.contains(HOLE)).is_some_and(is_its)
        };
        !statement.is_allowing && statement.condition.is_none() && statement.resources.iter().any(covers)
    }
}

/// Whether a pattern of IAM matches every resource, also of an action that knows none.
fn is_all(pattern: &str) -> bool {
    !pattern.is_empty() && pattern.bytes().all(|byte| byte == b'*')
}

/// Whether a pattern of IAM matches an ARN of this form. In a pattern, `*` is any text, also with colons, and `?` any
/// character. Source: <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_resource.html>
fn may_match(pattern: &str, form: &str) -> bool {
    let form = form.as_bytes();
    // The region and the account, before the fifth colon, have no slash.
    let colons = form.iter().enumerate().filter(|(_, byte)| **byte == b':');
    let resource = colons.map(|(at, _)| at).nth(4).unwrap_or_default();
    // The text of a star in the form may be empty.
    let with_star = |at: usize| at..=at + usize::from(form.get(at) == Some(&b'*'));
    let after = |at: usize, read: u8| match form.get(at)? {
        b'*' if read != b':' && (read != b'/' || at > resource) => Some(at),
        expected if [*expected, b'?'].contains(&read) => Some(at + 1),
        _ => None,
    };
    // How far the form may have been read with the pattern so far: a few ascending positions.
    let mut positions: Vec<usize> = with_star(0).collect();
    for next in pattern.bytes() {
        let Some(first) = positions.first() else { return false };
        positions = match next {
            b'*' => (*first..=form.len()).collect(),
            _ => positions.iter().filter_map(|at| after(*at, next)).flat_map(with_star).collect(),
        };
        positions.sort_unstable();
        positions.dedup();
    }
    positions.last() == Some(&form.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_a_form() {
        let secret = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:db-AbCdEf";
        for (pattern, form, expected) in [
            (secret, secret, true),
            ("arn:aws:secretsmanager:*:*:secret:db-??????", secret, true),
            ("arn:aws:secretsmanager:*:*:secret:db-??????", "arn:aws:secretsmanager:*:*:secret:db*", true),
            ("arn:aws:secretsmanager:*:*:secret:cache-*", secret, false),
            ("arn:aws:ssm:*:*:parameter/db", secret, false),
            ("*", secret, true),
            ("arn:aws:ssm:*:*:parameter/web/*", "arn:*:ssm:*:*:parameter/web/licence", true),
            ("arn:aws:ssm:*:*:parameter/shop/*", "arn:*:ssm:*:*:parameter/web/licence", false),
            ("arn:aws:ecs:*:*:task/mesh/*", "arn:*:ecs:*:*:task/*", true),
        ] {
            assert_eq!(may_match(pattern, form), expected, "{pattern} {form}");
        }
    }
}

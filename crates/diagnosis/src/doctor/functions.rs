//! The checks that the functions make from where they run: Consul, the controller's token, the set-up, their roles, a sweep.

#[cfg(test)]
mod tests;

use mesh::{
    permissions::{Permission, required, required_to_observe},
    settings::Mode,
};
use observe::{DeployedStack, Invoked, StackResources};
use report::{CheckReport, ErrorLabel, Problem};
use serde::Deserialize;

use super::{
    Check,
    commands::{Commands, POLICY_FILE, attach_policy, create_policy, keep_token, policy_rules, update_policy, word},
    stacks::{clusters, mode, parameter},
    surroundings::has_no_logins,
};

const REACH: &str = "consul-from-functions";
const TOKEN: &str = "consul-token";
const SET_UP: &str = "consul-set-up";
const ROLES: &str = "roles";
const SWEEP: &str = "sweep";
/// [`mesh::permissions::OPERATOR`] is optional where client agents may exist.
const KEEP_OPERATOR: &str =
    ". Keep operator = \"write\" if tasks run client agents: without it, the nodes of dead agents stay";

pub(super) struct Subject<'a> {
    pub(super) stack: &'a DeployedStack,
    pub(super) resources: &'a StackResources,
    /// The start of the ARNs of clusters.
    pub(super) clusters: &'a str,
    pub(super) commands: &'a Commands,
}

impl Subject<'_> {
    /// The physical ID of a resource; its name in the template if the stack does not have it.
    pub(super) fn id<'a>(&'a self, name: &'a str) -> &'a str {
        observe::physical_id(self.resources, name)
    }

    /// The rules of the documented policy, as one word of a shell.
    fn rules(&self) -> String {
        self.permissions().map_or_else(|| POLICY_FILE.to_owned(), |permissions| policy_rules(&permissions))
    }

    /// The permissions of the documented policy; `None` if they differ by partition.
    fn permissions(&self) -> Option<Vec<Permission>> {
        let has_partitions =
            ["ConsulPartition", "ClusterPartitions"].iter().any(|it| !parameter(self.stack, it).is_empty());
        let selection = clusters(self.stack, self.clusters).ok().filter(|_| !has_partitions)?;
        let has_agents =
            parameter(self.stack, "Bootstrap") == "full" || parameter(self.stack, "TokenMode") == "secrets-manager";
        Some(if mode(self.stack).acts() {
            required(&selection, selection.patterns(), has_agents)
        } else {
            required_to_observe()
        })
    }

    fn log(&self, group: &str) -> String {
        self.commands.aws(&format!("logs tail {} --since 1h", word(self.id(group))))
    }
}

/// The checks of what the functions say, or why they do not.
pub(super) fn checks(answer: &Result<CheckReport, NoAnswer>, subject: &Subject<'_>) -> Vec<Check> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(why) => {
            let first = match why {
                NoAnswer::Failed(why) => Check::failed(REACH, why),
                NoAnswer::Unasked(why) => Check::unknown(REACH, why),
            };
            let first = first.with_commands([subject.log("ReconcileLogGroup")]);
            let others = [TOKEN, SET_UP, ROLES, SWEEP];
            let unasked = "reconcile did not answer";
            return [first].into_iter().chain(others.map(|name| Check::unknown(name, unasked))).collect();
        }
    };
    let mut checks = vec![reach(answer, subject), token(answer, subject)];
    if let Some(problem) = &answer.consul {
        let unasked = format!("not checked because Consul did not answer ({})", problem.label.as_str());
        checks.extend([SET_UP, ROLES, SWEEP].map(|name| Check::unknown(name, &unasked)));
    } else {
        checks.extend([set_up(answer, subject), roles(answer, subject), sweep(answer, subject)]);
    }
    checks
}

/// What the reason says if the functions do not trust the certificate of Consul's servers.
const UNTRUSTED: &str = "invalid peer certificate";

/// Whether the functions reach Consul.
fn reach(answer: &CheckReport, subject: &Subject<'_>) -> Check {
    let address = parameter(subject.stack, "ConsulHttpAddr");
    match &answer.consul {
        None => {
            let version = answer.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
            Check::ok(REACH, format!("reconcile reaches Consul{version} at {address}"))
        }
        Some(problem) if problem.label == ErrorLabel::ConsulCredentialRejected => {
            Check::ok(REACH, format!("Consul at {address} refused reconcile's token"))
        }
        Some(problem) if problem.label == ErrorLabel::ConsulCredentialUnreadable => {
            Check::unknown(REACH, &problem.reason)
        }
        Some(problem) if problem.reason.contains(UNTRUSTED) => {
            let server = address.split_once("://").map_or("", |(_, rest)| rest);
            let server = server.split(',').next().filter(|_| address.starts_with("https:")).unwrap_or("SERVER:8501");
            let show = format!(
                "openssl s_client -connect {} </dev/null | openssl x509 -noout -dates -issuer -subject",
                word(server)
            );
            Check::failed(REACH, &problem.reason).with_commands([show])
        }
        Some(problem) => {
            let vpc = format!(
                "lambda get-function-configuration --function-name {} --query \
                 '[Environment.Variables.CONSUL_HTTP_ADDR,VpcConfig.[SubnetIds,SecurityGroupIds]]'",
                word(subject.id("ReconcileFunction"))
            );
            let changes =
                [("ConsulHttpAddr", "ADDRESS"), ("VpcSubnetIds", "SUBNETS"), ("VpcSecurityGroupIds", "GROUPS")];
            let address = subject.commands.update(subject.stack, &changes);
            Check::failed(REACH, &problem.reason).with_commands([subject.commands.aws(&vpc), address])
        }
    }
}

/// Whether the controller's token is known, and has all permissions.
fn token(answer: &CheckReport, subject: &Subject<'_>) -> Check {
    let secret = parameter(subject.stack, "ConsulHttpTokenSecretArn");
    match &answer.consul {
        Some(problem) if problem.label == ErrorLabel::ConsulCredentialRejected => {
            let name = &subject.stack.name;
            // Without a token, nothing is stored.
            let store = format!(
                "secretsmanager put-secret-value --secret-id {} --secret-string \"${{SECRET_ID:?}}\"",
                word(secret)
            );
            let seen = format!("Consul does not know the token in the secret {secret}");
            return Check::failed(TOKEN, seen).with_commands([
                create_policy(name, &subject.rules()),
                keep_token(name),
                subject.commands.aws(&store),
            ]);
        }
        Some(problem) if problem.label == ErrorLabel::ConsulCredentialUnreadable => {
            let describe =
                subject.commands.aws(&format!("secretsmanager describe-secret --secret-id {}", word(secret)));
            let commands = if is_denied(problem) { role_commands(subject).to_vec() } else { vec![describe] };
            return Check::failed(TOKEN, &problem.reason).with_commands(commands);
        }
        Some(_) => return Check::unknown(TOKEN, "the functions do not reach Consul"),
        None => {}
    }
    let named = answer.token.as_ref().map(|token| format!("the token {}", token.accessor_id));
    if answer.missing_permissions.is_empty() {
        let excess = answer.token.as_ref().map(|token| token.excess.join("; ")).unwrap_or_default();
        return match named {
            Some(named) if !excess.is_empty() => {
                let mut seen = format!("{named} has more than Mode={} needs: {excess}", mode_of(subject));
                if excess.contains("operator = ") && mode(subject.stack).acts() {
                    seen.push_str(KEEP_OPERATOR);
                }
                let commands =
                    has_own_policy(answer, subject).then(|| update_policy(&subject.stack.name, &subject.rules()));
                Check::warning(TOKEN, seen).with_commands(commands)
            }
            Some(named) => {
                Check::ok(TOKEN, format!("{named} has every permission that Mode={} needs", mode_of(subject)))
            }
            None if answer.acls_disabled => {
                Check::warning(TOKEN, "ACLs are off in Consul: no tokens are created, and tasks cannot log in")
            }
            None => Check::unknown(TOKEN, "the token has every permission, but Consul did not identify it"),
        };
    }
    let replaced = if has_own_policy(answer, subject) {
        format!(". The command replaces the rules of policy {} for every token with this policy", subject.stack.name)
    } else {
        String::new()
    };
    let seen = format!(
        "{} lacks: {}{replaced}",
        named.unwrap_or_else(|| "the controller's token".to_owned()),
        answer.missing_permissions.join("; ")
    );
    Check::failed(TOKEN, seen).with_commands(policy_update(answer, subject))
}

fn mode_of(subject: &Subject<'_>) -> &'static str {
    mode(subject.stack).as_str()
}

/// Whether the token has a policy with the name of the stack. Only that one belongs to this stack: others may be builtin, or those of
/// another stack's token.
fn has_own_policy(answer: &CheckReport, subject: &Subject<'_>) -> bool {
    answer.token.as_ref().is_some_and(|token| token.policies.contains(&subject.stack.name))
}

/// The commands that give the token its permissions.
fn policy_update(answer: &CheckReport, subject: &Subject<'_>) -> Vec<String> {
    let (name, rules) = (&subject.stack.name, subject.rules());
    if has_own_policy(answer, subject) {
        return vec![update_policy(name, &rules)];
    }
    let accessor_id = answer.token.as_ref().map_or("ACCESSOR_ID", |token| token.accessor_id.as_str());
    vec![create_policy(name, &rules), attach_policy(name, accessor_id)]
}

/// The objects that a Consul without auth methods of type `aws-iam` cannot have.
const LOGINS: [&str; 2] = ["auth method ", "binding rule "];

/// Whether Consul has what tasks need to log in.
fn set_up(answer: &CheckReport, subject: &Subject<'_>) -> Check {
    let set_up = &answer.set_up;
    if parameter(subject.stack, "Bootstrap") == "none" {
        return Check::ok(SET_UP, "Bootstrap=none: you set Consul up yourself");
    }
    if !set_up.failed.is_empty() {
        let seen = format!("some objects could not be compared: {}", set_up.failed.join("; "));
        return Check::failed(SET_UP, seen).with_commands([subject.log("ReconcileLogGroup")]);
    }
    let is_old = answer.version.as_deref().is_some_and(has_no_logins);
    let (impossible, wanted): (Vec<&str>, Vec<&str>) = set_up
        .missing
        .iter()
        .chain(&set_up.incomplete)
        .map(String::as_str)
        .partition(|object| is_old && LOGINS.iter().any(|kind| object.starts_with(kind)));
    let impossible: Vec<&str> = set_up.skipped.iter().map(String::as_str).chain(impossible).collect();
    let skipped = match impossible.as_slice() {
        [] => String::new(),
        objects => format!("; this Consul does not support {}", objects.join(", ")),
    };
    match (wanted.as_slice(), mode(subject.stack)) {
        ([], _) if impossible.is_empty() => Check::ok(SET_UP, format!("all {} objects exist", set_up.complete)),
        ([], _) => Check::warning(SET_UP, format!("{} objects exist{skipped}", set_up.complete)),
        (wanted, Mode::Observe) => Check::ok(SET_UP, format!("Mode=act would set up {}{skipped}", wanted.join(", "))),
        (wanted, Mode::Act) => {
            let seen = format!(
                "missing or incomplete in Consul: {}{skipped}. ecs-mesh sweep sets them up now, a scheduled sweep \
                 within an hour",
                wanted.join(", ")
            );
            Check::failed(SET_UP, seen).with_commands([subject.commands.ecs_mesh("sweep")])
        }
    }
}

/// Whether a problem is a permission that a role lacks: the words of AWS's errors.
fn is_denied(problem: &Problem) -> bool {
    let words = ["AccessDenied", "is not authorized to perform", "UnauthorizedOperation"];
    words.iter().any(|word| problem.reason.contains(word))
}

/// Whether the role of the function suffices for a sweep.
fn roles(answer: &CheckReport, subject: &Subject<'_>) -> Check {
    let denied: Vec<&str> = answer.problems.iter().filter(|it| is_denied(it)).map(|it| it.reason.as_str()).collect();
    if denied.is_empty() {
        return Check::ok(ROLES, "AWS allowed every read of a sweep");
    }
    Check::failed(ROLES, denied.join("; ")).with_commands(role_commands(subject))
}

/// The commands that give the role its policy back, and show what else was changed by hand.
fn role_commands(subject: &Subject<'_>) -> [String; 3] {
    let stack = word(&subject.stack.name);
    let attach = format!(
        "iam attach-role-policy --role-name {} --policy-arn {}",
        word(subject.id("ReconcileRole")),
        word(subject.id("MeshPolicy"))
    );
    let detect = format!("cloudformation detect-stack-drift --stack-name {stack}");
    let drifts = format!(
        "cloudformation describe-stack-resource-drifts --stack-name {stack} --stack-resource-drift-status-filters MODIFIED DELETED"
    );
    [attach, detect, drifts].map(|words| subject.commands.aws(&words))
}

/// Whether a sweep could do everything.
fn sweep(answer: &CheckReport, subject: &Subject<'_>) -> Check {
    let others: Vec<&str> = answer.problems.iter().filter(|it| !is_denied(it)).map(|it| it.reason.as_str()).collect();
    if !others.is_empty() {
        let seen = format!("a dry run could not read everything: {}", others.join("; "));
        return Check::failed(SWEEP, seen).with_commands([subject.log("ReconcileLogGroup")]);
    }
    let dry_run = subject.commands.ecs_mesh("sweep --dry-run");
    if !answer.held_back.is_empty() {
        let force = subject.commands.ecs_mesh("sweep --force");
        let seen = format!("held back: {}", answer.held_back.join("; "));
        return Check::warning(SWEEP, seen).with_commands([dry_run, force]);
    }
    if answer.faults.is_empty() {
        return Check::ok(SWEEP, "a dry run read everything and held nothing back");
    }
    let faults: Vec<String> = answer.faults.iter().map(ToString::to_string).collect();
    Check::warning(SWEEP, format!("left alone: {}", faults.join("; "))).with_commands([dry_run])
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// The function does not start, or fails.
    Failed(String),
    /// It could not be asked.
    Unasked(String),
}

/// The answer of the function.
///
/// # Errors
/// The function does not start, or its answer cannot be read.
pub(super) fn read_answer(invoked: Result<&Invoked, &String>) -> Result<CheckReport, NoAnswer> {
    match invoked {
        Ok(Invoked::Answer(value)) => CheckReport::deserialize(value)
            .map_err(|error| NoAnswer::Unasked(format!("the answer of reconcile cannot be read: {error}"))),
        Ok(Invoked::Error(message)) => Err(NoAnswer::Failed(format!("reconcile failed: {message}"))),
        Err(why) => Err(NoAnswer::Unasked(why.clone())),
    }
}

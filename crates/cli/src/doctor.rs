//! `ecs-mesh doctor`

use std::{env, fmt::Write};

use audit::report::counted;
use aws::{ecs::AwsEcs, installation::AwsInstallation, queue::DeadLetterQueues};
use clap::Args;
use diagnosis::doctor::{
    Check, CheckOutcome, Commands, DoctorReport, Plan, alarm_topic, before_install, clusters, installed,
};
use mesh::cluster_selection::ClusterSelection;
use observe::{AccountReading, Deadline, Inspector, InstallationReader, PartsReading};

use crate::{
    account::{AwsArguments, runtime},
    clients::LONGEST_READING,
    consul_variables::{ConsulVariables, names_consul},
    installation::{StackArguments, secret_prefix},
    output::{OutputArguments, Progress},
    sheet::{Cell, Medium, Sheet, Tone, wrapped},
    streams::{Exit, Failure, Streams},
};

/// Check the installation, and print the commands that correct it
#[derive(Debug, Args)]
#[command(
    after_help = "It only reads. It asks the stack's function `reconcile` what the function reaches. It also asks \
                  Consul from here if CONSUL_HTTP_ADDR is set, and always with --before-install. Consul's other \
                  variables: CONSUL_HTTP_TOKEN, CONSUL_HTTP_TOKEN_FILE, CONSUL_CACERT, CONSUL_TLS_SERVER_NAME, \
                  CONSUL_PARTITION, CONSUL_NAMESPACE.\n\n\
                  Exit codes: 0 no check failed, 1 a check failed, 2 no check failed, but a check could not run.\n\n\
                  Examples:\n  ecs-mesh doctor\n  ecs-mesh doctor --stack mesh-eu --region eu-west-1 --output json\n  \
                  ecs-mesh doctor --before-install --clusters 'prod-*'"
)]
pub(super) struct Arguments {
    /// Check whether an installation can succeed
    #[arg(long)]
    before_install: bool,
    /// Plan for these clusters, as in the parameter `EcsClusterArns`
    #[arg(long, value_name = "CLUSTERS", default_value = "*", requires = "before_install")]
    clusters: String,
    /// Plan for this prefix of secret names, as in the parameter `SecretNamePrefix`
    #[arg(long, value_name = "PREFIX", default_value = "consul-ecs", requires = "before_install")]
    secret_name_prefix: String,
    #[command(flatten)]
    stack: StackArguments,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    aws: AwsArguments,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        let report = Box::pin(check(arguments)).await?;
        arguments.output.show(&report, text, streams)?;
        Ok(exit(&report))
    })
}

async fn check(arguments: &Arguments) -> Result<DoctorReport, Failure> {
    let sdk = arguments.aws.sdk().await?;
    let variables = ConsulVariables::read(|name| env::var(name).ok())?;
    let consul = variables.client()?;
    let (ecs, installation) = (AwsEcs::new(&sdk), AwsInstallation::new(&sdk));
    let queues = DeadLetterQueues::new(&sdk);
    // Of an installation, only the controllers of consul-ecs are looked for, which does not depend on the names of secrets.
    let secret_prefix = secret_prefix(&arguments.secret_name_prefix).map_err(Failure::new)?;
    let inspector = Inspector {
        ecs: &ecs,
        consul: &consul,
        secret_prefix,
        default_tenancy: variables.tenancy.clone(),
        deadline: Deadline::after(LONGEST_READING),
    };
    let progress = Progress::new()?;
    let commands = Commands {
        stack: arguments.stack.stack.clone(),
        region: sdk.region().map(ToString::to_string).unwrap_or_default(),
        profile: arguments.aws.profile().map(str::to_owned),
    };
    let say = |what: &str| progress.say(what);
    let reader =
        InstallationReader { installation: &installation, queues: &queues, inspector: &inspector, progress: &say };
    let work = async {
        let account = reader.account(&commands.stack, &commands.region).await;
        if arguments.before_install {
            before(arguments, &reader, &account, &commands).await
        } else {
            of_installed(&reader, &account, &commands).await
        }
    };
    Ok(progress.during(work).await)
}

async fn of_installed(reader: &InstallationReader<'_>, account: &AccountReading, commands: &Commands) -> DoctorReport {
    let Ok(Some(stack)) = &account.stack else { return installed(account, None, commands) };
    let parts = reader.parts(&stack.name, names_consul()).await;
    let selection = clusters(stack, &account.cluster_arns).map_err(|invalid| invalid.to_string());
    let asks_consul = parts.as_ref().is_ok_and(PartsReading::has_consul_here);
    let surroundings = reader.surroundings(selection, alarm_topic(stack), asks_consul).await;
    installed(account, Some((&parts, &surroundings)), commands)
}

async fn before(
    arguments: &Arguments,
    reader: &InstallationReader<'_>,
    account: &AccountReading,
    commands: &Commands,
) -> DoctorReport {
    let selection = ClusterSelection::parse(&arguments.clusters, Some(&account.cluster_arns));
    let selection = selection.map_err(|invalid| invalid.to_string());
    let plan =
        Plan { clusters: &arguments.clusters, selection: &selection, secret_prefix: &arguments.secret_name_prefix };
    let (Ok(selected), Ok(_)) = (&selection, &account.stack) else {
        return before_install(&plan, account, None, commands);
    };
    let consul = reader.consul(selected).await;
    let surroundings = reader.surroundings(selection.clone(), None, false).await;
    before_install(&plan, account, Some((&consul, &surroundings)), commands)
}

fn exit(report: &DoctorReport) -> Exit {
    match (report.count(CheckOutcome::Failed), report.count(CheckOutcome::Unknown)) {
        (0, 0) => Exit::Clean,
        (0, _) => Exit::Unusable,
        _ => Exit::Findings,
    }
}

const OUTCOMES: [CheckOutcome; 4] =
    [CheckOutcome::Ok, CheckOutcome::Warning, CheckOutcome::Failed, CheckOutcome::Unknown];

/// The checks, the commands that correct what is not ok, and the number of checks of each kind.
fn text(report: &DoctorReport, medium: Medium) -> String {
    // One column for both, so that a narrow terminal has both above the sentence.
    let mut sheet = Sheet::new(&["result   check", "seen"]);
    for check in &report.checks {
        let (name, tone) = shown(check.outcome);
        sheet.add(vec![Cell::new(format!("{name:<7}  {}", check.check), tone), Cell::plain(&check.seen)]);
    }
    let mut out = sheet.text(medium);
    let with_commands =
        report.checks.iter().filter(|check| check.outcome != CheckOutcome::Ok && !check.commands.is_empty());
    out.extend(with_commands.map(|check| commands(check, medium)));
    // Writing to a `String` cannot fail.
    let _ = write!(out, "\n{}", wrapped(&Cell::plain(summary(report)), medium));
    out
}

/// The commands of a check, each as it can be pasted: they are not wrapped.
fn commands(check: &Check, medium: Medium) -> String {
    let (name, tone) = shown(check.outcome);
    let mut out = format!("\n{}", wrapped(&Cell::new(format!("{}: {name}", check.check), tone), medium));
    for line in check.commands.iter().flat_map(|command| command.lines()) {
        let _ = writeln!(out, "  {line}");
    }
    out
}

fn shown(outcome: CheckOutcome) -> (&'static str, Tone) {
    match outcome {
        CheckOutcome::Ok => ("ok", Tone::Good),
        CheckOutcome::Warning => ("warning", Tone::Pending),
        CheckOutcome::Failed => ("failed", Tone::Bad),
        CheckOutcome::Unknown => ("unknown", Tone::Pending),
    }
}

fn summary(report: &DoctorReport) -> String {
    let kinds = OUTCOMES.map(|outcome| (report.count(outcome), shown(outcome).0));
    let kinds = kinds.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}"));
    format!("{}: {}", counted(report.checks.len(), "check"), kinds.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> DoctorReport {
        let check = |check, outcome, seen: &str, commands: &[&str]| Check {
            check,
            outcome,
            seen: seen.to_owned(),
            commands: commands.iter().map(|&command| command.to_owned()).collect(),
        };
        let long = "aws lambda update-event-source-mapping --uuid 0123-4567 --enabled --region us-east-1";
        DoctorReport {
            read_at: "2026-11-23T12:00:00Z".parse().unwrap(),
            checks: vec![
                check("stack", CheckOutcome::Ok, "Stack mesh: CREATE_COMPLETE", &[]),
                check("queue", CheckOutcome::Failed, "about 3 messages are waiting", &[long]),
            ],
        }
    }

    #[test]
    fn command_is_not_wrapped() {
        let text = text(&report(), Medium { width: Some(40), in_colour: false });
        let commands =
            "\nqueue: failed\n  aws lambda update-event-source-mapping --uuid 0123-4567 --enabled --region us-east-1\n";
        assert!(text.contains(commands), "{text}");
        assert!(text.ends_with("\n2 checks: 1 ok, 1 failed\n"), "{text}");
    }

    #[test]
    fn pipe_gets_one_line_for_each_check() {
        let text = text(&report(), Medium { width: None, in_colour: false });
        let start = "result   check  seen\nok       stack  Stack mesh: CREATE_COMPLETE\nfailed   queue  about 3 \
            messages are waiting\n";
        assert!(text.starts_with(start), "{text}");
    }
}

//! `ecs-mesh survey`

mod html;
mod inventory;
mod policies;
mod reading;
mod text;

use std::time::Duration;

use audit::severity::Severity;
use clap::{Args, ValueEnum};
use diagnosis::SurveyReport;
use mesh::secret_name::SecretNamePrefix;
use tokio::time::timeout;

use self::reading::Reading;
use crate::{
    account::{AwsArguments, runtime},
    installation::secret_prefix,
    output::{Progress, json},
    streams::{Exit, Failure, Streams},
};

/// How long a survey may take: 10,000 tasks take less than a minute.
const LONGEST: Duration = Duration::from_mins(10);

/// Survey a mesh without installing anything: what is wrong, since when, and what a controller would do
#[derive(Debug, Args)]
#[command(
    after_help = "It only reads, with your AWS credentials and with Consul's usual variables: CONSUL_HTTP_ADDR, \
                  CONSUL_HTTP_TOKEN, CONSUL_CACERT, CONSUL_TLS_SERVER_NAME, CONSUL_PARTITION, CONSUL_NAMESPACE. It \
                  needs no stack. --print-policies prints what the credentials and the token must be allowed to \
                  read.\n\n\
                  Exit codes: 0 nothing is wrong, 1 something is wrong, 2 something could not be read, 3 no cluster was found.\n\n\
                  Examples:\n  ecs-mesh survey\n  ecs-mesh survey --cluster shop\n  \
                  ecs-mesh survey --output html --anonymous > survey.html\n  ecs-mesh survey --print-policies"
)]
pub(super) struct Arguments {
    /// Limit to one cluster, by name or ARN, also one that ECS does not know; may be repeated [default: every cluster of
    /// the account and region]
    #[arg(long, value_name = "CLUSTER")]
    cluster: Vec<String>,
    /// Read tokens in secrets with this prefix
    #[arg(long, value_name = "PREFIX", default_value = "consul-ecs", value_parser = secret_prefix)]
    secret_name_prefix: SecretNamePrefix,
    /// Leave out all names, so that strangers may read it: also the sentences and commands that can have them
    #[arg(long)]
    anonymous: bool,
    /// Print the policies that a survey needs: for IAM, for Consul, or both with instructions
    #[arg(long, value_name = "OF", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "both",
          conflicts_with_all = ["cluster", "anonymous", "output"])]
    print_policies: Option<PoliciesOf>,
    /// Set the output format
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t = SurveyFormat::Text)]
    output: SurveyFormat,
    #[command(flatten)]
    aws: AwsArguments,
}

/// Whose policy is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PoliciesOf {
    /// Both, for people
    Both,
    /// The policy of IAM, as JSON
    Iam,
    /// The policy of Consul, as HCL
    Consul,
}

/// The format of a survey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SurveyFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// A page for a ticket, in one file
    Html,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    if let Some(of) = arguments.print_policies {
        streams.print(&policies::text(of))?;
        return Ok(Exit::Clean);
    }
    let report = runtime()?.block_on(async {
        let progress = Progress::new()?;
        let reading = timeout(LONGEST, progress.during(Box::pin(Reading::new(arguments, &progress)))).await;
        let reading = reading
            .map_err(|_| Failure::new("the survey took longer than ten minutes. Narrow it with --cluster"))??;
        Ok::<_, Failure>(reading.judge(arguments.anonymous))
    })?;
    streams.print(&match arguments.output {
        SurveyFormat::Text => text::text(&report, streams.medium()),
        SurveyFormat::Json => json(&report),
        SurveyFormat::Html => html::page(&report).map_err(Failure::new)?,
    })?;
    Ok(exit(&report))
}

fn exit(report: &SurveyReport) -> Exit {
    if !report.unread.is_empty() {
        Exit::Unusable
    } else if report.clusters.is_empty() {
        Exit::Nothing
    } else if report.findings.iter().any(|finding| finding.severity > Severity::Info) {
        Exit::Findings
    } else {
        Exit::Clean
    }
}

/// The numbers of a survey, in one line: `2 errors, 1 warning in 1 cluster`.
fn summary(report: &SurveyReport) -> String {
    let severities = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Info, "info")];
    let counts = severities.map(|(severity, name)| (report.count(severity), name));
    let found: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| audit::report::counted(*count, name))
        .collect();
    if found.is_empty() && report.clusters.is_empty() && report.unread.is_empty() {
        return "no cluster was found: check the account and the region".to_owned();
    }
    if found.is_empty() && report.clusters.is_empty() && !report.unread.is_empty() {
        return format!("nothing was surveyed: {} could not be read", report.unread.len());
    }
    let found = match (found.as_slice(), report.unread.as_slice()) {
        ([], []) => "nothing is wrong".to_owned(),
        ([], _) => "nothing was found".to_owned(),
        _ => found.join(", "),
    };
    let unread = match report.unread.len() {
        0 => String::new(),
        count => format!(", and {count} could not be read"),
    };
    let consul = report.consul.as_ref().map(|version| format!(" (Consul {version})")).unwrap_or_default();
    let place = match (&report.account, &report.region) {
        (Some(account), Some(region)) => format!(" of account {account} in {region}"),
        _ => String::new(),
    };
    format!("{found} in {}{place}{consul}{unread}", audit::report::counted(report.clusters.len(), "cluster"))
}

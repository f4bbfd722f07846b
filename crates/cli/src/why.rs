//! `ecs-mesh why`

use audit::finding::Severity;
use audit_live::{LiveScope, gather_live};
use clap::Args;
use diagnosis::{
    AuditError, Condition, Found, Further, Observed, Reader, Wanted, WhyReport, Within, find_service, why_service,
    why_task,
};
use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskArn, TaskId},
    field::InvalidField,
};

use crate::{
    connect::{AwsArguments, runtime},
    controller_log::HistoryArguments,
    exit::{Exit, Failure},
    output::OutputArguments,
    progress::Progress,
    reading::{Clients, PrefixArguments, ReadTokens, known, selected},
    streams::Streams,
    why_text,
};

/// Show what ECS, Consul and the controller did with a task or a service, and what is wrong with it
#[derive(Debug, Args)]
#[command(
    after_help = "It only reads: ECS, Consul by its usual variables (CONSUL_HTTP_ADDR, CONSUL_HTTP_TOKEN, …), and the log of the \
                  stack's functions, also of tasks that ECS has forgotten. The last line says what is wrong and what to do.\n\n\
                  Exit codes: 0 healthy, or ended as somebody wanted it, 1 something is wrong, or it is starting, 2 it is not known, or \
                  something could not be read.\n\n\
                  Examples:\n  ecs-mesh why 0123456789abcdef0123456789abcdef\n  ecs-mesh why web --cluster prod\n  \
                  ecs-mesh why web --cluster prod --since 7d\n  \
                  ecs-mesh why arn:aws:ecs:us-east-1:123456789012:task/prod/0123456789abcdef0123456789abcdef --output json"
)]
pub(super) struct Arguments {
    /// The ID or the ARN of a task, or the name of a service in Consul or in ECS
    #[arg(value_name = "TASK|SERVICE")]
    subject: String,
    /// Only this cluster; its name or ARN. May be repeated [default: that of the ARN, or every cluster of the account and region]
    #[arg(long, value_name = "CLUSTER")]
    cluster: Vec<String>,
    /// Only a service of this admin partition (Enterprise)
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// Only a service of this namespace (Enterprise)
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    #[command(flatten)]
    prefix: PrefixArguments,
    #[command(flatten)]
    history: HistoryArguments,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    aws: AwsArguments,
}

/// A task, or the name of a service.
enum Subject {
    Task(TaskId),
    Service(String),
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        let clients = Clients::new(&arguments.aws).await?;
        let installation = clients.installation(arguments.history.stack(), &arguments.prefix).await?;
        let (reader, progress) = (clients.reader(&installation), Progress::new()?);
        let asking = Asking { arguments, clients: &clients, reader, progress: &progress };
        let mut report = progress.during(asking.report()).await?;
        report.problems.extend(installation.problem);
        arguments.output.show(&report, why_text::text, streams)?;
        streams.problems(&report.problems);
        Ok(exit(&report))
    })
}

struct Asking<'a> {
    arguments: &'a Arguments,
    clients: &'a Clients,
    reader: Reader<'a>,
    progress: &'a Progress,
}

impl Asking<'_> {
    async fn report(&self) -> Result<WhyReport, Failure> {
        let (subject, clusters) = self.subject()?;
        self.progress.say("listing clusters");
        let clusters = selected(&self.clients.ecs, &clusters).await?;
        let observed = self.reader.read(&clusters, &|what| self.progress.say(&format!("reading {what}"))).await;
        self.progress.say("reading tokens");
        let tokens = self.reader.tokens().await;
        let now = Timestamp::now();
        match subject {
            Subject::Task(id) => {
                let further = self.further(&clusters, &observed, tokens, Wanted::Task(&id), now).await;
                Ok(why_task(&id, &observed, &further, now))
            }
            Subject::Service(name) => {
                let within =
                    Within { partition: self.arguments.partition.clone(), namespace: self.arguments.namespace.clone() };
                let row = match find_service(&name, &within, &observed, known(&tokens), now) {
                    Found::None => None,
                    Found::One(row) => Some(row),
                    Found::Elsewhere(places) => {
                        return Err(Failure::Message(format!(
                            "there is no service {name:?} in this partition and namespace; there is {}",
                            places.join(", ")
                        )));
                    }
                    Found::Several(places) => {
                        return Err(Failure::Message(format!(
                            "there are several services {name:?}: {}; choose one by --cluster, --partition, --namespace or its name in \
                             Consul",
                            places.join(", ")
                        )));
                    }
                };
                let wanted = row.as_ref().map_or(name.as_str(), |row| row.service.as_str());
                let further = self.further(&clusters, &observed, tokens, Wanted::Service(wanted), now).await;
                Ok(why_service(&name, row.as_deref(), &observed, &further, now))
            }
        }
    }

    /// What is asked about, and in which clusters.
    fn subject(&self) -> Result<(Subject, Vec<String>), Failure> {
        let (text, clusters) = (self.arguments.subject.as_str(), &self.arguments.cluster);
        if let Ok(id) = text.parse::<TaskId>() {
            return Ok((Subject::Task(id), clusters.clone()));
        }
        if !text.starts_with("arn:") {
            return Ok((Subject::Service(text.to_owned()), clusters.clone()));
        }
        let arn: TaskArn = text.parse().map_err(|invalid: InvalidField| Failure::Message(invalid.to_string()))?;
        let region = self.clients.sdk.region().map(AsRef::as_ref).unwrap_or_default();
        if arn.region() != region {
            return Err(Failure::Message(format!(
                "the task {arn} is in another region than {region}: pass --region {}",
                arn.region()
            )));
        }
        let named = arn.cluster().map(|cluster| cluster.to_string());
        let clusters = if clusters.is_empty() { named.into_iter().collect() } else { clusters.clone() };
        Ok((Subject::Task(arn.id().clone()), clusters))
    }

    /// The history of the controller, the tokens in Consul, and the audit of a task's revision.
    async fn further(
        &self,
        clusters: &[ClusterArn],
        observed: &Observed,
        tokens: ReadTokens,
        wanted: Wanted<'_>,
        now: Timestamp,
    ) -> Further {
        let since = self.arguments.history.since(now);
        self.progress.say("reading the log of the functions");
        let mut history = self.arguments.history.read(&self.clients.sdk, wanted, since).await;
        let definition = match wanted {
            Wanted::Task(id) => definition_of(observed, id),
            Wanted::Service(_) | Wanted::Observed => None,
        };
        let audit = match definition {
            Some(definition) => self.audit(definition, &mut history.problems).await,
            None => Vec::new(),
        };
        let tokens = tokens.unwrap_or_else(|problem| {
            if !observed.problems.contains(&problem) {
                history.problems.push(problem);
            }
            None
        });
        let searched = clusters.iter().map(|cluster| cluster.name().to_owned()).collect();
        Further { history, stack: self.arguments.history.stack().to_owned(), since, tokens, audit, searched }
    }

    /// The errors that the audit finds in a revision.
    async fn audit(&self, definition: String, problems: &mut Vec<String>) -> Vec<AuditError> {
        self.progress.say("auditing the task definition");
        let scope = LiveScope { definitions: vec![definition], ..LiveScope::default() };
        let gathered = gather_live(&self.clients.ecs, &scope, &|_, _| {}).await;
        problems.extend(gathered.problems.iter().map(ToString::to_string));
        let findings = audit::audit(&gathered.material);
        let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
        errors
            .map(|finding| AuditError { rule: finding.rule.id.to_owned(), message: finding.message.clone() })
            .collect()
    }
}

/// The revision of a task.
fn definition_of(observed: &Observed, id: &TaskId) -> Option<String> {
    let mut tasks = observed.clusters.iter().flat_map(|cluster| &cluster.tasks);
    tasks.find(|member| member.state.task.arn.id() == id).map(|member| member.state.task.definition.to_string())
}

fn exit(report: &WhyReport) -> Exit {
    match report.condition {
        _ if !report.problems.is_empty() => Exit::Unusable,
        Condition::Healthy | Condition::Ended => Exit::Clean,
        Condition::Starting | Condition::Faulty => Exit::Findings,
        Condition::Unknown => Exit::Unusable,
    }
}

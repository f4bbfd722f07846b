//! `ecs-mesh why`

use audit::severity::Severity;
use audit_live::{LiveScope, gather_live};
use aws::{logs::AwsLogs, sdk::Region};
use clap::Args;
use diagnosis::{
    AuditError, Background, Condition, ContainerLog, Found, PastEvent, Tokens, WhyReport, Within, find_service,
    why_service, why_task,
};
use jiff::Timestamp;
use mesh::arn::{ClusterArn, TaskArn, TaskId};
use observe::{History, Inspection, Wanted, last_lines};

use crate::{
    account::{AwsArguments, runtime, selected},
    clients::Clients,
    history::HistoryArguments,
    installation::{Installation, PrefixArguments},
    output::{OutputArguments, Progress},
    sheet::{Cell, Medium, Sheet, Tone, wrapped},
    streams::{Exit, Failure, Streams},
};

/// Show what ECS, Consul and the controller did with a task or a service, and what is wrong
#[derive(Debug, Args)]
#[command(
    after_help = "It only reads: ECS, Consul (CONSUL_HTTP_ADDR, CONSUL_HTTP_TOKEN, …) and the log of the stack's \
                  functions, which also covers tasks that ECS no longer knows. The last line says what is wrong and \
                  what to do.\n\n\
                  Exit codes: 0 healthy, or ended normally, 1 something is wrong, or it is starting, 2 unknown, or \
                  something could not be read.\n\n\
                  Examples:\n  ecs-mesh why 0123456789abcdef0123456789abcdef\n  ecs-mesh why web --cluster prod\n  \
                  ecs-mesh why web --cluster prod --since 7d\n  \
                  ecs-mesh why arn:aws:ecs:us-east-1:123456789012:task/prod/0123456789abcdef0123456789abcdef --output json"
)]
pub(super) struct Arguments {
    /// The ID or ARN of a task, or the name of a service in Consul or in ECS
    #[arg(value_name = "TASK|SERVICE")]
    subject: String,
    /// Limit to one cluster, by name or ARN; may be repeated [default: the ARN's cluster, or every cluster of the
    /// account and region]
    #[arg(long, value_name = "CLUSTER")]
    cluster: Vec<String>,
    /// Limit to services of this admin partition (Enterprise)
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// Limit to services of this namespace (Enterprise)
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    #[command(flatten)]
    prefix: PrefixArguments,
    /// Show more of the container's log than its last errors
    #[arg(long)]
    logs: bool,
    #[command(flatten)]
    history: HistoryArguments,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    aws: AwsArguments,
}

/// A task, or the name of a service.
enum Question {
    Task(TaskId),
    Service(String),
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        let clients = Clients::new(&arguments.aws).await?;
        let installation = Installation::read(&clients.sdk, arguments.history.stack(), &arguments.prefix).await?;
        let progress = Progress::new()?;
        let asking = Asking { arguments, clients: &clients, installation: &installation, progress: &progress };
        let mut report = progress.during(asking.report()).await?;
        report.problems.extend(installation.problem.clone());
        let note = match arguments.history.missing_stack(&installation) {
            Some(missing) if arguments.history.names_a_stack() => {
                report.problems.push(missing);
                None
            }
            note => note,
        };
        arguments.output.show(&report, text, streams)?;
        if let Some(note) = note {
            streams.diagnostic(&note);
        }
        streams.problems(&report.problems);
        Ok(exit(&report))
    })
}

struct Asking<'a> {
    arguments: &'a Arguments,
    clients: &'a Clients,
    installation: &'a Installation,
    progress: &'a Progress,
}

impl Asking<'_> {
    async fn report(&self) -> Result<WhyReport, Failure> {
        let (subject, clusters) = self.subject()?;
        self.progress.say("listing clusters");
        let clusters = selected(&self.clients.ecs, &clusters).await?;
        let (observed, tokens) = self.clients.read(self.installation, &clusters, self.progress).await;
        let (tokens, unread) = match tokens {
            Ok(tokens) => (tokens, None),
            Err(problem) => (None, Some(problem)),
        };
        let now = Timestamp::now();
        let mut report = match subject {
            Question::Task(id) => {
                let further = self.further(&clusters, &observed, tokens, Wanted::Task(&id), now).await;
                why_task(&id, &observed, &further, now)
            }
            Question::Service(name) => {
                let within =
                    Within { partition: self.arguments.partition.clone(), namespace: self.arguments.namespace.clone() };
                let row = match find_service(&name, &within, &observed, tokens.as_ref(), now) {
                    Found::None => None,
                    Found::One(row) => Some(row),
                    Found::Elsewhere(places) => {
                        return Err(Failure::Message(format!(
                            "no service {name:?} in this partition and namespace; found {}",
                            places.join(", ")
                        )));
                    }
                    Found::Several(places) => {
                        return Err(Failure::Message(format!(
                            "service {name:?} is ambiguous ({}). Narrow it with --cluster, --partition or --namespace, or give its \
                             name in Consul",
                            places.join(", ")
                        )));
                    }
                };
                let wanted = row.as_ref().map_or(name.as_str(), |row| row.service.as_str());
                let further = self.further(&clusters, &observed, tokens, Wanted::Service(wanted), now).await;
                why_service(&name, row.as_deref(), &observed, &further, now)
            }
        };
        report.problems.extend(unread.filter(|problem| !report.problems.contains(problem)));
        self.add_log(&mut report).await;
        Ok(report)
    }

    /// Reads the log of the container that the conclusion names.
    async fn add_log(&self, report: &mut WhyReport) {
        let Some(stream) = report.log.as_ref().and_then(|log| log.stream.as_ref()) else { return };
        self.progress.say("reading the log of the container");
        let region = stream.region.clone().map(Region::new).or_else(|| self.clients.sdk.region().cloned());
        let sdk = self.clients.sdk.clone().into_builder().region(region).build();
        let answer = last_lines(&AwsLogs::new(&sdk), &stream.group, &stream.name).await;
        report.add_log(answer, self.arguments.logs);
    }

    /// What is asked about, and in which clusters.
    fn subject(&self) -> Result<(Question, Vec<String>), Failure> {
        let (text, clusters) = (self.arguments.subject.as_str(), &self.arguments.cluster);
        if let Ok(id) = text.parse::<TaskId>() {
            return Ok((Question::Task(id), clusters.clone()));
        }
        if !text.starts_with("arn:") {
            return Ok((Question::Service(text.to_owned()), clusters.clone()));
        }
        let arn: TaskArn = text.parse().map_err(Failure::new)?;
        let region = self.clients.sdk.region().map(AsRef::as_ref).unwrap_or_default();
        if arn.region() != region {
            return Err(Failure::Message(format!(
                "task {arn} is not in region {region}. Pass --region {}",
                arn.region()
            )));
        }
        let named = arn.cluster().map(|cluster| cluster.to_string());
        let clusters = if clusters.is_empty() { named.into_iter().collect() } else { clusters.clone() };
        Ok((Question::Task(arn.id().clone()), clusters))
    }

    /// The history of the controller, the tokens in Consul, and the audit of a task's revision.
    async fn further(
        &self,
        clusters: &[ClusterArn],
        observed: &Inspection,
        tokens: Option<Tokens>,
        wanted: Wanted<'_>,
        now: Timestamp,
    ) -> Background {
        let since = self.arguments.history.since(now);
        self.progress.say("reading the log of the functions");
        let lacks_stack = self.installation.is_absent();
        let mut history = if lacks_stack {
            History::default()
        } else {
            self.arguments.history.read(&self.clients.sdk, wanted, since).await
        };
        let definition = match wanted {
            Wanted::Task(id) => definition_of(observed, id),
            Wanted::Service(_) | Wanted::Observed => None,
        };
        let audit = match definition {
            Some(definition) => self.audit(definition, &mut history.problems).await,
            None => Vec::new(),
        };
        let searched = clusters.iter().map(|cluster| cluster.name().to_owned()).collect();
        let (stack, unmanaged) = (self.arguments.history.stack().to_owned(), self.installation.unmanaged(clusters));
        Background { history, stack, lacks_stack, since, tokens, audit, searched, unmanaged }
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
fn definition_of(observed: &Inspection, id: &TaskId) -> Option<String> {
    let mut tasks = observed.clusters.iter().flat_map(|cluster| &cluster.tasks);
    tasks.find(|member| member.task.arn.id() == id).map(|member| member.definition.arn.to_string())
}

fn exit(report: &WhyReport) -> Exit {
    match report.condition {
        _ if !report.problems.is_empty() => Exit::Unusable,
        Condition::Healthy | Condition::Ended => Exit::Clean,
        Condition::Starting | Condition::Faulty => Exit::Findings,
        Condition::Unknown => Exit::Unusable,
    }
}

/// The width, in characters, below which a terminal is narrow.
const NARROW: u16 = 80;

/// The text of a report. Its last line says what is wrong.
fn text(report: &WhyReport, medium: Medium) -> String {
    let mut out = wrapped(&Cell::new(heading(report), Tone::Strong), medium) + "\n";
    if report.timeline.is_empty() {
        out.push_str("No events found\n");
    } else {
        let sheet = timeline(&report.timeline, medium);
        out.push_str(&sheet.text(medium));
    }
    if let Some(log) = &report.log {
        out.push_str(&container_log(log, medium));
    }
    out + "\n" + &wrapped(&Cell::new(report.conclusion.as_str(), tone(report.condition)), medium)
}

/// The timeline. On a narrow terminal, the actor shares the column of the time.
fn timeline(events: &[PastEvent], medium: Medium) -> Sheet {
    let is_narrow = medium.width.is_some_and(|width| width < NARROW);
    let mut sheet = Sheet::new(if is_narrow { &["time (UTC)", "what"] } else { &["time (UTC)", "who", "what"] });
    for event in events {
        let (at, who) = (event.at.strftime("%m-%d %H:%M:%S"), event.who.as_str());
        sheet.add(if is_narrow {
            vec![Cell::new(format!("{at}  {who}"), Tone::Faint), Cell::plain(what(event))]
        } else {
            vec![Cell::new(at.to_string(), Tone::Faint), Cell::plain(who), Cell::plain(what(event))]
        });
    }
    sheet
}

/// The lines of a container's log, or why there are none.
fn container_log(log: &ContainerLog, medium: Medium) -> String {
    let stream = log.stream.as_ref().map(|it| format!(" (log group {}, stream {})", it.group, it.name));
    let heading = format!("Log of {}{}", log.container, stream.unwrap_or_default());
    let mut out = format!("\n{}\n", wrapped(&Cell::new(heading, Tone::Strong), medium));
    match &log.problem {
        Some(problem) => out.push_str(&wrapped(&Cell::new(format!("not read: {problem}"), Tone::Pending), medium)),
        None if log.lines.is_empty() => out.push_str(&wrapped(&Cell::new("it is empty", Tone::Pending), medium)),
        None => {
            let mut sheet = Sheet::new(&["time (UTC)", "line"]);
            for line in &log.lines {
                let at = line.at.strftime("%m-%d %H:%M:%S").to_string();
                sheet.add(vec![Cell::new(at, Tone::Faint), Cell::plain(line.text.as_str())]);
            }
            out.push_str(&sheet.text(medium));
        }
    }
    out
}

fn heading(report: &WhyReport) -> String {
    let subject = &report.subject;
    let service = subject.service.as_ref().map(|service| format!("service {service}"));
    let task = subject.task.as_ref().map(|task| format!("task {task}"));
    let cluster = subject.cluster.as_deref().and_then(|cluster| cluster.rsplit('/').next());
    let cluster = cluster.map(|cluster| format!("cluster {cluster}"));
    let parts: Vec<String> = [task, service, cluster].into_iter().flatten().collect();
    let mut text = parts.join(", ");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

fn what(event: &PastEvent) -> String {
    if event.times == 1 {
        return event.what.clone();
    }
    format!("{} ({} times, last at {})", event.what, event.times, event.last_at.strftime("%m-%d %H:%M:%S"))
}

fn tone(condition: Condition) -> Tone {
    match condition {
        Condition::Healthy => Tone::Good,
        Condition::Ended => Tone::Plain,
        Condition::Starting | Condition::Unknown => Tone::Pending,
        Condition::Faulty => Tone::Bad,
    }
}

#[cfg(test)]
mod tests {
    use diagnosis::{LogStream, LoggedLine, Who, WhyCause, WhySubject};
    use jiff::{SignedDuration, Timestamp};

    use super::*;

    fn report() -> WhyReport {
        let at: Timestamp = "2026-11-23T11:40:02Z".parse().unwrap();
        let event = |minutes, who, what: &str, times| {
            let first = at - SignedDuration::from_mins(minutes);
            PastEvent { at: first, who, what: what.to_owned(), times, last_at: at }
        };
        let task = "0123456789abcdef0123456789abcdef";
        WhyReport {
            read_at: at,
            since: at - SignedDuration::from_hours(24),
            subject: WhySubject {
                task: Some(task.to_owned()),
                service: Some("web".to_owned()),
                cluster: Some("arn:aws:ecs:us-east-1:123456789012:cluster/prod".to_owned()),
            },
            timeline: vec![
                event(
                    90,
                    Who::Ecs,
                    "created it for the service web: web:7, consul-ecs 0.9.0, consul-dataplane 1.6.2",
                    1,
                ),
                event(20, Who::Controller, "failed: mark_critical (consul_unavailable): no leader", 3),
                event(0, Who::Consul, "now has no instance of the task", 1),
            ],
            condition: Condition::Faulty,
            cause: WhyCause::LostFromTheCatalog,
            conclusion: "Consul has lost it. The next sweep registers it again".to_owned(),
            log: None,
            problems: Vec::new(),
        }
    }

    fn shown(width: Option<u16>, in_colour: bool) -> String {
        text(&report(), Medium { width, in_colour })
    }

    #[test]
    fn last_line_on_a_pipe_is_the_conclusion() {
        let expected = "Task 0123456789abcdef0123456789abcdef, service web, cluster prod\n\n\
            time (UTC)      who         what\n\
            11-23 10:10:02  ECS         created it for the service web: web:7, consul-ecs 0.9.0, consul-dataplane 1.6.2\n\
            11-23 11:20:02  controller  failed: mark_critical (consul_unavailable): no leader (3 times, last at 11-23 11:40:02)\n\
            11-23 11:40:02  Consul      now has no instance of the task\n\n\
            Consul has lost it. The next sweep registers it again\n";
        assert_eq!(shown(None, false), expected);
    }

    #[test]
    fn log_of_the_container_or_why_it_was_not_read_is_before_the_conclusion() {
        let log = |stream, text: Option<&str>, problem: Option<&str>| {
            let at = "2026-11-23T11:40:01Z".parse().unwrap();
            let lines = text.map(|text| LoggedLine { at, text: text.to_owned() }).into_iter().collect();
            let problem = problem.map(str::to_owned);
            Some(ContainerLog {
                container: "app".to_owned(),
                stream,
                lines,
                meaning: None,
                problem,
                is_of_the_mesh: false,
            })
        };
        let stream = || Some(LogStream { group: "/web".to_owned(), region: None, name: "ecs/app/0".to_owned() });
        for (log, expected) in [
            (
                log(stream(), Some("panic: no port"), None),
                "Log of app (log group /web, stream ecs/app/0)\n\ntime (UTC)      line\n11-23 11:40:01  panic: no port",
            ),
            (log(stream(), None, None), "Log of app (log group /web, stream ecs/app/0)\n\nit is empty"),
            (log(None, None, Some("its log driver is splunk")), "Log of app\n\nnot read: its log driver is splunk"),
        ] {
            let shown = text(&WhyReport { log, ..report() }, Medium { width: None, in_colour: false });
            let end = format!("\n\n{expected}\n\nConsul has lost it. The next sweep registers it again\n");
            assert!(shown.ends_with(&end), "{shown}");
        }
    }

    #[test]
    fn narrow_terminal_gets_lines_that_fit() {
        for width in [40, 60, 120] {
            let text = shown(Some(width), false);
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{text}");
        }
        assert!(shown(Some(60), true).contains('\u{1b}'));
    }
}

//! `ecs-mesh path`

use aws::ec2::AwsEc2;
use clap::Args;
use diagnosis::{
    DestinationPlace, HttpRequest, Passage, PathEvidence, PathLine, PathReport, PlaceVerdict, ServicePath, Tokens,
    callers, destination_named, destinations, path, problems, services_named, unread,
};
use jiff::Timestamp;
use mesh::{arn::TaskId, tenancy::Tenancy};
use observe::{
    DestinationReading, Inspection, IntentionEnd, MeshReading, NetworkReading, PathReader, RegisteredUpstream,
    ServiceAt, SourceReading, read_network,
};

use crate::{
    account::{AwsArguments, runtime, selected},
    clients::Clients,
    installation::{Installation, PrefixArguments, StackArguments},
    output::{OutputArguments, Progress},
    sheet::{Cell, Medium, Sheet, Tone, wrapped},
    streams::{Exit, Failure, Streams},
};

/// Follow a request from one service to another, and show what stops it
#[derive(Debug, Args)]
#[command(
    after_help = "It only reads: ECS and Consul (CONSUL_HTTP_ADDR, CONSUL_HTTP_TOKEN, …). The last sentence says what stops \
                  the request and what would let it through. Commands are printed, and never run.\n\n\
                  Exit codes: 0 nothing that was read stops it, 1 something does, 2 something could not be read.\n\n\
                  Examples:\n  ecs-mesh path web api --cluster prod\n  ecs-mesh path web api --http GET /v1/orders\n  \
                  ecs-mesh path web\n  ecs-mesh path --to api\n  ecs-mesh path web api --output json"
)]
pub(super) struct Arguments {
    /// The service that calls, by its name in Consul or in ECS
    #[arg(value_name = "SOURCE", required_unless_present = "to")]
    source: Option<String>,
    /// The service that is called, by its name in Consul [default: every service that SOURCE may or wants to reach]
    #[arg(value_name = "DESTINATION")]
    destination: Option<String>,
    /// Show who may call this service, and by which intention
    #[arg(long, value_name = "DESTINATION", conflicts_with_all = ["source", "destination", "from_task", "http", "datacenter", "peer"])]
    to: Option<String>,
    /// Limit to one cluster, by name or ARN; may be repeated [default: every cluster of the account and region]
    #[arg(long, value_name = "CLUSTER")]
    cluster: Vec<String>,
    /// Look for DESTINATION in this admin partition (Enterprise) [default: where the upstream leads]
    #[arg(long, value_name = "NAME", requires = "namespace")]
    partition: Option<String>,
    /// Look for DESTINATION in this namespace (Enterprise) [default: where the upstream leads]
    #[arg(long, value_name = "NAME", requires = "partition")]
    namespace: Option<String>,
    /// Look for DESTINATION in this datacenter [default: where the upstream leads]
    #[arg(long, value_name = "NAME")]
    datacenter: Option<String>,
    /// Look for DESTINATION at this peer [default: where the upstream leads]
    #[arg(long, value_name = "NAME", conflicts_with = "datacenter")]
    peer: Option<String>,
    /// Limit to calls from one task
    #[arg(long, value_name = "TASK")]
    from_task: Option<TaskId>,
    /// Follow a request with this method and path: routes and permissions for requests are decided
    #[arg(long, num_args = 2, value_names = ["METHOD", "PATH"])]
    http: Option<Vec<String>>,
    #[command(flatten)]
    stack: StackArguments,
    #[command(flatten)]
    prefix: PrefixArguments,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    aws: AwsArguments,
}

impl Arguments {
    fn request(&self) -> Option<HttpRequest> {
        let [method, path] = self.http.as_deref()? else { return None };
        Some(HttpRequest { method: method.clone(), path: path.clone() })
    }

    fn place(&self) -> Result<DestinationPlace, Failure> {
        let fields = ("--partition", "--namespace");
        let tenancy = Tenancy::from_names(self.partition.as_deref(), self.namespace.as_deref(), fields);
        Ok(DestinationPlace {
            tenancy: tenancy.map_err(Failure::new)?,
            datacenter: self.datacenter.clone(),
            peer: self.peer.clone(),
        })
    }
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let place = arguments.place()?;
    runtime()?.block_on(async {
        let clients = Clients::new(&arguments.aws).await?;
        let progress = Progress::new()?;
        let asking = Asking { arguments, place, clients: &clients, progress: &progress };
        // On the heap: it carries the space of the reads of AWS and Consul.
        let report = progress.during(Box::pin(asking.report())).await?;
        arguments.output.show(&report, text, streams)?;
        streams.problems(&report.problems);
        Ok(exit(&report))
    })
}

struct Asking<'a> {
    arguments: &'a Arguments,
    place: DestinationPlace,
    clients: &'a Clients,
    progress: &'a Progress,
}

/// What is read once for all paths.
struct Common<'a> {
    observed: &'a Inspection,
    tokens: Option<&'a Tokens>,
    mesh: &'a MeshReading,
    source: &'a SourceReading,
    network: &'a NetworkReading,
    now: Timestamp,
}

impl Asking<'_> {
    async fn report(&self) -> Result<PathReport, Failure> {
        let (arguments, prefix) = (self.arguments, &self.arguments.prefix);
        let installation = Installation::read(&self.clients.sdk, &arguments.stack.stack, prefix).await?;
        let inspector = self.clients.inspector(&installation);
        let now = Timestamp::now();
        if let Some(name) = &arguments.to {
            return Ok(self.callers(&inspector.paths().await, name, now).await);
        }
        let clusters = selected(&self.clients.ecs, &arguments.cluster).await?;
        let (observed, tokens) = self.clients.read(&installation, &clusters, self.progress).await;
        self.progress.say("following requests");
        let reader = inspector.paths().await;
        let known = tokens.as_ref().ok().and_then(Option::as_ref);
        let source = reader.source(&self.source(&observed)?).await;
        let mesh = reader.mesh(&source.service.tenancy).await;
        let mut problems = problems(&observed);
        let mut destinations = Vec::new();
        for destination in self.destinations(&reader, &source, &mut problems).await {
            let upstream = source.upstreams_to(&destination).next();
            let overrides = upstream.map(RegisteredUpstream::overrides).unwrap_or_default();
            destinations.push(reader.destination(&destination, &overrides).await);
        }
        let addresses = destinations.iter().flat_map(DestinationReading::addresses).chain(source.addresses());
        let network = read_network(&AwsEc2::new(&self.clients.sdk), &addresses.collect()).await;
        let common =
            Common { observed: &observed, tokens: known, mesh: &mesh, source: &source, network: &network, now };
        let paths = destinations.iter().map(|destination| self.path(&common, destination)).collect();
        problems.extend(installation.problem);
        problems.extend(tokens.err().filter(|problem| !problems.contains(problem)));
        Ok(PathReport { read_at: now, paths, callers: None, problems })
    }

    fn path(&self, common: &Common<'_>, destination: &DestinationReading) -> ServicePath {
        let request = self.arguments.request();
        let Common { observed, tokens, mesh, source, network, now } = *common;
        path(&PathEvidence {
            observed,
            tokens,
            mesh,
            source,
            destination,
            network,
            request: request.as_ref(),
            from_task: self.arguments.from_task.as_ref(),
            now,
        })
    }

    /// The service that calls. A name that no task has may still be in Consul.
    fn source(&self, observed: &Inspection) -> Result<ServiceAt, Failure> {
        let name = self.arguments.source.as_deref().unwrap_or_default();
        let mut found = services_named(name, observed);
        if found.len() > 1 {
            let places: Vec<String> =
                found.iter().map(|it| format!("{} in {}", it.name, it.tenancy.place().join("/"))).collect();
            let reason = format!("service {name:?} is ambiguous ({}). Narrow it with --cluster", places.join(", "));
            return Err(Failure::Message(reason));
        }
        Ok(found.pop().unwrap_or_else(|| self.in_own_tenancy(name)))
    }

    fn in_own_tenancy(&self, name: &str) -> ServiceAt {
        ServiceAt { name: name.to_owned(), tenancy: self.clients.tenancy.clone(), datacenter: None, peer: None }
    }

    async fn destinations(
        &self,
        reader: &PathReader<'_>,
        source: &SourceReading,
        problems: &mut Vec<String>,
    ) -> Vec<ServiceAt> {
        if let Some(name) = &self.arguments.destination {
            return vec![destination_named(name, &self.place, source)];
        }
        let intentions = reader.intentions(IntentionEnd::Source, &source.service).await;
        problems.extend(source.proxies.as_ref().err().map(unread));
        problems.extend(intentions.as_ref().err().map(unread));
        destinations(source, &intentions.unwrap_or_default())
    }

    async fn callers(&self, reader: &PathReader<'_>, name: &str, now: Timestamp) -> PathReport {
        let own = self.in_own_tenancy(name);
        let service = ServiceAt { tenancy: self.place.tenancy.clone().unwrap_or(own.tenancy), ..own };
        let intentions = reader.intentions(IntentionEnd::Destination, &service).await;
        let datacenter = reader.datacenter().await;
        let errors = [intentions.as_ref().err(), datacenter.as_ref().err()];
        let problems = errors.into_iter().flatten().map(unread).collect();
        let callers = intentions.ok().map(|intentions| callers(&intentions, &datacenter));
        PathReport { read_at: now, paths: Vec::new(), callers, problems }
    }
}

fn exit(report: &PathReport) -> Exit {
    let has = |passage: Passage| report.paths.iter().any(|path| path.passage == passage);
    if !report.problems.is_empty() || has(Passage::Unknown) {
        Exit::Unusable
    } else if has(Passage::Blocked) {
        Exit::Findings
    } else {
        Exit::Clean
    }
}

fn text(report: &PathReport, medium: Medium) -> String {
    if let Some(callers) = &report.callers {
        let mut sheet = Sheet::new(&["source", "may call", "by"]);
        for caller in callers {
            sheet.add([&caller.source, &caller.action, &caller.intention].map(Cell::plain).to_vec());
        }
        return sheet.text(medium);
    }
    match report.paths.as_slice() {
        [] => "No destination: it has no upstream, and no intention names it as a source\n".to_owned(),
        [path] => one(path, medium),
        several => each(several, medium),
    }
}

/// A path, place by place. Its last sentence says what stops the request.
fn one(path: &ServicePath, medium: Medium) -> String {
    let mut sheet = Sheet::new(&["place", "verdict", "what"]);
    for line in &path.lines {
        let verdict = Cell::new(line.verdict.as_str(), tone(line.verdict));
        sheet.add(vec![Cell::plain(line.place.as_str()), verdict, Cell::plain(line.what.as_str())]);
    }
    let conclusion = wrapped(&Cell::new(path.conclusion.as_str(), tone_of(path.passage)), medium);
    format!("{}\n{}{conclusion}", sheet.text(medium), commands(&path.lines))
}

/// The commands of the lines that need one, ready to copy, and where to read on.
fn commands(lines: &[PathLine]) -> String {
    let wanted = lines.iter().filter(|line| !matches!(line.verdict, PlaceVerdict::Ok | PlaceVerdict::NotNeeded));
    let shown = wanted.flat_map(|line| {
        let heading = format!("{} ({}):\n", line.place.as_str(), line.page);
        let lacking = line.missing_permission.iter().map(|permission| format!("  missing permission: {permission}\n"));
        let commands = line.commands.iter().map(|command| format!("  {command}\n"));
        [heading].into_iter().chain(lacking).chain(commands)
    });
    let shown: String = shown.collect();
    if shown.is_empty() { shown } else { shown + "\n" }
}

/// A line for each destination.
fn each(paths: &[ServicePath], medium: Medium) -> String {
    let mut sheet = Sheet::new(&["destination", "request", "what"]);
    for path in paths {
        let word = match path.passage {
            Passage::Open => "passes",
            Passage::Blocked => "fails",
            Passage::Unknown => "unknown",
        };
        sheet.add(vec![
            Cell::plain(path.destination.service.as_str()),
            Cell::new(word, tone_of(path.passage)),
            Cell::plain(path.conclusion.as_str()),
        ]);
    }
    sheet.text(medium)
}

fn tone(verdict: PlaceVerdict) -> Tone {
    match verdict {
        PlaceVerdict::Ok => Tone::Good,
        PlaceVerdict::Fault => Tone::Bad,
        PlaceVerdict::Possible | PlaceVerdict::Unknown => Tone::Pending,
        PlaceVerdict::NotNeeded => Tone::Faint,
    }
}

fn tone_of(passage: Passage) -> Tone {
    match passage {
        Passage::Open => Tone::Good,
        Passage::Blocked => Tone::Bad,
        Passage::Unknown => Tone::Pending,
    }
}

#[cfg(test)]
mod tests {
    use diagnosis::{Caller, PathEnd, Place};

    use super::*;

    fn end(service: &str) -> PathEnd {
        PathEnd { service: service.to_owned(), partition: None, namespace: None, datacenter: None, peer: None }
    }

    fn line(place: Place, verdict: PlaceVerdict, what: &str, command: Option<&str>) -> PathLine {
        PathLine {
            place,
            verdict,
            what: what.to_owned(),
            change: None,
            commands: command.map(str::to_owned).into_iter().collect(),
            missing_permission: (verdict == PlaceVerdict::Unknown).then(|| "ec2:DescribeNetworkAcls".to_owned()),
            page: format!("path.md#{}", place.as_str()),
            is_unread: verdict == PlaceVerdict::Unknown,
        }
    }

    fn denied() -> ServicePath {
        let command = "consul intention create -allow web api";
        ServicePath {
            source: end("web"),
            destination: end("api"),
            request: None,
            lines: vec![
                line(Place::Name, PlaceVerdict::Ok, "api (tcp) means api", None),
                line(Place::Permission, PlaceVerdict::Fault, "web → api: intention web → api denies it", Some(command)),
                line(Place::Network, PlaceVerdict::Unknown, "could not be read", None),
            ],
            passage: Passage::Blocked,
            conclusion: "Requests from web to api fail: web → api: intention web → api denies it".to_owned(),
        }
    }

    fn report(paths: Vec<ServicePath>, callers: Option<Vec<Caller>>) -> PathReport {
        PathReport { read_at: "2026-11-23T11:40:02Z".parse().unwrap(), paths, callers, problems: Vec::new() }
    }

    fn shown(report: &PathReport) -> String {
        text(report, Medium { width: None, in_colour: false })
    }

    #[test]
    fn path_is_shown_place_by_place_with_commands_to_copy_and_the_sentence_last() {
        let expected = "place       verdict  what\n\
            name        ok       api (tcp) means api\n\
            permission  fault    web → api: intention web → api denies it\n\
            network     unknown  could not be read\n\n\
            permission (path.md#permission):\n\
            \x20 consul intention create -allow web api\n\
            network (path.md#network):\n\
            \x20 missing permission: ec2:DescribeNetworkAcls\n\n\
            Requests from web to api fail: web → api: intention web → api denies it\n";
        assert_eq!(shown(&report(vec![denied()], None)), expected);
    }

    #[test]
    fn several_destinations_get_a_line_each() {
        let open = ServicePath {
            destination: end("orders"),
            passage: Passage::Open,
            conclusion: "Nothing that was read stops requests from web to orders".to_owned(),
            ..denied()
        };
        let expected = "destination  request  what\n\
            api          fails    Requests from web to api fail: web → api: intention web → api denies it\n\
            orders       passes   Nothing that was read stops requests from web to orders\n";
        assert_eq!(shown(&report(vec![denied(), open], None)), expected);
        assert!(shown(&report(Vec::new(), None)).starts_with("No destination: "));
    }

    #[test]
    fn callers_are_listed_with_their_intentions() {
        let caller = |source: &str, action: &str, intention: &str| Caller {
            source: source.to_owned(),
            action: action.to_owned(),
            intention: intention.to_owned(),
        };
        let callers = vec![caller("web", "allow", "intention web → api"), caller("*", "deny", "default policy")];
        let expected = "source  may call  by\n\
            web     allow     intention web → api\n\
            *       deny      default policy\n";
        assert_eq!(shown(&report(Vec::new(), Some(callers))), expected);
    }

    #[test]
    fn exit_code_says_whether_the_request_arrives_and_whether_all_was_read() {
        let of = |passage| report(vec![ServicePath { passage, ..denied() }], None);
        assert_eq!(exit(&of(Passage::Open)), Exit::Clean);
        assert_eq!(exit(&of(Passage::Blocked)), Exit::Findings);
        assert_eq!(exit(&of(Passage::Unknown)), Exit::Unusable);
        let unread = PathReport { problems: vec!["Consul could not be read".to_owned()], ..of(Passage::Blocked) };
        assert_eq!(exit(&unread), Exit::Unusable);
    }
}

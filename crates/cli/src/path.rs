//! `ecs-mesh path`

mod shown;

use std::{fs, path::PathBuf};

use aws::{ec2::AwsEc2, load_balancers::AwsLoadBalancers};
use clap::Args;
use diagnosis::{
    DestinationPlace, HttpRequest, Passage, PathEvidence, PathReport, ServicePath, Tokens, callers, destination_named,
    destinations, nearest_service, path, problems, services_named, target_groups, unknown_destination, unread,
};
use jiff::Timestamp;
use mesh::{arn::TaskId, tenancy::Tenancy};
use observe::{
    DestinationReading, Inspection, IntentionEnd, MeshReading, NetworkReading, Origin, PathReader, ProxyOutput,
    RegisteredUpstream, ServiceAt, SourceReading, TargetsReading, read_network, read_targets,
};

use crate::{
    account::{AwsArguments, runtime, selected},
    clients::Clients,
    installation::{Installation, PrefixArguments, StackArguments},
    output::{OutputArguments, Progress},
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
    /// Read what a proxy says of itself: answers of its Envoy that the printed command has saved
    #[arg(long, value_name = "FILE", conflicts_with = "to")]
    proxy_output: Option<PathBuf>,
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
    fn request(&self) -> Result<Option<HttpRequest>, Failure> {
        let Some([method, path]) = self.http.as_deref() else { return Ok(None) };
        if !path.starts_with('/') {
            return Err(Failure::Message(format!("the path {path:?} of --http does not begin with /")));
        }
        Ok(Some(HttpRequest { method: method.clone(), path: path.clone() }))
    }

    fn proxy_output(&self) -> Result<Option<ProxyOutput>, Failure> {
        let Some(file) = &self.proxy_output else { return Ok(None) };
        let text = fs::read_to_string(file)
            .map_err(|error| Failure::Message(format!("cannot read {}: {error}", file.display())))?;
        let output = ProxyOutput::parse(&text);
        Ok(Some(output.map_err(|error| Failure::Message(format!("{} {error}", file.display())))?))
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
    let (place, proxy_output, request) = (arguments.place()?, arguments.proxy_output()?, arguments.request()?);
    runtime()?.block_on(async {
        let clients = Clients::new(&arguments.aws).await?;
        let progress = Progress::new()?;
        let asking = Asking { arguments, place, proxy_output, request, clients: &clients, progress: &progress };
        // On the heap: it carries the space of the reads of AWS and Consul.
        let (report, note) = progress.during(Box::pin(asking.report())).await?;
        arguments.output.show(&report, shown::text, streams)?;
        if let Some(note) = note {
            streams.diagnostic(&note);
        }
        streams.problems(&report.problems);
        Ok(exit(&report))
    })
}

struct Asking<'a> {
    arguments: &'a Arguments,
    place: DestinationPlace,
    proxy_output: Option<ProxyOutput>,
    request: Option<HttpRequest>,
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
    targets: &'a TargetsReading,
    now: Timestamp,
}

impl Asking<'_> {
    async fn report(&self) -> Result<(PathReport, Option<String>), Failure> {
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
        let origin = Origin { source: &source, mesh: &mesh };
        let mut problems = problems(&observed);
        let mut destinations = Vec::new();
        for destination in self.destinations(&reader, &source, &mut problems).await {
            let upstream = source.upstreams_to(&destination).next();
            let overrides = upstream.map(RegisteredUpstream::overrides).unwrap_or_default();
            destinations.push(reader.destination(&destination, &overrides, origin).await);
        }
        if destinations.is_empty() && problems.is_empty() && is_nowhere(&source, &observed) {
            let name = &source.service.name;
            let near =
                nearest_service(name, &observed).map(|near| format!("Did you mean {near}? ")).unwrap_or_default();
            let reason = format!(
                "no task of service {name:?} runs, and Consul has no proxy of it. {near}Check the name, the region and the cluster"
            );
            return Err(Failure::Message(reason));
        }
        let addresses = destinations.iter().flat_map(DestinationReading::addresses).chain(source.addresses());
        let groups = destinations.iter().flat_map(|destination| target_groups(&observed, destination, origin));
        let (ec2, balancers) = (AwsEc2::new(&self.clients.sdk), AwsLoadBalancers::new(&self.clients.sdk));
        let (addresses, groups) = (addresses.collect(), groups.collect());
        let (network, targets) = tokio::join!(read_network(&ec2, &addresses), read_targets(&balancers, groups));
        let common = Common {
            observed: &observed,
            tokens: known,
            mesh: &mesh,
            source: &source,
            network: &network,
            targets: &targets,
            now,
        };
        let paths = destinations.iter().map(|destination| self.path(&common, destination)).collect();
        problems.extend(installation.problem);
        problems.extend(tokens.err().filter(|problem| !problems.contains(problem)));
        Ok((PathReport { read_at: now, paths, callers: None, problems }, None))
    }

    fn path(&self, common: &Common<'_>, destination: &DestinationReading) -> ServicePath {
        let Common { observed, tokens, mesh, source, network, targets, now } = *common;
        path(&PathEvidence {
            observed,
            tokens,
            mesh,
            source,
            destination,
            network,
            targets,
            request: self.request.as_ref(),
            proxy_output: self.proxy_output.as_ref(),
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

    /// Who may call a service, and a note if it may be misspelt.
    async fn callers(&self, reader: &PathReader<'_>, name: &str, now: Timestamp) -> (PathReport, Option<String>) {
        let own = self.in_own_tenancy(name);
        let service = ServiceAt { tenancy: self.place.tenancy.clone().unwrap_or(own.tenancy), ..own };
        let intentions = reader.intentions(IntentionEnd::Destination, &service).await;
        let (datacenter, names) = tokio::join!(reader.datacenter(), reader.names(&service.tenancy));
        let unknown = intentions.as_ref().ok().zip(names.as_ref().ok());
        let unknown = unknown.and_then(|(intentions, names)| unknown_destination(name, intentions, names));
        let errors = [intentions.as_ref().err(), datacenter.as_ref().err(), names.as_ref().err()];
        let mut problems: Vec<String> = errors.into_iter().flatten().map(unread).collect();
        problems.dedup();
        let callers = intentions.ok().map(|intentions| callers(&intentions, &datacenter));
        (PathReport { read_at: now, paths: Vec::new(), callers, problems }, unknown)
    }
}

/// Whether neither ECS nor Consul knows the service that calls: its name may be wrong.
fn is_nowhere(source: &SourceReading, observed: &Inspection) -> bool {
    let has_no_proxy = source.proxies.as_ref().is_ok_and(Vec::is_empty);
    let has_no_route = source.routes.iter().flatten().all(Vec::is_empty);
    has_no_proxy && has_no_route && services_named(&source.service.name, observed).is_empty()
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

#[cfg(test)]
mod tests {
    use diagnosis::PathEnd;

    use super::*;

    fn report(passage: Passage) -> PathReport {
        let end = |service: &str| PathEnd {
            service: service.to_owned(),
            partition: None,
            namespace: None,
            datacenter: None,
            peer: None,
        };
        let (source, destination) = (end("web"), end("api"));
        let path =
            ServicePath { source, destination, request: None, lines: Vec::new(), passage, conclusion: String::new() };
        PathReport { read_at: Timestamp::UNIX_EPOCH, paths: vec![path], callers: None, problems: Vec::new() }
    }

    #[test]
    fn exit_code_says_whether_the_request_arrives_and_whether_all_was_read() {
        assert_eq!(exit(&report(Passage::Open)), Exit::Clean);
        assert_eq!(exit(&report(Passage::Blocked)), Exit::Findings);
        assert_eq!(exit(&report(Passage::Unknown)), Exit::Unusable);
        let unread = PathReport { problems: vec!["Consul could not be read".to_owned()], ..report(Passage::Blocked) };
        assert_eq!(exit(&unread), Exit::Unusable);
    }
}

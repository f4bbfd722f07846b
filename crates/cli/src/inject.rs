//! `ecs-mesh inject`

use std::{path::Path, sync::Arc};

use audit::{
    audit,
    fix::apply,
    inject::{Images, Injection, Options, Upstream, inject},
    severity::Severity,
};
use audit_read::{
    Material,
    definition::{Dialect, TaskDefinition},
    input::{gather, read_source},
};
use clap::Args;
use document::SourceFile;
use mesh::{names::ServiceName, release::Release};

use crate::{
    fix::Change,
    streams::{self, Exit, Failure, Streams},
};

/// Add the containers of Consul's mesh to the task definition of an app
#[derive(Debug, Args)]
#[command(
    after_help = "Existing content keeps its formatting and comments. The command checks the result and prints its \
                  findings to standard error.\n\n\
                  Examples:\n  ecs-mesh inject --consul-hosts consul.example.internal web.json > mesh-web.json\n  \
                  ecs-mesh inject --consul-hosts consul.example.internal --no-acls --diff template.yaml\n  \
                  ecs-mesh inject --consul-hosts consul.example.internal --ca-secret \"$CA_ARN\" \\\n    \
                  --upstream orders:1234 --write web.json"
)]
pub(super) struct Arguments {
    /// The file: ECS's JSON or a CloudFormation template; - is standard input
    file: String,
    /// Connect to these Consul servers: an address, a DNS name, or exec= and a program that prints addresses
    #[arg(long, value_name = "HOSTS")]
    consul_hosts: String,
    /// Choose a task definition of the file: its family or logical ID
    #[arg(long)]
    family: Option<String>,
    /// Set the service's name in Consul [default: the definition's tag, or the family]
    #[arg(long, value_name = "NAME")]
    service_name: Option<String>,
    /// Set the port that the app listens on [default: the only TCP port that its containers map]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Let the app call this service on this local port; may be repeated
    #[arg(long, value_name = "NAME:PORT")]
    upstream: Vec<String>,
    /// Use TLS, with the CA certificate of Consul's servers from this secret [default: no TLS]
    #[arg(long, value_name = "ARN")]
    ca_secret: Option<String>,
    /// Configure the task for a Consul without ACLs
    #[arg(long)]
    no_acls: bool,
    /// Set the task role, if the definition has none
    #[arg(long, value_name = "ARN")]
    task_role: Option<String>,
    /// Choose the newest images for this release of Consul's servers, such as 1.22 or 1.22.1 [default: the newest
    /// release]
    #[arg(long, value_name = "VERSION", value_parser = Release::line_of, conflicts_with = "consul_ecs_image")]
    consul_version: Option<Release>,
    /// Use this image of consul-ecs 0.8 or newer, and the matching image of Consul Dataplane [default: the newest
    /// release]
    #[arg(long, value_name = "IMAGE")]
    consul_ecs_image: Option<String>,
    /// Print the changes as a diff
    #[arg(long, conflicts_with = "write")]
    diff: bool,
    /// Change the file instead of printing the result
    #[arg(long)]
    write: bool,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let gathered = gather(std::slice::from_ref(&arguments.file), streams.input);
    if let Some(problem) = gathered.problems.first() {
        return Err(Failure::new(problem));
    }
    let definition = chosen(arguments, &gathered.material)?;
    let Injection { edits, notes } =
        inject(definition, &gathered.material.resources, &options(arguments)?).map_err(Failure::new)?;
    let text = apply(&definition.file.text, definition.dialect, &edits).map_err(Failure::new)?;
    let result = Arc::new(SourceFile::new(definition.file.name.clone(), text));
    if arguments.diff {
        let change = Change { before: &definition.file, after: &result.text };
        let diff = change.diff(streams.in_colour);
        streams.print(&diff)?;
    } else if arguments.write && definition.file.name != "<stdin>" {
        streams::write(Path::new(&result.name), &result.text)?;
    } else {
        streams.print(&result.text)?;
    }
    for (severity, note) in notes {
        streams.diagnostic(&format!("{}: {note}", severity.as_str()));
    }
    Ok(if check(&result, streams) { Exit::Clean } else { Exit::Findings })
}

fn chosen<'m>(arguments: &Arguments, material: &'m Material) -> Result<&'m TaskDefinition, Failure> {
    match material.chosen(arguments.family.as_deref()).as_slice() {
        [one] => Ok(one),
        // None of them can be edited, whichever is chosen.
        [first, ..] if material.definitions.iter().all(|one| one.dialect == Dialect::Terraform) => Ok(first),
        [] => Err(Failure::Message(format!("{}: no such task definition", arguments.file))),
        several => {
            let labels: Vec<String> = several.iter().map(|definition| definition.label()).collect();
            Err(Failure::Message(format!("choose one with --family: {}", labels.join(", "))))
        }
    }
}

fn options(arguments: &Arguments) -> Result<Options, Failure> {
    let service_name =
        arguments.service_name.as_deref().map(str::parse::<ServiceName>).transpose().map_err(Failure::new)?;
    let upstreams: Result<Vec<Upstream>, _> = arguments.upstream.iter().map(|text| text.parse()).collect();
    let images = match (arguments.consul_version, &arguments.consul_ecs_image) {
        (Some(servers), _) => Images::of_consul(servers).map_err(Failure::new)?,
        (None, Some(image)) => Images::of_consul_ecs(image).map_err(Failure::new)?,
        (None, None) => Images::newest(),
    };
    Ok(Options {
        service_name,
        port: arguments.port,
        consul_hosts: arguments.consul_hosts.clone(),
        upstreams: upstreams.map_err(Failure::new)?,
        ca_secret: arguments.ca_secret.clone(),
        acls: !arguments.no_acls,
        task_role: arguments.task_role.clone(),
        images,
    })
}

/// Whether the result has only findings of severity `info`; prints all findings.
fn check(result: &Arc<SourceFile>, streams: &mut Streams<'_>) -> bool {
    let mut material = Material::default();
    if let Err(problem) = read_source(Arc::clone(result), true, &mut material) {
        streams.diagnostic(&format!("error: {problem}"));
        return false;
    }
    let findings = audit(&material);
    for finding in &findings {
        streams.diagnostic(&format!("{}: {}: {}", finding.severity.as_str(), finding.rule.id, finding.message));
    }
    findings.iter().all(|finding| finding.severity == Severity::Info)
}

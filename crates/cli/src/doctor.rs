//! `ecs-mesh doctor`

use std::env;

use aws::{ecs::AwsEcs, installation::AwsInstallation, queue::DeadLetterQueues};
use clap::Args;
use diagnosis::{
    Reader, Scope,
    doctor::{CheckOutcome, Commands, Doctor, DoctorReport, Sources},
};

use crate::{
    by_hand::StackArguments,
    connect::{AwsArguments, runtime},
    consul_variables::{ConsulVariables, names_consul},
    doctor_text,
    exit::{Exit, Failure},
    output::OutputArguments,
    progress::Progress,
    reading::secret_prefix,
    streams::Streams,
};

/// Check whether the installation works, or can be made, and show the commands that mend it
#[derive(Debug, Args)]
#[command(
    after_help = "It only reads. The function `reconcile` of the stack is asked what it reaches from where it runs. Consul is also asked \
                  from here if CONSUL_HTTP_ADDR is set, and always before an installation; its other variables are CONSUL_HTTP_TOKEN, \
                  CONSUL_HTTP_TOKEN_FILE, CONSUL_CACERT, CONSUL_TLS_SERVER_NAME, CONSUL_PARTITION, CONSUL_NAMESPACE.\n\n\
                  Exit codes: 0 no check has failed, 1 one has, 2 none has, but one could not be made.\n\n\
                  Examples:\n  ecs-mesh doctor\n  ecs-mesh doctor --stack mesh-eu --region eu-west-1 --output json\n  \
                  ecs-mesh doctor --before-install --clusters 'prod-*'"
)]
pub(super) struct Arguments {
    /// Check whether an installation can be made
    #[arg(long)]
    before_install: bool,
    /// The clusters to be managed, as in the parameter `EcsClusterArns`
    #[arg(long, value_name = "CLUSTERS", default_value = "*", requires = "before_install")]
    clusters: String,
    /// The prefix of the names of secrets, as in the parameter `SecretNamePrefix`
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
        let report = check(arguments).await?;
        arguments.output.show(&report, doctor_text::text, streams)?;
        Ok(exit(&report))
    })
}

/// Connects everything, and makes the checks.
async fn check(arguments: &Arguments) -> Result<DoctorReport, Failure> {
    let sdk = arguments.aws.sdk().await?;
    let variables = ConsulVariables::read(|name| env::var(name).ok())?;
    let consul = variables.client()?;
    let is_asked = arguments.before_install || names_consul();
    let (ecs, installation) = (AwsEcs::new(&sdk), AwsInstallation::new(&sdk));
    let queues = DeadLetterQueues::new(&sdk);
    // Of an installation, only the controllers of consul-ecs are looked for, which does not depend on the names of secrets.
    let secret_prefix = secret_prefix(&arguments.secret_name_prefix).map_err(Failure::Message)?;
    let scope = Scope { secret_prefix, default_tenancy: variables.tenancy.clone(), consul_hosts: variables.hosts() };
    let reader = Reader::new(&ecs, &consul, scope);
    let progress = Progress::new()?;
    let doctor = Doctor {
        sources: Sources {
            installation: &installation,
            queues: &queues,
            ecs: &ecs,
            reader: &reader,
            consul: is_asked.then_some(&consul),
        },
        commands: Commands {
            stack: arguments.stack.stack.clone(),
            region: sdk.region().map(ToString::to_string).unwrap_or_default(),
            profile: arguments.aws.profile().map(str::to_owned),
        },
        progress: &|what| progress.say(what),
    };
    Ok(if arguments.before_install {
        progress
            .during(doctor.before_install(&arguments.clusters, &arguments.secret_name_prefix, &variables.tenancy))
            .await
    } else {
        progress.during(doctor.installed()).await
    })
}

fn exit(report: &DoctorReport) -> Exit {
    match (report.count(CheckOutcome::Failed), report.count(CheckOutcome::Unknown)) {
        (0, 0) => Exit::Clean,
        (0, _) => Exit::Unusable,
        _ => Exit::Findings,
    }
}

//! `ecs-mesh config`

use clap::{Args, Subcommand};

use crate::{
    config_text,
    configuration::{self, ConfigurationArguments},
    exit::{Exit, Failure},
    streams::Streams,
};
use audit::{ignore::config_schema, report::Threshold};

/// Show the configuration of checks, or its schema
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ecs-mesh config show\n  ecs-mesh config show --select consul --fail-on warning\n  \
                        ecs-mesh config schema > ecs-mesh.schema.json"
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the configuration that a check here has, and where each value comes from
    #[command(
        after_help = "The output is a configuration file; what the command line selects stands in a comment.\n\n\
                            Examples:\n  ecs-mesh config show\n  ecs-mesh config show --select consul --fail-on warning"
    )]
    Show(ConfigurationArguments),
    /// Print the JSON schema of ecs-mesh.toml, for editors
    #[command(after_help = "Examples:\n  ecs-mesh config schema > ecs-mesh.schema.json\n\n\
                            Taplo and the editors that use it read it if the first line of ecs-mesh.toml is\n  \
                            #:schema ./ecs-mesh.schema.json")]
    Schema,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let text = match &arguments.command {
        Command::Show(configuration) => {
            let config = configuration.rules.read(&configuration::working_directory()?)?;
            config_text::text(&config, configuration)
        }
        Command::Schema => format!("{:#}\n", config_schema(&Threshold::NAMES)),
    };
    streams.print(&text)?;
    Ok(Exit::Clean)
}

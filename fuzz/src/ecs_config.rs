//! `CONSUL_ECS_CONFIG_JSON`, and the identity of a task by it.

use mesh::{
    cluster_selection::ClusterSelection,
    consul_ecs::{CONFIG_VARIABLE, Configuration, MESH_TAG, MeshConfig, Registrar},
    definition::TaskDefinition,
    names::ServiceName,
    secret_name::SecretNames,
    settings::{TokenMode, TokenSettings},
    tags::Tags,
    tenancy::Tenancy,
};
use mesh_examples::{cluster, definition, definition_arn};

/// What is read in full has a tenancy or an error that names a field.
fn read_in_full(text: &str) {
    for registrar in [Registrar::ControlPlane, Registrar::MeshInit] {
        let read = MeshConfig::parse(text, registrar).and_then(|config| config.tenancy(true));
        if let Err(error) = read {
            assert!(error.field().starts_with(CONFIG_VARIABLE), "{error}");
        }
    }
}

/// With any configuration, the task has a legal service name or none.
pub fn run(text: &str) {
    let config = Configuration::from(text);
    read_in_full(text);
    let definition = TaskDefinition {
        tags: Tags::from_iter([(MESH_TAG, "true")]),
        config: Some(config.clone()),
        ..definition(definition_arn("web:7"))
    };
    let home = ClusterSelection::parse(cluster("prod").as_str(), None).expect("a selection");
    let names = SecretNames::new("mesh".parse().expect("a prefix"), None, Tenancy::Community, &home);
    let rules = TokenSettings { mode: TokenMode::Auto, names: &names };
    let identity = definition.identify(&Tags::default(), &Tenancy::Community, rules);
    match config.named() {
        Ok(config) => {
            let name = identity.ok().flatten().map(|identity| identity.service.name);
            assert_eq!(name, config.name().unwrap_or("web").parse::<ServiceName>().ok());
        }
        // The configuration may contain a secret: the error is always the same.
        Err(error) => {
            assert_eq!(Err(error), Configuration::from("").named());
            assert_eq!(error.field(), CONFIG_VARIABLE);
            assert!(identity.is_err());
        }
    }
}

//! The settings of consul-ecs's controllers: of the controller since 0.7, and of the ACL controller before it.

use super::prelude::*;
use crate::{
    spelling::nearest,
    subject::{ControllerKind, ControllerTask, go_flag},
};

pub(super) static CONSUL_CONTROLLER_SETTINGS: Rule =
    Rule::of_task(page!("consul-controller-settings"), Applies::Controller, check_settings);

const TOKEN: &str = "CONSUL_HTTP_TOKEN";
const ADDRESS: &str = "CONSUL_HTTP_ADDR";

/// The flags of the ACL controller, in all of its releases. Source:
/// <https://github.com/hashicorp/consul-ecs/blob/v0.6.0/subcommand/acl-controller/command.go>
const FLAGS: [&str; 6] =
    ["consul-client-secret-arn", "secret-name-prefix", "partitions-enabled", "partition", "iam-role-path", "log-level"];

fn check_settings(subject: &Subject<'_>, findings: &mut Findings) {
    // Another rule reports a command that the image does not have.
    let Some(controller) = subject.controller.as_ref().filter(|_| subject.consul_ecs().is_some_and(|it| it.fits))
    else {
        return;
    };
    let container = controller.container;
    let label = container.label();
    let lacks = |name: &str| matches!(container.environment_has(name), Maybe::Absent);
    let mut add = |span, message: String, help: &str| findings.add(Draft::new(span, message, help).of(container));
    if controller.kind.is_some() && lacks(TOKEN) {
        let help = "add the secret CONSUL_HTTP_TOKEN: a token that may write ACLs, such as the bootstrap token";
        add(container.span(), format!("{label} has no {TOKEN}"), help);
    }
    match controller.kind {
        Some(ControllerKind::AclController) => {
            if lacks(ADDRESS) {
                let help = "add CONSUL_HTTP_ADDR with the address of a server: https://SERVER:8501";
                add(container.span(), format!("{label} has no {ADDRESS}"), help);
            }
            if let Some((span, message)) = plain_address(container) {
                add(span, message, "write https:// in the address");
            }
            for (span, message, help) in unknown_flags(container) {
                add(span, message, &help);
            }
        }
        Some(ControllerKind::Controller) => {
            for (span, message, help) in of_configuration(controller) {
                add(span, message, help);
            }
        }
        None => {}
    }
}

/// An address of plain HTTP at the port of HTTPS, or with a certificate.
fn plain_address(container: &Container) -> Option<(document::Span, String)> {
    let Maybe::Known(variable) = container.variable(ADDRESS) else { return None };
    let text = variable.value.text().filter(|text| text.starts_with("http://"))?;
    let has_certificate = matches!(container.environment_has("CONSUL_CACERT_PEM"), Maybe::Known(()));
    let is_secure = text.trim_end_matches('/').ends_with(":8501") || has_certificate;
    let message = format!("{ADDRESS} of {} is plain HTTP, but the servers have TLS", container.label());
    is_secure.then(|| (variable.value.span(), message))
}

fn unknown_flags(container: &Container) -> Vec<(document::Span, String, String)> {
    let words = container.command.items.iter().filter_map(|word| Some((word, word.text()?)));
    let flags = words.filter_map(|(word, text)| Some((word, go_flag(text)?.0)));
    let unknown = flags.filter(|(_, name)| !FLAGS.contains(name));
    let defect = |(word, name): (&Field<Text>, &str)| {
        let meant = FLAGS.into_iter().find(|flag| flag.starts_with(name)).or_else(|| nearest(name, FLAGS))?;
        let message = format!("acl-controller of {} has no flag -{name}", container.label());
        Some((word.span(), message, format!("write -{meant}")))
    };
    unknown.filter_map(defect).collect()
}

fn of_configuration(controller: &ControllerTask<'_>) -> Vec<(document::Span, String, &'static str)> {
    let configuration = &controller.configuration;
    let mut defects = Vec::new();
    if let Maybe::Known(path) = configuration.name_at("controller.iamRolePath")
        && !(path.starts_with('/') && path.ends_with('/'))
    {
        let message = format!("controller.iamRolePath is {path:?}, without a slash at both ends");
        let span = configuration.place_of("controller.iamRolePath").span;
        defects.push((span, message, "write it as a path of IAM: /consul-ecs/"));
    }
    let is_off = configuration.flag("controller.partitionsEnabled", false) == Some(false);
    if let Maybe::Known(partition) = configuration.name_at("controller.partition")
        && is_off
        && !["", "default"].contains(&partition)
    {
        let message = format!("controller.partition is {partition:?}, but partitionsEnabled is false");
        let span = configuration.place_of("controller.partition").span;
        defects.push((span, message, "set controller.partitionsEnabled to true, or remove the partition"));
    }
    defects
}

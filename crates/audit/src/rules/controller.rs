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
            for (span, message, help) in wrong_flags(container).into_iter().chain(unread_certificate(container)) {
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

/// The flag without a value.
const SWITCH: &str = "partitions-enabled";

type Defect = (document::Span, String, String);

/// What Go's flags do with the command: a word that is no flag ends them.
fn wrong_flags(container: &Container) -> Vec<Defect> {
    let label = container.label();
    let mut defects = Vec::new();
    let (mut partition, mut has_switch) = (None, false);
    let Some(words) = container.command.items.iter().map(Field::text).collect::<Option<Vec<_>>>() else {
        return defects;
    };
    let mut words = container.command.items.iter().zip(words).skip(1);
    while let Some((word, text)) = words.next() {
        let Some((name, value)) = go_flag(text) else {
            let message =
                format!("acl-controller of {label} ignores the flags behind {}", container.command.shown_program());
            defects.push((
                word.span(),
                message,
                "remove what is no flag, or write it behind its flag and =".to_owned(),
            ));
            return defects;
        };
        if !FLAGS.contains(&name) {
            let meant = FLAGS.into_iter().find(|flag| flag.starts_with(name)).or_else(|| nearest(name, FLAGS));
            let Some(meant) = meant else { return defects };
            let message = format!("acl-controller of {label} has no flag -{name}");
            defects.push((word.span(), message, format!("write -{meant}")));
        }
        if name == SWITCH {
            has_switch = value != Some("false");
        } else if value.is_none() && words.next().is_none() {
            let message = format!("the flag -{name} of {label} has no value");
            defects.push((word.span(), message, format!("write the value behind -{name}")));
        }
        if name == "partition" {
            partition = Some(word);
        }
    }
    if let Some(word) = partition.filter(|_| !has_switch && container.command.is_complete) {
        let message = format!("acl-controller of {label} has -partition, but not -{SWITCH}");
        defects.push((word.span(), message, format!("add -{SWITCH}, or remove -partition")));
    }
    defects
}

/// The only certificate that the ACL controller reads.
const CERTIFICATE: &str = "CONSUL_CACERT_PEM";

/// A certificate under the name of another variable.
fn unread_certificate(container: &Container) -> Option<Defect> {
    let names = container.secrets.items.iter().map(|secret| &secret.name);
    let names = names.chain(container.environment.items.iter().map(|variable| &variable.name));
    let is_other = |name: &str| name.starts_with("CONSUL_") && name.ends_with("CACERT_PEM") && name != CERTIFICATE;
    let name = names.into_iter().find(|name| name.text().is_some_and(is_other))?;
    matches!(container.environment_has(CERTIFICATE), Maybe::Absent).then(|| {
        let message = format!(
            "{} has {}, which acl-controller does not read",
            container.label(),
            name.text().unwrap_or_default()
        );
        (name.span(), message, format!("rename it to {CERTIFICATE}"))
    })
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

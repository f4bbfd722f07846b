//! Transparent proxies: users, privileges and DNS.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::json;

use super::prelude::*;
use crate::spelling::misspelt;
use audit_read::definition::{TaskDefinition, api::Fault};
use document::Span;

pub(super) static CONSUL_DATAPLANE_USERS: Rule =
    Rule::of_task(page!("consul-dataplane-users"), Applies::ConsulDataplane, check_dataplane_users);

/// The users whose traffic is not redirected. Source: <https://developer.hashicorp.com/consul/docs/ecs/tech-specs>
const PROXY_USER: &str = "5995";
const HEALTH_SYNC_USER: &str = "5996";

fn check_dataplane_users(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.generation == Generation::Dataplane) else {
        return;
    };
    if consul.is_transparent() != Some(true) {
        return;
    }
    let wanted = [(consul.dataplane, PROXY_USER), (consul.health_sync, HEALTH_SYNC_USER)];
    for (container, user) in wanted {
        if let Some(container) = container {
            runs_as(container, user, findings);
        }
    }
}

fn runs_as(container: &Container, wanted: &str, findings: &mut Findings) {
    let user = &container.user;
    let message = match (user.text(), user.is_absent()) {
        // A group may follow.
        (Some(found), _) if found.split(':').next() == Some(wanted) => return,
        (Some(found), _) => format!("{} runs as user {found}", container.label()),
        (None, true) => format!("{} runs as the user of its image", container.label()),
        (None, false) => return,
    };
    let help = format!("set its user to \"{wanted}\"");
    findings.add(Draft::new(user.span(), message, help).of(container).fix(Fix::set(&user.place, wanted)));
}

pub(super) static CONSUL_APP_USER: Rule =
    Rule::of_task(page!("consul-app-user"), Applies::ConsulDataplane, check_app_user);

fn check_app_user(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_transparent() == Some(true)) else { return };
    for app in &consul.apps {
        let user = app.user.text().and_then(|user| user.split(':').next());
        if let Some(user) = user.filter(|user| [PROXY_USER, HEALTH_SYNC_USER].contains(user)) {
            let message = format!("{} runs as user {user}, whose traffic does not go through the proxy", app.label());
            findings.add(Draft::new(app.user.span(), message, "give it another user").of(app));
        }
    }
}

pub(super) static CONSUL_TRANSPARENT_PROXY_EXCLUSIONS: Rule = Rule::of_task(
    page!("consul-transparent-proxy-exclusions"),
    Applies::ConsulDataplane,
    check_transparent_proxy_exclusions,
);

fn check_transparent_proxy_exclusions(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_transparent() == Some(true)) else { return };
    let texts = |path: &str| {
        let items = consul.configuration.list(path).into_iter().flatten();
        items.filter_map(|node| Some((node.text().filter(|text| !text.contains('$'))?, node.place.span)))
    };
    for (block, span) in texts("transparentProxy.excludeOutboundCIDRs") {
        let (message, help, severity) = if is_everything(block) {
            let message = format!("excludeOutboundCIDRs has {block}: no request of the app goes through the proxy");
            (message, "exclude less, or turn transparent proxy off", Severity::Warning)
        } else if is_no_block(block) {
            let message = format!("excludeOutboundCIDRs has {block}, which is no block of addresses");
            (message, "write an address, or a block such as 10.0.0.0/8", Severity::Error)
        } else {
            continue;
        };
        findings.add(Draft::new(span, message, help).severity(severity));
    }
    for (user, span) in texts("transparentProxy.excludeUIDs") {
        let owner = || consul.apps.iter().find(|app| app.user.text().and_then(|it| it.split(':').next()) == Some(user));
        let is_number = |text: &str| text.parse::<u32>().is_ok();
        let is_range = || user.split_once('-').is_some_and(|(first, last)| is_number(first) && is_number(last));
        let (message, help) = if let Some(app) = owner() {
            let message = format!(
                "excludeUIDs has {user}, the user of {}: its requests do not go through the proxy",
                app.label()
            );
            (message, "remove it, or give the app another user")
        } else if !is_number(user) && !is_range() {
            let message =
                format!("excludeUIDs has {user:?}, which is no number: the image of consul-ecs has other users");
            (message, "write the number of the user")
        } else {
            continue;
        };
        findings.add(Draft::new(span, message, help).severity(Severity::Warning));
    }
}

fn is_everything(block: &str) -> bool {
    block.split_once('/').is_some_and(|(address, bits)| bits == "0" && address.parse::<IpAddr>().is_ok())
}

/// Whether it certainly is neither an address, nor a block, nor a name of a host. iptables takes several with commas.
fn is_no_block(text: &str) -> bool {
    text.split(',').any(|text| {
        let Some((address, bits)) = text.split_once('/') else {
            let has_digits_only = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            return has_digits_only && text.parse::<Ipv4Addr>().is_err();
        };
        let most = match address.parse::<IpAddr>() {
            Ok(IpAddr::V4(_)) => 32,
            Ok(IpAddr::V6(_)) => 128,
            Err(_) => return true,
        };
        !bits.parse::<u8>().is_ok_and(|bits| bits <= most) && bits.parse::<Ipv4Addr>().is_err()
    })
}

pub(super) static CONSUL_TRANSPARENT_PROXY_LAUNCH_TYPE: Rule = Rule::once_per_task(
    page!("consul-transparent-proxy-launch-type"),
    Applies::ConsulDataplane,
    check_transparent_proxy_launch_type,
);

fn check_transparent_proxy_launch_type(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref().filter(|consul| consul.is_transparent() == Some(true))?;
    let span = outside_of_ec2(subject.definition).filter(|_| !has_misspelt_compatibilities(subject.definition))?;
    let message = "transparent proxy is on, but the task may run outside of EC2";
    let dns = if consul.configuration.flag(DNS_SETTING, false) == Some(true) {
        format!(" and {DNS_SETTING}")
    } else {
        String::new()
    };
    let help = format!("set requiresCompatibilities to [\"EC2\"], or transparentProxy.enabled{dns} to false");
    let is_default = matches!(consul.configuration.at("transparentProxy.enabled"), Maybe::Absent);
    let note = if is_default { "on by default" } else { "transparent proxy is on" };
    let place = consul.configuration.place_of("transparentProxy.enabled");
    Some(Draft::new(span, message, help).note(place.span, note))
}

/// Whether a key is probably meant to say where the task runs: other rules report it.
fn has_misspelt_compatibilities(definition: &TaskDefinition) -> bool {
    let is_meant = |key: &str| {
        let name = "requires_compatibilities";
        key != name && misspelt(key, [name]).is_some()
    };
    let keys = definition.departures.iter().filter_map(|departure| match &departure.fault {
        Fault::UnknownKey { key, .. } => Some(key.as_str()),
        _ => None,
    });
    let arguments = definition.module.iter().flat_map(|module| &module.arguments);
    keys.chain(arguments.map(|argument| argument.name.as_str())).any(is_meant)
}

/// What says that a task may run where no container gets `NET_ADMIN`. Managed instances are EC2 instances that grant it:
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-security.html>
fn outside_of_ec2(definition: &TaskDefinition) -> Option<Span> {
    let other = |item: &&Field<Text>| item.text().is_some_and(|text| !["EC2", "MANAGED_INSTANCES"].contains(&text));
    match definition.requires_compatibilities.items.iter().find(other) {
        Some(item) => Some(item.span()),
        None => definition.runs_on_fargate().then(|| definition.span()),
    }
}

pub(super) static CONSUL_TRANSPARENT_PROXY_PRIVILEGES: Rule = Rule::of_task(
    page!("consul-transparent-proxy-privileges"),
    Applies::ConsulDataplane,
    check_transparent_proxy_privileges,
);

fn check_transparent_proxy_privileges(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_transparent() == Some(true)) else { return };
    // Where it does not work, it has to be turned off: another rule says so.
    let Some(mesh_init) = consul.mesh_init.filter(|_| outside_of_ec2(subject.definition).is_none()) else { return };
    let user = &mesh_init.user;
    let is_root = user.text().map(|user| matches!(user.split(':').next(), Some("0" | "root")));
    if is_root == Some(false) || user.is_absent() {
        let message = format!("{} must run as root for transparent proxy", mesh_init.label());
        let draft = Draft::new(user.span(), message, "set its user to \"0\"");
        findings.add(draft.of(mesh_init).fix(Fix::set(&user.place, "0")));
    }
    if lacks_net_admin(mesh_init) {
        let capabilities = &mesh_init.added_capabilities;
        let message = format!("{} lacks the capability NET_ADMIN for transparent proxy", mesh_init.label());
        let draft = Draft::new(capabilities.place.span, message, "add NET_ADMIN to linuxParameters.capabilities.add");
        let fix = Fix::append(capabilities, json!("NET_ADMIN")).filter(|_| capabilities.is_present);
        findings.add(draft.of(mesh_init).fix(fix));
    }
}

fn lacks_net_admin(mesh_init: &Container) -> bool {
    let grants = |text: Option<&str>| matches!(text, None | Some("NET_ADMIN" | "ALL"));
    mesh_init.privileged.or(false) == Some(false) && mesh_init.added_capabilities.lacks(|item| grants(item.text()))
}

pub(super) static CONSUL_DNS_WITHOUT_TRANSPARENT_PROXY: Rule = Rule::once_per_task(
    page!("consul-dns-without-transparent-proxy"),
    Applies::ConsulDataplane,
    check_dns_without_transparent_proxy,
);

const DNS_SETTING: &str = "transparentProxy.consulDNS.enabled";

fn check_dns_without_transparent_proxy(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let configuration = &consul.configuration;
    (configuration.flag(DNS_SETTING, false) == Some(true) && is_off(consul)).then(|| {
        let message = "Consul DNS is on, but transparent proxy is off";
        let help = format!("set transparentProxy.enabled to true (on EC2 only), or {DNS_SETTING} to false");
        Draft::new(configuration.place_of(DNS_SETTING).span, message, help)
    })
}

/// In gateways, both settings are without effect.
fn is_off(consul: &ConsulTask<'_>) -> bool {
    consul.configuration.flag("transparentProxy.enabled", true) == Some(false)
}

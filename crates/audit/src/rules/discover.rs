//! The command `discover` of go-discover, which looks the servers up in a cloud.

use std::collections::BTreeSet;

use super::{configuration::of_holder, prelude::*, servers::HOSTS};
use crate::{spelling::nearest, subject::is_switched_on};
use audit_read::definition::api::is_no_region;

pub(super) static CONSUL_SERVER_DISCOVER: Rule =
    Rule::once_per_task(page!("consul-server-discover"), Applies::ConsulDataplaneAndController, check_discover);

/// A provider of go-discover whose settings are known, as its help and its code have them.
struct Provider {
    name: &'static str,
    settings: &'static [&'static str],
    /// The settings without which it finds nothing: one of these groups.
    needed: &'static [&'static [&'static str]],
}

const PROVIDERS: [Provider; 2] = [
    Provider {
        name: "aws",
        settings: &[
            "provider",
            "region",
            "tag_key",
            "tag_value",
            "addr_type",
            "access_key_id",
            "secret_access_key",
            "session_token",
            "service",
            "ecs_cluster",
            "ecs_family",
            "endpoint",
        ],
        needed: &[&["tag_key", "tag_value"]],
    },
    Provider {
        name: "azure",
        settings: &[
            "provider",
            "tenant_id",
            "client_id",
            "subscription_id",
            "secret_access_key",
            "tag_name",
            "tag_value",
            "resource_group",
            "vm_scale_set",
        ],
        needed: &[&["tag_name", "tag_value"], &["resource_group", "vm_scale_set"]],
    },
];

/// The other providers of the command.
const OTHERS: [&str; 14] = [
    "aliyun",
    "digitalocean",
    "gce",
    "linode",
    "mdns",
    "os",
    "packet",
    "proxmox",
    "scaleway",
    "softlayer",
    "srv",
    "tencentcloud",
    "triton",
    "vsphere",
];

/// The settings of a call of `discover`.
pub(super) struct Settings<'h>(Vec<(&'h str, &'h str)>);

impl<'h> Settings<'h> {
    pub(super) fn get(&self, key: &str) -> Option<&'h str> {
        self.0.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    /// The settings in `hosts`, if it is a call of `discover`; the error if discover cannot read it.
    pub(super) fn of(hosts: &'h str) -> Option<Result<Self, String>> {
        let mut words = hosts.strip_prefix("exec=")?.split_whitespace().peekable();
        if words.next()?.rsplit('/').next() != Some("discover") {
            return None;
        }
        let flags: Vec<&str> = std::iter::from_fn(|| words.next_if(|word| word.starts_with('-'))).collect();
        if is_switched_on(flags, "json") {
            return Some(Err("calls discover with -json, which prints JSON and no addresses".to_owned()));
        }
        if words.next() != Some("addrs") {
            return Some(Err("calls discover without addrs, and gets its help".to_owned()));
        }
        let mut settings = Vec::new();
        for word in words {
            match word.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty()) {
                Some(setting) => settings.push(setting),
                None => return Some(Err("gives discover a word after addrs that is no key=value".to_owned())),
            }
        }
        Some(Ok(Self(settings)))
    }
}

fn check_discover(subject: &Subject<'_>) -> Option<Draft> {
    let consul_ecs = subject.consul_ecs()?;
    let configuration = consul_ecs.configuration?;
    let hosts = configuration.text(HOSTS)?;
    // Another rule reports quotes.
    if hosts.contains(['\'', '"']) {
        return None;
    }
    let (what, help) = match Settings::of(hosts)? {
        Err(what) => (what, "write exec=discover -q addrs provider=aws tag_key=… tag_value=…".to_owned()),
        Ok(settings) => fault(&settings)?,
    };
    Some(of_holder(&consul_ecs, Draft::new(configuration.place_of(HOSTS).span, format!("{HOSTS} {what}"), help)))
}

/// What is wrong with the settings, and how to correct it.
fn fault(settings: &Settings<'_>) -> Option<(String, String)> {
    let mut keys = BTreeSet::new();
    if let Some((key, _)) = settings.0.iter().find(|(key, _)| !keys.insert(*key)) {
        return Some((format!("gives discover the setting {key} twice"), "leave one of them".to_owned()));
    }
    let known = || PROVIDERS.iter().map(|provider| provider.name).chain(OTHERS);
    let Some(name) = settings.get("provider") else {
        return Some(("gives discover no provider".to_owned(), "add provider=aws".to_owned()));
    };
    let Some(provider) = PROVIDERS.iter().find(|provider| provider.name == name) else {
        let help = nearest(name, known()).unwrap_or("aws");
        let is_known = known().any(|known| known == name);
        return (!is_known).then(|| {
            (format!("names the provider {name}, which discover does not have"), format!("did you mean {help}?"))
        });
    };
    let needed = missing(provider, settings);
    if let Some(key) = settings.0.iter().map(|(key, _)| *key).find(|key| !provider.settings.contains(key)) {
        let meant = nearest(key, provider.settings.iter().copied().filter(|known| settings.get(known).is_none()));
        let meant = meant.or_else(|| needed.first().copied().filter(|_| needed.len() == 1));
        let what = format!("has the setting {key}, which go-discover's provider {name} does not know");
        let and = if needed.is_empty() { String::new() } else { format!("; {}", are_missing(&needed)) };
        let help = meant.map_or_else(|| "remove it".to_owned(), |meant| format!("did you mean {meant}?"));
        return Some((format!("{what}{and}"), help));
    }
    if !needed.is_empty() {
        let of = if settings.get("service") == Some("ecs") { "tasks with a tag" } else { "what has a tag" };
        return Some((
            format!("asks for {of}, but {}", are_missing(&needed)),
            format!("add {}, as the servers are tagged", needed.join(" and ")),
        ));
    }
    if name != "aws" {
        return None;
    }
    if let Some(service) = settings.get("service").filter(|service| !["ec2", "ecs"].contains(service)) {
        let what = format!("has service={service}, which discover does not know and replaces by ec2");
        return Some((what, "write service=ecs or service=ec2".to_owned()));
    }
    let region = settings.get("region").filter(|region| is_no_region(region))?;
    Some((format!("names the region {region}, which is no region of AWS"), "write it as in eu-west-1".to_owned()))
}

/// `tag_key is missing`, `tag_key and tag_value are missing`.
fn are_missing(names: &[&str]) -> String {
    format!("{} {} missing", names.join(" and "), if names.len() == 1 { "is" } else { "are" })
}

/// The settings that are missing of the group that comes nearest.
fn missing<'p>(provider: &'p Provider, settings: &Settings<'_>) -> Vec<&'p str> {
    let of_group = |group: &&'p [&'p str]| -> Vec<&'p str> {
        group.iter().copied().filter(|key| settings.get(key).is_none()).collect()
    };
    provider.needed.iter().map(of_group).min_by_key(Vec::len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(hosts: &str) -> Option<String> {
        match Settings::of(hosts)? {
            Err(what) => Some(what),
            Ok(settings) => fault(&settings).map(|(what, help)| format!("{what} / {help}")),
        }
    }

    #[test]
    fn settings_are_those_of_the_provider() {
        for right in [
            "exec=discover -q addrs provider=aws tag_key=role tag_value=server",
            "exec=/bin/discover addrs provider=aws service=ecs ecs_cluster=c ecs_family=f tag_key=r tag_value=s region=eu-west-1",
            "exec=discover -q addrs provider=azure tag_name=a tag_value=b",
            "exec=discover -q addrs provider=azure resource_group=a vm_scale_set=b",
            "exec=discover -q addrs provider=gce whatever=1",
            "exec=discover -json=false addrs provider=aws tag_key=r tag_value=s",
            "exec=discover -q addrs provider=aws tag_key=r tag_value=s region=REGION",
            "exec=/our/script.sh provider=awss",
            "consul.example.internal",
        ] {
            assert_eq!(said(right), None, "{right}");
        }
        for (wrong, part) in [
            ("exec=discover -q addrs provider=aws tag_name=role tag_value=server", "did you mean tag_key?"),
            ("exec=discover -q addrs provider=aws tag_key=r tag_value=s regoin=eu-west-1", "did you mean region?"),
            ("exec=discover -q addrs provider=aws service=ecs ecs_family=f", "tag_key and tag_value are missing"),
            (
                "exec=discover -q addrs provider=aws cluster=c",
                "cluster, which go-discover's provider aws does not know; tag_key and tag_value are missing",
            ),
            ("exec=discover -q addrs provider=aws tag_key=role", "but tag_value is missing"),
            ("exec=discover -q addrs provider=aws tag_key=r tag_value=s service=ecss", "replaces by ec2"),
            ("exec=discover -q addrs provider=aws tag_key=r tag_key=t tag_value=s", "twice"),
            ("exec=discover -q addrs provider=aws tag_key=r tag_value=s region=eu-west1", "no region"),
            ("exec=discover -q addrs provider=k8s label_selector=a", "does not have"),
            ("exec=discover -q addrs provider=azrue tag_name=a tag_value=b", "did you mean azure?"),
            ("exec=discover -q addrs tag_key=r tag_value=s", "no provider"),
            ("exec=discover -q provider=aws tag_key=r tag_value=s", "without addrs"),
            ("exec=discover -json addrs provider=aws tag_key=r tag_value=s", "JSON"),
            ("exec=discover -json=false --json=true addrs provider=aws tag_key=r tag_value=s", "JSON"),
            ("exec=discover addrs -q provider=aws tag_key=r tag_value=s", "no key=value"),
        ] {
            let said = said(wrong).unwrap_or_default();
            assert!(said.contains(part), "{wrong}: {said}");
        }
    }
}

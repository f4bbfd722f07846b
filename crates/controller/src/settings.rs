//! The settings of a deployment: environment variables, parsed once at start.

#[cfg(test)]
mod tests;

use std::{ops::RangeInclusive, str::FromStr, time::Duration};

use consul::ConsulAddresses;
use mesh::{
    cluster_selection::{ClusterPattern, ClusterSelection},
    guard::MaxDeletePercent,
    names::InvalidField,
    scope::{BootstrapExtent, BootstrapScope, Scope},
    secret_name::{SecretNamePrefix, SecretNames},
    tenancy::{Tenancy, TenancyName},
    time::{Bounds, GracePeriod},
};
use secrecy::SecretString;

/// The variable with the addresses of Consul.
const ADDRESS: &str = "CONSUL_HTTP_ADDR";
/// The variables with what Consul's certificate is verified against.
const CA_CERTIFICATE: &str = "CONSUL_CACERT_SECRET_ARN";
const SERVER_NAME: &str = "CONSUL_TLS_SERVER_NAME";
/// The longest time between scheduled sweeps: the alarm about missing ones looks back at three, and `CloudWatch` at seven days.
const LONGEST_RATE: Duration = Duration::from_hours(48);

/// The source of the controller's own Consul token.
#[derive(Debug, Clone)]
pub enum CredentialSetting {
    /// This secret in Secrets Manager: the token itself, or JSON with a key `token`.
    Secret(String),
    /// The environment.
    Token(SecretString),
}

#[derive(Debug, Clone)]
pub struct Settings {
    /// `CONSUL_HTTP_ADDR`.
    pub consul_addresses: ConsulAddresses,
    /// `CONSUL_HTTP_TOKEN_SECRET_ARN` or `CONSUL_HTTP_TOKEN`.
    pub consul_credential: CredentialSetting,
    /// `CONSUL_CACERT_SECRET_ARN`: the secret with the CA certificate in PEM.
    pub ca_certificate_secret: Option<String>,
    /// `CONSUL_TLS_SERVER_NAME`.
    pub tls_server_name: Option<String>,
    /// `SECRET_KMS_KEY_ID`: the key that encrypts new secrets.
    pub kms_key_id: Option<String>,
    /// `QUEUE_URL`: the function's own queue.
    pub queue_url: String,
    /// `ECS_CLUSTER_ARNS`, `ECS_CLUSTER_ARN_PREFIX`, `TOKEN_MODE`, `SECRET_NAME_PREFIX`, `CLIENT_TOKEN_SECRET_NAME`,
    /// `REVOCATION_GRACE_SECONDS`, `TIME_BOUNDS`, `UNUSED_TOKEN_HOURS`, `MAX_DELETE_PERCENT`, `CONSUL_PARTITION` and
    /// `CLUSTER_PARTITIONS`; `MODE`, `REPAIR`, `ROUTINE_EVENTS` and
    /// `RECONCILE_RATE`; for the bootstrap, `BOOTSTRAP` and `IAM_ROLE_PATH`.
    pub scope: Scope,
}

impl Settings {
    /// Reads the settings from `variable`, which gives an environment variable's value.
    ///
    /// # Errors
    /// The first missing or invalid variable, with the valid values.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, InvalidField> {
        // CloudFormation passes unset parameters as empty strings.
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let variables = Variables(&variable);
        let clusters = read_clusters(&variables)?;
        let consul_addresses: ConsulAddresses = variables.required(
            ADDRESS,
            "http(s)://host:port, several separated by commas, or ecs://cluster/family-or-service:port?scheme=https",
        )?;
        let settings = Self {
            scope: read_scope(&variables, clusters, &consul_addresses)?,
            consul_addresses,
            consul_credential: read_credential(&variables)?,
            ca_certificate_secret: variables.secret_id(CA_CERTIFICATE)?,
            tls_server_name: variables.checked(SERVER_NAME, is_host_name, "a DNS name")?,
            kms_key_id: variables.checked("SECRET_KMS_KEY_ID", is_printable, "the ARN or ID of a KMS key")?,
            queue_url: read_queue_url(&variables)?,
        };
        settings.check_tls(&variables)?;
        Ok(settings)
    }

    /// Rejects plain HTTP if settings for TLS verification are present: the token would be sent unencrypted. For servers in
    /// tasks, verification is required: anyone who runs a task of their family would receive the token.
    fn check_tls(&self, variables: &Variables<'_>) -> Result<(), InvalidField> {
        let (has_ca, has_name) = (self.ca_certificate_secret.is_some(), self.tls_server_name.is_some());
        let is_in_tasks = matches!(self.consul_addresses, ConsulAddresses::Ecs(_));
        let (field, expected) = match () {
            () if !self.consul_addresses.are_all_tls() && is_in_tasks => (
                ADDRESS,
                "?scheme=https, because anyone who runs a task of that family would receive the controller's token",
            ),
            () if !self.consul_addresses.are_all_tls() && (has_ca || has_name) => {
                (ADDRESS, "https:// throughout, because CONSUL_CACERT_SECRET_ARN or CONSUL_TLS_SERVER_NAME is set")
            }
            () if is_in_tasks && !has_ca => {
                (CA_CERTIFICATE, "the secret with Consul's CA certificate, because the servers run in tasks (ecs://)")
            }
            () if is_in_tasks && !has_name => (
                SERVER_NAME,
                "the name in Consul's certificate, because the servers run in tasks (ecs://), for example server.dc1.consul",
            ),
            () => return Ok(()),
        };
        Err(InvalidField::new(field, &variables.text(field).unwrap_or_default(), expected))
    }
}

/// The settings of a plan without a deployment: the defaults, for the tasks' tenancy and this prefix of secret names.
///
/// # Errors
/// The settings contradict each other.
pub fn without_deployment(
    clusters: ClusterSelection,
    consul: &ConsulAddresses,
    prefix: &SecretNamePrefix,
    tenancy: &Tenancy,
) -> Result<Scope, InvalidField> {
    let partition = |name: &str| tenancy.partition().filter(|_| name == "CONSUL_PARTITION").map(ToString::to_string);
    let scope = read_scope(&Variables(&partition), clusters, consul)?;
    let names = SecretNames::new(prefix.clone(), None, scope.default_tenancy.clone(), &scope.clusters);
    Ok(Scope { names, ..scope })
}

fn is_host_name(text: &str) -> bool {
    let is_legal = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'.';
    // An IP address would replace the configured address.
    text.len() <= 253 && text.bytes().all(is_legal) && text.bytes().any(|b| b.is_ascii_alphabetic())
}

fn is_printable(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_graphic())
}

fn read_queue_url(variables: &Variables<'_>) -> Result<String, InvalidField> {
    const EXPECTED: &str = "the URL of the function's own SQS queue";
    let is_url = |text: &str| is_printable(text) && (text.starts_with("https://") || text.starts_with("http://"));
    let url = variables.checked("QUEUE_URL", is_url, EXPECTED)?;
    url.ok_or_else(|| InvalidField::new("QUEUE_URL", "", EXPECTED))
}

fn read_clusters(variables: &Variables<'_>) -> Result<ClusterSelection, InvalidField> {
    const NAME: &str = "ECS_CLUSTER_ARNS";
    let expected = "the ARNs or names of the clusters to manage, separated by commas; or patterns such as prod-* or *";
    let text = variables.required_text(NAME, expected)?;
    let prefix = variables.text("ECS_CLUSTER_ARN_PREFIX");
    ClusterSelection::parse(&text, prefix.as_deref()).map_err(|e| e.in_field(NAME))
}

fn read_credential(variables: &Variables<'_>) -> Result<CredentialSetting, InvalidField> {
    let in_secret = variables.secret_id("CONSUL_HTTP_TOKEN_SECRET_ARN")?.map(CredentialSetting::Secret);
    let token = variables.text("CONSUL_HTTP_TOKEN").map(|token| token.trim().to_owned());
    if token.as_deref().is_some_and(|token| !is_printable(token)) {
        return Err(InvalidField::new(
            "CONSUL_HTTP_TOKEN",
            "(not shown)",
            "a Consul ACL token: visible characters only",
        ));
    }
    let in_environment = token.map(|token| CredentialSetting::Token(SecretString::from(token)));
    match (in_secret, in_environment) {
        (Some(setting), None) | (None, Some(setting)) => Ok(setting),
        (None, None) => Err(InvalidField::new(
            "CONSUL_HTTP_TOKEN_SECRET_ARN",
            "",
            "the ARN of the secret with the controller's Consul token (or set CONSUL_HTTP_TOKEN)",
        )),
        (Some(_), Some(_)) => Err(InvalidField::new(
            "CONSUL_HTTP_TOKEN",
            "(not shown)",
            "nothing, because CONSUL_HTTP_TOKEN_SECRET_ARN is set too",
        )),
    }
}

fn read_scope(
    variables: &Variables<'_>,
    clusters: ClusterSelection,
    consul: &ConsulAddresses,
) -> Result<Scope, InvalidField> {
    let prefix =
        variables.optional("SECRET_NAME_PREFIX")?.map_or_else(|| "consul-ecs".parse::<SecretNamePrefix>(), Ok)?;
    let partition: Option<TenancyName> = variables.optional("CONSUL_PARTITION")?;
    let default_tenancy = partition.map_or(Tenancy::Community, Tenancy::default_namespace_of);
    let client_token = variables.secret_id("CLIENT_TOKEN_SECRET_NAME")?;
    let names = SecretNames::new(prefix, client_token.clone(), default_tenancy.clone(), &clusters);
    let scope = Scope {
        names,
        mode: variables.optional("MODE")?.unwrap_or_default(),
        token_mode: variables.optional("TOKEN_MODE")?.unwrap_or_default(),
        grace: variables.read_or("REVOCATION_GRACE_SECONDS", "300", "whole seconds from 0 to 3000", |text| {
            Some(GracePeriod::from_secs(whole(text, 0..=3_000)?))
        })?,
        bounds: variables.optional("TIME_BOUNDS")?.unwrap_or(Bounds::DEFAULT),
        unused_for: variables.read_or("UNUSED_TOKEN_HOURS", "24", "whole hours from 1 to 720", |text| {
            Some(Duration::from_hours(whole(text, 1..=720)?.into()))
        })?,
        max_delete: variables.read_or("MAX_DELETE_PERCENT", "30", "a whole number from 0 to 100", |text| {
            MaxDeletePercent::new(text.trim().parse().ok()?)
        })?,
        cluster_partitions: read_cluster_partitions(variables.text("CLUSTER_PARTITIONS").as_deref(), &clusters)?,
        default_tenancy,
        bootstrap: BootstrapScope {
            extent: variables.read_or("BOOTSTRAP", "dataplane", "dataplane, full or none", |text| match text {
                "dataplane" => Some(BootstrapExtent::Dataplane),
                "full" => Some(BootstrapExtent::Full),
                "none" => Some(BootstrapExtent::None),
                _ => None,
            })?,
            iam_role_path: variables.optional("IAM_ROLE_PATH")?.unwrap_or_default(),
        },
        consul_hosts: consul.hosts().collect(),
        repair: variables.optional("REPAIR")?.unwrap_or_default(),
        announces_routine: variables.read_or("ROUTINE_EVENTS", "off", "on or off", |text| match text {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        })?,
        sweep_interval: variables.read_or(
            "RECONCILE_RATE",
            "rate(5 minutes)",
            "a rate of at most two days, for example rate(5 minutes)",
            read_rate,
        )?,
        clusters,
    };
    match client_token.filter(|name| name.starts_with("arn:") && scope.tenancies().len() > 1) {
        Some(arn) => Err(InvalidField::new(
            "CLIENT_TOKEN_SECRET_NAME",
            &arn,
            "the name of a secret, not an ARN: each partition has its own secret, whose name begins with this name",
        )),
        None => Ok(scope),
    }
}

/// A whole number in `range`.
fn whole(text: &str, range: RangeInclusive<u16>) -> Option<u16> {
    text.trim().parse().ok().filter(|number| range.contains(number))
}

/// A rate of `EventBridge`: <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html>
pub fn read_rate(text: &str) -> Option<Duration> {
    let (number, unit) = text.strip_prefix("rate(")?.strip_suffix(')')?.split_once(' ')?;
    let number: u64 = number.parse::<u16>().ok().filter(|number| *number > 0)?.into();
    let seconds = match unit.trim_end_matches('s') {
        "minute" => 60,
        "hour" => 3_600,
        "day" => 86_400,
        _ => return None,
    };
    Some(Duration::from_secs(seconds * number)).filter(|rate| *rate <= LONGEST_RATE)
}

/// `name=partition`, several separated by commas.
fn read_cluster_partitions(
    text: Option<&str>,
    clusters: &ClusterSelection,
) -> Result<Vec<(ClusterPattern, Tenancy)>, InvalidField> {
    const NAME: &str = "CLUSTER_PARTITIONS";
    let entries = text.into_iter().flat_map(|text| text.split(',')).map(str::trim);
    let is_selected = |name: &ClusterPattern| clusters.patterns().iter().any(|p| p.covers(name) || name.covers(p));
    let read = |entry: &str| {
        let invalid =
            || InvalidField::new(NAME, entry, "<name or pattern of clusters in ECS_CLUSTER_ARNS>=<partition>");
        let (name, partition) = entry.split_once('=').ok_or_else(invalid)?;
        let pattern = name.parse::<ClusterPattern>().ok().filter(is_selected).ok_or_else(invalid)?;
        let partition: TenancyName = partition.parse().map_err(|e: InvalidField| e.in_field(NAME))?;
        Ok((pattern, Tenancy::default_namespace_of(partition)))
    };
    entries.map(read).collect()
}

/// The variables, by name.
struct Variables<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    /// The text of a variable.
    fn text(&self, name: &str) -> Option<String> {
        (self.0)(name)
    }

    /// The text of a variable, if it is set and `is_valid`.
    fn checked(
        &self,
        name: &'static str,
        is_valid: impl Fn(&str) -> bool,
        expected: &'static str,
    ) -> Result<Option<String>, InvalidField> {
        match self.text(name) {
            Some(text) if !is_valid(&text) => Err(InvalidField::new(name, &text, expected)),
            text => Ok(text),
        }
    }

    /// The name or ARN of a secret.
    fn secret_id(&self, name: &'static str) -> Result<Option<String>, InvalidField> {
        let is_valid = |text: &str| {
            let name = match text.strip_prefix("arn:") {
                Some(rest) if rest.split(':').nth(1) == Some("secretsmanager") => rest.split(':').nth(5),
                Some(_) => None,
                None => Some(text),
            };
            let legal = |b: u8| b.is_ascii_alphanumeric() || b"/_+=.@-".contains(&b);
            name.is_some_and(|name| !name.is_empty() && name.len() <= 519 && name.bytes().all(legal))
        };
        self.checked(name, is_valid, "the name or the ARN of a secret in Secrets Manager")
    }

    /// The value that `read` finds in the text of a variable, or in `default` if it is not set.
    fn read_or<T>(
        &self,
        name: &'static str,
        default: &str,
        expected: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, InvalidField> {
        let text = self.text(name).unwrap_or_else(|| default.to_owned());
        read(&text).ok_or_else(|| InvalidField::new(name, &text, expected))
    }

    /// The text of a required variable.
    fn required_text(&self, name: &'static str, expected: &'static str) -> Result<String, InvalidField> {
        self.text(name).ok_or_else(|| InvalidField::new(name, "", expected))
    }

    /// The parsed value of a variable, if it is set.
    fn optional<T: FromStr<Err = InvalidField>>(&self, name: &'static str) -> Result<Option<T>, InvalidField> {
        self.text(name).map(|text| text.parse::<T>().map_err(|e| e.in_field(name))).transpose()
    }

    /// The parsed value of a required variable.
    fn required<T: FromStr<Err = InvalidField>>(
        &self,
        name: &'static str,
        expected: &'static str,
    ) -> Result<T, InvalidField> {
        self.required_text(name, expected)?.parse::<T>().map_err(|e| e.in_field(name))
    }
}

//! Logins, certificates, and credentials that are not in secrets.

use super::{permissions::Call, prelude::*, roles::has_no_path, task_role::of_calls};
use crate::{
    spelling::nearest,
    subject::{AgentScript, CREDENTIALS, ConsulEcs, Feature, PlacedConfiguration, is_consul_ecs},
};
use audit_read::definition::{IamRole, Secret, TaskDefinition, Variable};
use document::{HOLE, Node, SourceFile, Span, trees};
use mesh::consul_ecs::{GATEWAY_KIND_ENTITY_TAG, SERVICE_METHOD, SERVICE_NAME_ENTITY_TAG};

/// The names of the agent's tokens in its configuration.
const TOKENS: [&str; 8] = [
    "agent",
    "agent_master",
    "agent_recovery",
    "config_file_service_registration",
    "default",
    "initial_management",
    "master",
    "replication",
];

pub(super) static CONSUL_CREDENTIAL_IN_PLAIN: Rule =
    Rule::of_task(page!("consul-credential-in-plain"), Applies::ConsulAndController, check_credential_in_plain);

fn check_credential_in_plain(subject: &Subject<'_>, findings: &mut Findings) {
    for container in &subject.definition.containers.items {
        for variable in &container.environment.items {
            if let Some(name) = variable.name.text().filter(|name| CREDENTIALS.contains(name))
                && has_value(variable)
            {
                findings.add(finding(container, variable, name, is_replaced_by_login(subject, container, name)));
            }
        }
    }
    let consul = subject.consul.as_ref();
    if let Some(draft) = consul.and_then(|consul| consul.client).and_then(key_in_script) {
        findings.add(draft);
    }
    let of_mesh = consul.into_iter().flat_map(ConsulTask::own_containers);
    for container in of_mesh.chain(subject.controller.as_ref().map(|controller| controller.container)) {
        let words = container.entry_point.items.iter().chain(&container.command.items);
        let known: Vec<_> = words.filter_map(|word| Some((word, word.known()?.0.as_str()))).collect();
        let before = |at: usize| at.checked_sub(1).and_then(|at| known.get(at)).map_or("", |(_, text)| *text);
        let holding = known.iter().enumerate().find(|(at, (_, text))| has_token(before(*at), text));
        if let Some((_, (word, _))) = holding {
            let message = format!("the command of {} contains a token in plain text", container.label());
            let help = "put the token into Secrets Manager, refer to it under secrets, and replace the old token";
            findings.add(Draft::new(word.span(), message, help).of(container));
        }
    }
}

/// Whether `word` has a UUID after the name of a token: `agent = "…"`, `-token …`, `-static-token=…`. The flag may be
/// the previous word.
fn has_token(before: &str, word: &str) -> bool {
    let text = format!("{before} {word}");
    let starts = text.char_indices().map(|(at, _)| at).filter(|at| *at > before.len());
    let mut uuids = starts.filter(|at| text.get(*at..at + 36).is_some_and(is_uuid));
    uuids.any(|at| {
        let is_between = |c: char| c.is_whitespace() || "=:\"'\\".contains(c);
        let owner = text.get(..at).unwrap_or_default().trim_end_matches(is_between);
        let name = owner.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        TOKENS.contains(&name) || name.to_ascii_lowercase().ends_with("token")
    })
}

fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}

/// The gossip key in the agent's script. Variables begin with a dollar sign, placeholders are short.
fn key_in_script(client: &Container) -> Option<Draft> {
    let script = AgentScript::of(client)?;
    let is_key =
        |value: &&str| value.len() >= 24 && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
    script.setting("encrypt").or_else(|| script.flag("encrypt")).filter(is_key)?;
    let message = format!("the script of {} contains the gossip encryption key in plain text", client.label());
    let help = "put the key into Secrets Manager, refer to it under secrets as CONSUL_GOSSIP_ENCRYPTION_KEY, and replace the old key";
    Some(Draft::new(script.script()?.span(), message, help).of(client))
}

/// An empty value is not secret, an unknown one may come from anywhere.
fn has_value(variable: &Variable) -> bool {
    variable.value.known().is_some_and(|value| !value.shown().is_empty())
}

/// Whether a container of consul-ecs logs in with the task's role, and needs no token.
fn is_replaced_by_login(subject: &Subject<'_>, container: &Container, name: &str) -> bool {
    let consul = subject.consul.as_ref().filter(|consul| name == TOKEN && consul.logs_in() == Some(true));
    consul.is_some_and(|consul| consul.consul_ecs_containers().any(|own| std::ptr::eq(own, container)))
}

fn finding(container: &Container, variable: &Variable, name: &str, is_needless: bool) -> Draft {
    let message = format!("{} has {name} in plain text", container.label());
    let help = if is_needless {
        "remove it: the task logs in with its role (consulLogin.enabled). Revoke the token in Consul".to_owned()
    } else {
        format!("put the value into Secrets Manager, refer to it under secrets as {name}, and replace the old value")
    };
    Draft::new(variable.name.span(), message, help).of(container)
}

pub(super) static CONSUL_TASK_ROLE: Rule =
    Rule::once_per_task(page!("consul-task-role"), Applies::Consul, check_task_role);

fn check_task_role(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let role = &subject.definition.task_role;
    (role.is_absent() && (consul.logs_in() == Some(true) || consul.agent_logs_in())).then(|| {
        let message = "the task logs in to Consul, but has no task role";
        let help = "set taskRoleArn to a role for this family only, with the path /consul-ecs/ and the tag \
                    consul.hashicorp.com.service-name";
        Draft::new(role.span(), message, help)
    })
}

pub(super) static CONSUL_TASK_ROLE_TAGS: Rule =
    Rule::of_task(page!("consul-task-role-tags"), Applies::Consul, check_task_role_tags);

fn check_task_role_tags(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = logs_in_as_role(subject) else { return };
    let Some(role) = &subject.definition.declared_role else {
        let role = &subject.definition.task_role;
        if role.text().is_some_and(has_no_path) {
            findings.add(Draft::new(role.span(), WITHOUT_PATH, PATH_HELP).severity(Severity::Warning));
        }
        return;
    };
    if let Some(draft) = swapped(subject.definition, role) {
        findings.add(draft);
        return;
    }
    let service = match consul.configured_name() {
        Maybe::Known(name) => Some(name.to_owned()),
        Maybe::Absent => consul.service_name(subject.definition),
        Maybe::Unknown => None,
    };
    findings.extend(service.and_then(|service| wrong_tag(role, SERVICE_NAME_ENTITY_TAG, &service)));
    if role.path.is_absent() || role.path.text() == Some("/") {
        let draft = Draft::new(role.path.span(), WITHOUT_PATH, PATH_HELP).in_file(&role.file);
        findings.add(draft.severity(Severity::Warning));
    } else if let Some(path) = role.path.text().filter(|path| !path.starts_with(USUAL_PATH)) {
        let message =
            format!("the path of the task role is {path}, and the auth method admits {USUAL_PATH} by default");
        let help = format!("set it to {USUAL_PATH}, unless iamRolePath of the controller is {path}");
        findings.add(Draft::new(role.path.span(), message, help).in_file(&role.file).severity(Severity::Info));
    }
    if consul.configuration.flag("consulLogin.includeEntity", true) == Some(true) {
        findings.extend(without_get_role(role));
    }
}

/// A task role that is the execution role, and certainly no role of the mesh: the task refers to the wrong one of two.
fn swapped(definition: &TaskDefinition, role: &IamRole) -> Option<Draft> {
    let execution = definition.declared_execution_role.as_ref()?;
    let is_same = execution.place.span == role.place.span && execution.file.name == role.file.name;
    let has_tag =
        |role: &IamRole| !matches!(role.tags.find_named(SERVICE_NAME_ENTITY_TAG, |tag| &tag.key), Maybe::Absent);
    if !is_same || has_tag(role) || !(role.path.is_absent() || role.path.text() == Some("/")) {
        return None;
    }
    let mut message =
        "the task role is the execution role, which has neither the path nor the tag of a role of the mesh".to_owned();
    let help = if let Some(name) = role_of_the_mesh(&role.file) {
        message = format!("{message}; {name} has them");
        format!("set taskRoleArn to the ARN of {name}: !GetAtt {name}.Arn")
    } else {
        format!("set taskRoleArn to another role, with the path {USUAL_PATH} and the tag {SERVICE_NAME_ENTITY_TAG}")
    };
    Some(Draft::new(definition.task_role.span(), message, help))
}

/// The only role of a template that has the tag of the mesh's roles.
fn role_of_the_mesh(file: &SourceFile) -> Option<String> {
    let trees = trees(file).ok()?;
    let is_tag = |tag: &Node| tag.get("Key").and_then(Node::text) == Some(SERVICE_NAME_ENTITY_TAG);
    let is_of_the_mesh = |resource: &Node| {
        let properties = resource.get("Properties");
        resource.get("Type").and_then(Node::text) == Some("AWS::IAM::Role")
            && properties.is_some_and(|properties| properties.items_of("Tags").iter().any(is_tag))
    };
    let resources = trees.iter().flat_map(|tree| tree.entries_of("Resources"));
    let mut roles = resources.filter(|entry| is_of_the_mesh(&entry.node)).map(|entry| entry.key.clone());
    roles.next().filter(|_| roles.next().is_none())
}

/// With its entity, a login contains a call that the role has signed, and that Consul sends to IAM: for the role itself.
fn without_get_role(role: &IamRole) -> Vec<Draft> {
    let Some(statements) = &role.statements else { return Vec::new() };
    let part = |field: &Field<Text>, default: &str| match &field.value {
        Maybe::Known(text) => text.0.replace(HOLE, "*"),
        Maybe::Absent => default.to_owned(),
        Maybe::Unknown => "*".to_owned(),
    };
    let resources = vec![format!("arn:*:iam::*:role{}{}", part(&role.path, "/"), part(&role.name, "*"))];
    of_calls(role, statements, &[Call { action: "iam:GetRole", resources }], "the login reads the task role")
}

/// The path of task roles unless the controller has another one.
const USUAL_PATH: &str = "/consul-ecs/";

const WITHOUT_PATH: &str = "the path of the task role is /, and not the one that the auth method admits";
const PATH_HELP: &str = "set it to iamRolePath of the controller, by default /consul-ecs/";

/// The task, if it logs in at the auth method of HashiCorp's controller.
fn logs_in_as_role<'s, 'd>(subject: &'s Subject<'d>) -> Option<&'s ConsulTask<'d>> {
    let consul = subject.consul.as_ref().filter(|consul| consul.logs_in() == Some(true))?;
    Some(consul).filter(|consul| consul.login_method() == Some(SERVICE_METHOD))
}

/// Reports a tag that a role lacks, or has with another value.
fn wrong_tag(role: &IamRole, key: &str, value: &str) -> Option<Draft> {
    let with_a_slash = key.replacen("com.", "com/", 1);
    let draft = match role.tags.find_named(key, |tag| &tag.key) {
        Maybe::Absent if let Maybe::Known(tag) = role.tags.find_named(&with_a_slash, |tag| &tag.key) => {
            let message = format!("the task role has the tag {with_a_slash}, with a slash, which Consul does not read");
            Draft::new(tag.key.span(), message, format!("write {key}, with a dot in place of the slash"))
        }
        Maybe::Absent => {
            let help = format!("add the tag {key} with the value {value}");
            let span = if role.tags.is_present { role.tags.place.span } else { role.place.span };
            Draft::new(span, format!("the task role has no tag {key}"), help)
        }
        Maybe::Known(tag) => {
            let found = tag.value.text().filter(|found| *found != value)?;
            let message = format!("the tag {key} of the task role is {found}, but the task registers {value}");
            Draft::new(tag.value.span(), message, format!("write {value} in the tag"))
        }
        Maybe::Unknown => return None,
    };
    Some(draft.in_file(&role.file))
}

pub(super) static CONSUL_GATEWAY_KIND_TAG: Rule =
    Rule::once_per_task(page!("consul-gateway-kind-tag"), Applies::ConsulDataplane, check_gateway_kind_tag);

fn check_gateway_kind_tag(subject: &Subject<'_>) -> Option<Draft> {
    let (consul, role) = logs_in_as_role(subject).zip(subject.definition.declared_role.as_ref())?;
    if consul.version().is_some_and(|version| !Feature::GatewayKindTag.is_in(version)) {
        return None;
    }
    // With the right role, the tag is most likely there.
    if swapped(subject.definition, role).is_some() {
        return None;
    }
    wrong_tag(role, GATEWAY_KIND_ENTITY_TAG, consul.gateway?.as_str())
}

const TOKEN: &str = "CONSUL_HTTP_TOKEN";

pub(super) static CONSUL_LOGIN_OFF: Rule =
    Rule::once_per_task(page!("consul-login-off"), Applies::ConsulDataplane, check_login_off);

fn check_login_off(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let container = consul.control_plane.or(consul.mesh_init)?;
    let token = token(container).filter(|_| consul.logs_in() == Some(false))?;
    let place = consul.configuration.place_of("consulLogin.enabled");
    let message = format!("{} gets {TOKEN}, but consulLogin is off", container.label());
    let draft = Draft::new(place.span, message, "set consulLogin.enabled to true, and remove the token");
    Some(draft.of(container).note(token, "the token that the proxy does not get"))
}

fn token(container: &Container) -> Option<Span> {
    match (container.secret(TOKEN), container.variable(TOKEN)) {
        (Maybe::Known(secret), _) => Some(secret.name.span()),
        (_, Maybe::Known(variable)) => Some(variable.name.span()),
        _ => None,
    }
}

pub(super) static CONSUL_CA_CERTIFICATES: Rule =
    Rule::of_task(page!("consul-ca-certificates"), Applies::ConsulDataplaneAndController, check_ca_certificates);

/// One of the two connections to the servers.
struct Connection {
    variable: &'static str,
    section: &'static str,
    /// The setting that switches TLS on, before `consulServers.defaults.tls`.
    switches: &'static [&'static str],
}

const CONNECTIONS: [Connection; 2] = [
    Connection { variable: "CONSUL_HTTPS_CACERT_PEM", section: "http", switches: &["https"] },
    Connection { variable: "CONSUL_GRPC_CACERT_PEM", section: "grpc", switches: &["tls"] },
];

fn check_ca_certificates(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs() else { return };
    let Some(configuration) = consul_ecs.configuration else { return };
    missing_files(&consul_ecs, configuration, findings);
    findings.extend(consul_ecs.containers.iter().flat_map(|container| no_certificates(container)));
    let Some(given) = given(&consul_ecs) else { return };
    for &container in &consul_ecs.containers {
        for connection in CONNECTIONS.iter().filter(|connection| connection.needs_a_certificate(configuration)) {
            if let Some(draft) = connection.misspelt(container) {
                findings.add(draft);
            } else if matches!(container.environment_has(connection.variable), Maybe::Absent) {
                let same = consul_ecs.containers.iter().find(|other| connection.has_certificate(other));
                let given = same.map_or_else(|| given.clone(), |other| connection.on(other));
                let message = format!("{} has no {}, but {given} exists", container.label(), connection.variable);
                let help = format!(
                    "add the secret {}, unless a public CA signed the certificate of this connection",
                    connection.variable
                );
                findings.add(Draft::new(container.secrets.place.span, message, help).of(container));
            }
        }
    }
}

/// Directories with certificates in the image.
const OF_IMAGE: [&str; 3] = ["/etc/ssl/", "/etc/pki/", "/usr/"];

/// Files of certificates that are neither in the image of consul-ecs nor on a volume.
fn missing_files(consul_ecs: &ConsulEcs<'_, '_>, configuration: &PlacedConfiguration<'_>, findings: &mut Findings) {
    let Some(container) = consul_ecs.holder.filter(|holder| is_consul_ecs(holder)) else { return };
    for path in ["defaults", "http", "grpc"].map(|section| format!("consulServers.{section}.caCertFile")) {
        let Maybe::Known(file) = configuration.name_at(&path) else { continue };
        let is_in_image = OF_IMAGE.iter().any(|directory| file.starts_with(directory));
        if file.starts_with('/') && !is_in_image && container.lacks_mount_above(file) {
            let message = format!("{path} is {file}, and {} mounts nothing there", container.label());
            let help = "mount a volume with the file, or give the certificate in CONSUL_HTTPS_CACERT_PEM and CONSUL_GRPC_CACERT_PEM";
            let draft = Draft::new(configuration.place_of(&path).span, message, help).of(container);
            findings.add(draft.severity(Severity::Error));
        }
    }
}

/// The variables that contain a certificate.
fn no_certificates(container: &Container) -> Vec<Draft> {
    let names = CONNECTIONS.iter().map(|connection| connection.variable).chain(OLDER);
    let draft = |name: &str| {
        let Maybe::Known(variable) = container.variable(name) else { return None };
        let what = no_certificate(variable.value.text()?)?;
        let message = format!("{name} of {} is {what}, and no certificate", container.label());
        let help = "give it the certificate itself, in PEM, usually as a secret";
        Some(Draft::new(variable.value.span(), message, help).of(container).severity(Severity::Error))
    };
    names.filter_map(draft).collect()
}

/// What a text is that certainly is no certificate in PEM.
fn no_certificate(text: &str) -> Option<&'static str> {
    let text = text.trim();
    if text.contains("PRIVATE KEY-----") {
        return Some("a private key");
    }
    if text.contains("-----BEGIN") || text.contains(['$', '{', '<']) {
        return None;
    }
    let is_path = text.starts_with('/') && !text.starts_with("//") && text.len() < 256;
    match text {
        _ if is_path || text.starts_with("./") => Some("a path"),
        _ if text.starts_with("arn:") => Some("an ARN"),
        _ if text.starts_with("https://") || text.starts_with("http://") || text.starts_with("s3://") => Some("a URL"),
        _ if text.starts_with("LS0tLS1CRUdJTi") => Some("in Base64"),
        _ => None,
    }
}

/// A certificate that some container has.
fn given(consul_ecs: &ConsulEcs<'_, '_>) -> Option<String> {
    consul_ecs.containers.iter().find_map(|container| {
        let connection = CONNECTIONS.iter().find(|connection| connection.has_certificate(container));
        let of_older = || Some(format!("{} on {}", older(container)?, container.label()));
        connection.map(|connection| connection.on(container)).or_else(of_older)
    })
}

/// The names of the certificate that client agents have read up to consul-ecs 0.6.
const OLDER: [&str; 2] = ["CONSUL_CACERT_PEM", "CONSUL_CACERT"];

/// A certificate under one of the older names.
fn older(container: &Container) -> Option<&'static str> {
    OLDER.into_iter().find(|name| matches!(container.secret(name), Maybe::Known(_)))
}

impl Connection {
    fn has_certificate(&self, container: &Container) -> bool {
        matches!(container.environment_has(self.variable), Maybe::Known(()))
    }

    /// Its variable on a container, as users read it.
    fn on(&self, container: &Container) -> String {
        format!("{} on {}", self.variable, container.label())
    }

    /// Reports a secret that has the variable's name with a mistake.
    fn misspelt(&self, container: &Container) -> Option<Draft> {
        let variables = || CONNECTIONS.iter().map(|connection| connection.variable);
        let is_read = |name: &str| OLDER.contains(&name) || variables().any(|variable| variable == name);
        let other = |secret: &&Secret| {
            secret.name.text().is_some_and(|name| !is_read(name) && nearest(name, variables()) == Some(self.variable))
        };
        let secret = container.secrets.items.iter().find(other)?;
        if !matches!(container.environment_has(self.variable), Maybe::Absent) {
            return None;
        }
        let name = secret.name.text()?;
        let message = format!("{} has {name}, which consul-ecs does not read", container.label());
        let help = format!("rename it to {}", self.variable);
        Some(Draft::new(secret.name.span(), message, help).of(container))
    }

    fn needs_a_certificate(&self, configuration: &PlacedConfiguration<'_>) -> bool {
        let at = |key: &str| format!("consulServers.{}.{key}", self.section);
        let is_on = |key: &&str| configuration.flag(&at(key), true) == Some(true);
        let has_tls =
            self.switches.iter().all(is_on) && configuration.flag("consulServers.defaults.tls", true) == Some(true);
        let lacks = |path: &str| matches!(configuration.name_at(path), Maybe::Absent);
        has_tls && lacks(&at("caCertFile")) && lacks("consulServers.defaults.caCertFile")
    }
}

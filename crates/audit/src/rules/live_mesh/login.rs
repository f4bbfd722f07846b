//! Logins: whether the auth method is there, admits the task's role, and gives the identity of the task's service.

use mesh::{
    admission::{AuthMethod, BindingRule, RoleArn},
    consul_ecs::{SERVICE_METHOD, SERVICE_NAME_ENTITY_TAG},
};

use super::{super::prelude::*, method, service};

/// The auth method of a task as Consul has it, with its name.
fn live_method<'s>(subject: &'s Subject<'_>) -> Option<(&'s ConsulTask<'s>, String, Option<&'s AuthMethod>)> {
    let (consul, mesh) = (subject.consul.as_ref()?, subject.mesh?);
    let place = method(consul, &mesh.home)?;
    let found = mesh.methods.get(&place)?.as_ref();
    Some((consul, place.name, found))
}

pub(in crate::rules) static CONSUL_LIVE_LOGIN: Rule =
    Rule::once_per_task(page!("consul-live-login"), Applies::ConsulWithMesh, check_login);

fn check_login(subject: &Subject<'_>) -> Option<Draft> {
    let (consul, name, method) = live_method(subject)?;
    let span = consul.configuration.place_of("consulLogin.method").span;
    // The controller of the input creates the method of services and its binding rule when it starts.
    let is_created = subject.is_beside_controller && name == SERVICE_METHOD;
    let Some(method) = method else {
        if is_created {
            return None;
        }
        let message = format!("Consul has no auth method {name}, at which the task logs in");
        return Some(Draft::new(span, message, "create it before the deployment, or correct consulLogin.method"));
    };
    if !method.verifies_roles() {
        let message =
            format!("the auth method {name} is of type {}, but the task logs in with its IAM role", method.kind);
        return Some(Draft::new(span, message, "name a method of type aws-iam in consulLogin.method"));
    }
    if method.binding_rules.is_empty() && !is_created {
        let message = format!("the auth method {name} has no binding rule, so a login gets nothing");
        return Some(Draft::new(span, message, "create its binding rule before the deployment"));
    }
    if method.has_entity_details { refused_role(subject, &name, method) } else { None }
}

/// A task role that the method does not admit.
fn refused_role(subject: &Subject<'_>, name: &str, method: &AuthMethod) -> Option<Draft> {
    let (definition, principals) = (subject.definition, method.principals.join(", "));
    let help = "give the role the path that the method admits, or add its ARN to BoundIAMPrincipalARNs";
    if let Some(arn) = definition.task_role.text() {
        let role = arn.parse::<RoleArn>().ok().filter(|_| names_an_account(arn))?;
        let message = format!("the auth method {name} admits {principals}, and not the task role {role}");
        return (!method.binds(&role)).then(|| Draft::new(definition.task_role.span(), message, help));
    }
    let role = definition.declared_role.as_ref()?;
    let path = if role.path.is_absent() { "/" } else { role.path.text()? };
    let message = format!("the auth method {name} admits {principals}, and no task role with the path {path}");
    (!method.may_bind_in(path)).then(|| Draft::new(role.path.span(), message, help).in_file(&role.file))
}

/// Whether the account is a number, and not what another program replaces.
fn names_an_account(arn: &str) -> bool {
    let account = arn.split(':').nth(4);
    account.is_some_and(|account| account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit()))
}

pub(in crate::rules) static CONSUL_LIVE_IDENTITY: Rule =
    Rule::once_per_task(page!("consul-live-identity"), Applies::ConsulWithMesh, check_identity);

fn check_identity(subject: &Subject<'_>) -> Option<Draft> {
    let (consul, name, method) = live_method(subject)?;
    let method = method.filter(|method| method.verifies_roles())?;
    let own = service(consul, subject.definition, &subject.mesh?.home)?.name;
    let (for_all, others): (Vec<&BindingRule>, Vec<&BindingRule>) =
        method.binding_rules.iter().partition(|rule| rule.bind_type == "service" && rule.selector.is_empty());
    let [rule] = for_all.as_slice() else { return None };
    let draft = match rule.entity_tag() {
        // consul-task-role-tags reports the tag of consul-ecs.
        Some(SERVICE_NAME_ENTITY_TAG) => None,
        Some(tag) => of_tag(subject, &name, tag, &own),
        None if rule.bind_name == own || rule.bind_name.contains("${") => None,
        None => {
            let bound = &rule.bind_name;
            let message = format!("the auth method {name} gives the identity {bound}, but the task registers {own}");
            let span = consul.configuration.place_of("consulLogin.method").span;
            Some(Draft::new(span, message, "name the auth method of the service, or correct its binding rule"))
        }
    }?;
    // Policies and roles that other rules bind may let the task register its service.
    Some(if others.is_empty() { draft } else { draft.severity(Severity::Warning) })
}

/// The tag of the task's role that a binding rule reads.
fn of_tag(subject: &Subject<'_>, method: &str, key: &str, own: &str) -> Option<Draft> {
    let role = subject.definition.declared_role.as_ref()?;
    let draft = match role.tags.find_named(key, |tag| &tag.key) {
        Maybe::Absent => {
            let message =
                format!("the task role has no tag {key}, which the binding rule of auth method {method} reads");
            Draft::new(role.place.span, message, format!("add the tag {key} with the value {own}"))
        }
        Maybe::Known(tag) => {
            let found = tag.value.text().filter(|found| *found != own)?;
            let message = format!("the tag {key} gives the task the identity {found}, but the task registers {own}");
            Draft::new(tag.value.span(), message, format!("write {own} in the tag"))
        }
        Maybe::Unknown => return None,
    };
    Some(draft.in_file(&role.file))
}

//! The login of a task at Consul's auth method `aws-iam`.

use super::prelude::*;
use crate::spelling::misspelt;
use audit_read::definition::api::{is_no_region, is_region};
use mesh::consul_ecs::SERVICE_METHOD;

/// The auth method of client agents, which the controller creates up to consul-ecs 0.6.
pub(super) const CLIENT_METHOD: &str = "iam-ecs-client-token";

pub(super) static CONSUL_LOGIN_METHOD: Rule =
    Rule::of_task(page!("consul-login-method"), Applies::Consul, check_method);

fn check_method(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.logs_in() == Some(true)) else { return };
    let configuration = &consul.configuration;
    let Some(method) = consul.login_method() else { return };
    if method == CLIENT_METHOD {
        let place = configuration.place_of("consulLogin.method");
        let message = format!("consulLogin.method is {CLIENT_METHOD}, the method of client agents");
        let fix = super::fixes::configure(consul, subject.definition, "consulLogin.method", SERVICE_METHOD);
        findings.add(Draft::new(place.span, message, format!("write {SERVICE_METHOD}")).fix(fix));
    }
    if method != SERVICE_METHOD && method != CLIENT_METHOD && misspelt(method, [SERVICE_METHOD]).is_some() {
        let place = configuration.place_of("consulLogin.method");
        let message = format!("consulLogin.method is {method}, nearly the method of the controller");
        let fix = super::fixes::configure(consul, subject.definition, "consulLogin.method", SERVICE_METHOD);
        let draft = Draft::new(place.span, message, format!("did you mean {SERVICE_METHOD}?"));
        findings.add(draft.fix(fix).severity(Severity::Warning));
    }
    if method == SERVICE_METHOD && configuration.flag("consulLogin.includeEntity", true) == Some(false) {
        let place = configuration.place_of("consulLogin.includeEntity");
        let message = format!("consulLogin.includeEntity is false, but the method {method} reads the tags of the role");
        let fix = super::fixes::configure(consul, subject.definition, "consulLogin.includeEntity", true);
        findings.add(Draft::new(place.span, message, "remove it, or set it to true").fix(fix));
    }
}

pub(super) static CONSUL_LOGIN_ENDPOINT: Rule =
    Rule::of_task(page!("consul-login-endpoint"), Applies::Consul, check_endpoint);

fn check_endpoint(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.logs_in() == Some(true)) else { return };
    let known = |path: &str| match consul.configuration.name_at(path) {
        Maybe::Known(text) => Some((text.to_owned(), consul.configuration.place_of(path).span)),
        Maybe::Absent | Maybe::Unknown => None,
    };
    let region = known("consulLogin.region");
    if let Some((region, span)) = region.as_ref().filter(|(region, _)| is_no_region(region)) {
        let message = format!("consulLogin.region is {region}, which is no region of AWS");
        findings.add(Draft::new(
            *span,
            message,
            "write it as in eu-west-1, or remove it: the task's own is the default",
        ));
    }
    let Some((endpoint, span)) = known("consulLogin.stsEndpoint") else { return };
    let endpoint = endpoint.to_ascii_lowercase();
    let Some(host) = endpoint.split_once("://").filter(|(scheme, _)| ["https", "http"].contains(scheme)) else {
        let message = "consulLogin.stsEndpoint is no URL";
        findings.add(Draft::new(span, message, "write it with its scheme: https://sts.eu-west-1.amazonaws.com"));
        return;
    };
    let named = host.1.strip_prefix("sts.").and_then(|rest| rest.split_once(".amazonaws.com")).map(|(name, _)| name);
    if let (Some(named), Some((region, at))) = (named, region.filter(|(region, _)| is_region(region)))
        && named != region
    {
        let message = format!("consulLogin.stsEndpoint is in {named}, but consulLogin.region is {region}");
        findings.add(Draft::new(span, message, "name the same region in both").note(at, "the region of the signature"));
    }
}

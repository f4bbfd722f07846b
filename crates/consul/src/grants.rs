//! What tokens and roles grant, in the answers of Consul:
//! <https://developer.hashicorp.com/consul/api-docs/acl/tokens#sample-response-4>

use mesh::token::{Grants, ServiceGrant};
use serde::Deserialize;
use serde_json::Value;

use crate::object::Fields;

/// The templated policy that grants what a service identity grants.
const SERVICE_TEMPLATE: &str = "builtin/service";

/// The fields of a token or a role that grant something.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct GrantsAnswer {
    service_identities: Option<Vec<ServiceIdentity>>,
    templated_policies: Option<Vec<TemplatedPolicy>>,
    roles: Option<Vec<Link>>,
    policies: Option<Vec<Link>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ServiceIdentity {
    #[serde(default)]
    service_name: String,
    datacenters: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TemplatedPolicy {
    #[serde(default)]
    template_name: String,
    template_variables: Option<TemplateVariables>,
    datacenters: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TemplateVariables {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Link {
    #[serde(default)]
    name: String,
}

/// What the fields of a token or a role grant. Fields of another shape grant nothing.
pub fn grants_of(fields: &Fields) -> Grants {
    let answer = GrantsAnswer::deserialize(Value::Object(fields.clone()));
    answer.map(Grants::from).unwrap_or_default()
}

impl From<GrantsAnswer> for Grants {
    fn from(answer: GrantsAnswer) -> Self {
        let identities = answer.service_identities.unwrap_or_default().into_iter();
        let identities = identities.map(|of| (of.service_name, of.datacenters));
        let templated = answer.templated_policies.unwrap_or_default().into_iter();
        let templated = templated
            .filter(|of| of.template_name == SERVICE_TEMPLATE)
            .filter_map(|of| Some((of.template_variables?.name, of.datacenters)));
        let services = identities.chain(templated).filter(|(service, _)| !service.is_empty());
        let names = |links: Option<Vec<Link>>| links.unwrap_or_default().into_iter().map(|link| link.name).collect();
        Self {
            services: services
                .map(|(service, datacenters)| ServiceGrant { service, datacenters: datacenters.unwrap_or_default() })
                .collect(),
            roles: names(answer.roles),
            policies: names(answer.policies),
        }
    }
}

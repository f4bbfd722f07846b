//! A deployed stack, and what it needs around it. Read-only, but for the invocation of its functions.

use std::{collections::BTreeMap, error::Error, time::Duration};

use aws_sdk_cloudformation::{Client as CloudFormation, types::Stack};
use aws_sdk_cloudtrail::{
    Client as CloudTrail,
    types::{AdvancedEventSelector, AdvancedFieldSelector, EventSelector, ReadWriteType},
};
use aws_sdk_eventbridge::{Client as EventBridge, types::RuleState};
use aws_sdk_kms::{Client as Kms, types::KeyManagerType};
use aws_sdk_lambda::{Client as Lambda, config::Builder, primitives::Blob};
use aws_sdk_sns::Client as Sns;
use aws_sdk_sts::Client as Sts;
use aws_smithy_types::retry::RetryConfig;
use aws_types::SdkConfig;
use serde_json::Value;

use crate::sdk::{describe, timeouts};

/// The longest invocation: the time-out of the function `reconcile`, and its start.
const LONGEST_INVOCATION: Duration = Duration::from_secs(330);
/// The beginning of the template's description.
const DESCRIPTION: &str = "ecs-mesh-controller:";

/// Why an installation could not be read. `subject` is the requested object.
#[derive(Debug, thiserror::Error)]
pub enum InstallationError {
    /// The call failed, after retries.
    #[error("{subject}: the call failed: {reason}. Check the stack, region and account")]
    Failed { subject: String, reason: String },
    #[error("stack {0}: it does not exist in this account and region")]
    NoStack(String),
    /// The answer lacks a value.
    #[error("{subject}: the answer could not be read")]
    Malformed { subject: String },
}

/// The answer of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invoked {
    Answer(Value),
    /// The message of its error.
    Error(String),
}

/// A stack of `CloudFormation`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeployedStack {
    pub name: String,
    /// For example `UPDATE_COMPLETE`.
    pub status: String,
    /// Why it has this status, if `CloudFormation` says so.
    pub reason: Option<String>,
    pub parameters: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackResource {
    /// Its physical ID.
    pub id: String,
    /// Its type, for example `AWS::Events::Rule`.
    pub kind: String,
}

/// The resources of a stack, by their names in the template.
pub type StackResources = BTreeMap<String, StackResource>;

/// The owner of the AWS credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The ID of the account.
    pub account: String,
    /// The ARN of the user or the assumed role.
    pub arn: String,
}

/// The event source mapping of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// `Enabled`, `Disabled`, or a state on the way there.
    pub state: String,
    /// How the last batch ended, in words of Lambda's.
    pub last_result: Option<String>,
}

/// What decides who may publish to a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// Its policy, in JSON.
    pub policy: String,
    /// `None` if the topic is not encrypted with KMS. Otherwise the key's policy must let the publisher use it:
    /// <https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html>
    pub key: Option<TopicKey>,
}

/// The KMS key of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicKey {
    pub arn: String,
    /// Its policy, in JSON; `None` for a key of AWS, whose policy cannot be changed.
    pub policy: Option<String>,
}

/// A trail that covers the region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trail {
    pub arn: String,
    pub is_logging: bool,
    /// Whether it logs calls that change something, such as `RegisterTaskDefinition`.
    pub has_writes: bool,
}

/// The installations in an account and region.
pub struct AwsInstallation {
    formation: CloudFormation,
    functions: Lambda,
    /// Waits for an answer, and does not retry: a second attempt would be a second sweep.
    invoker: Lambda,
    events: EventBridge,
    trails: CloudTrail,
    topics: Sns,
    keys: Kms,
    sts: Sts,
}

impl AwsInstallation {
    /// The installations in the configuration's region.
    pub fn new(config: &SdkConfig) -> Self {
        let timeouts = timeouts(LONGEST_INVOCATION, Some(LONGEST_INVOCATION));
        let once = Builder::from(config).timeout_config(timeouts).retry_config(RetryConfig::disabled());
        Self {
            formation: CloudFormation::new(config),
            functions: Lambda::new(config),
            invoker: Lambda::from_conf(once.build()),
            events: EventBridge::new(config),
            trails: CloudTrail::new(config),
            topics: Sns::new(config),
            keys: Kms::new(config),
            sts: Sts::new(config),
        }
    }

    /// The owner of the credentials. The call needs no permission.
    pub async fn caller(&self) -> Result<Caller, InstallationError> {
        let subject = "the AWS credentials";
        let answer = self.sts.get_caller_identity().send().await.map_err(failed(subject))?;
        let (account, arn) = answer.account.zip(answer.arn).ok_or_else(malformed(subject))?;
        Ok(Caller { account, arn })
    }

    /// The template's other stacks in the account and region.
    pub async fn other_stacks(&self, name: &str) -> Result<Vec<DeployedStack>, InstallationError> {
        let pages = self.formation.describe_stacks().into_paginator().items().send();
        let all: Vec<Stack> = pages.try_collect().await.map_err(failed("the account's stacks"))?;
        let is_of_the_template = |stack: &Stack| stack.description().is_some_and(|text| text.starts_with(DESCRIPTION));
        let others = all.iter().filter(|stack| stack.stack_name() != Some(name) && is_of_the_template(stack));
        Ok(others.map(read_stack).collect())
    }

    /// The stack of this name; `None` if it does not exist.
    pub async fn stack(&self, name: &str) -> Result<Option<DeployedStack>, InstallationError> {
        let found = self.formation.describe_stacks().stack_name(name).send().await;
        match found.map_err(failed(&format!("stack {name}"))).map_err(missing(name)) {
            Ok(found) => Ok(found.stacks().first().map(read_stack)),
            Err(InstallationError::NoStack(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The physical ID of a resource of a stack, by its name in the template.
    pub async fn resource(&self, stack: &str, name: &str) -> Result<String, InstallationError> {
        let subject = format!("resource {name} of stack {stack}");
        let call = self.formation.describe_stack_resource().stack_name(stack).logical_resource_id(name);
        let answer = call.send().await.map_err(failed(&subject)).map_err(missing(stack))?;
        let resource = answer.stack_resource_detail;
        resource.and_then(|resource| resource.physical_resource_id).ok_or_else(malformed(&subject))
    }

    pub async fn resources(&self, stack: &str) -> Result<StackResources, InstallationError> {
        let pages = self.formation.list_stack_resources().stack_name(stack).into_paginator().items().send();
        let all: Result<Vec<_>, _> = pages.try_collect().await;
        let all = all.map_err(failed(&format!("resources of stack {stack}"))).map_err(missing(stack))?;
        let named = all.into_iter().filter_map(|summary| {
            let resource =
                StackResource { id: summary.physical_resource_id?, kind: summary.resource_type.unwrap_or_default() };
            Some((summary.logical_resource_id?, resource))
        });
        Ok(named.collect())
    }

    /// Invokes a function once, and waits for its answer.
    pub async fn invoke(&self, function: &str, payload: &Value) -> Result<Invoked, InstallationError> {
        let subject = format!("function {function}");
        let call = self.invoker.invoke().function_name(function).payload(Blob::new(payload.to_string()));
        let answer = call.send().await.map_err(failed(&subject))?;
        let text = answer.payload().map(Blob::as_ref).unwrap_or_default();
        let value: Value = serde_json::from_slice(text).map_err(|_| malformed(&subject)())?;
        // A function's error has status 200 too.
        let message = value.get("errorMessage").and_then(Value::as_str).map(str::to_owned);
        Ok(match message {
            Some(message) => Invoked::Error(message),
            None if answer.function_error().is_some() => Invoked::Error(value.to_string()),
            None => Invoked::Answer(value),
        })
    }

    /// How many invocations of a function may run at once, if that is limited for this function alone.
    pub async fn reserved_concurrency(&self, function: &str) -> Result<Option<usize>, InstallationError> {
        let answer = self.functions.get_function_concurrency().function_name(function).send().await;
        let answer = answer.map_err(failed(&format!("function {function}")))?;
        Ok(answer.reserved_concurrent_executions().and_then(|count| usize::try_from(count).ok()))
    }

    /// The event source mapping with this ID.
    pub async fn mapping(&self, id: &str) -> Result<Mapping, InstallationError> {
        let subject = format!("event source mapping {id}");
        let answer = self.functions.get_event_source_mapping().uuid(id).send().await.map_err(failed(&subject))?;
        let state = answer.state.ok_or_else(malformed(&subject))?;
        Ok(Mapping { state, last_result: answer.last_processing_result })
    }

    /// Whether a rule of the default event bus is enabled.
    pub async fn is_enabled(&self, rule: &str) -> Result<bool, InstallationError> {
        let subject = format!("rule {rule}");
        let answer = self.events.describe_rule().name(rule).send().await.map_err(failed(&subject))?;
        Ok(answer.state.ok_or_else(malformed(&subject))? != RuleState::Disabled)
    }

    /// What decides who may publish to a topic.
    pub async fn topic(&self, topic: &str) -> Result<Topic, InstallationError> {
        let answer = self.topics.get_topic_attributes().topic_arn(topic).send().await;
        let mut attributes = answer.map_err(failed(&format!("topic {topic}")))?.attributes.unwrap_or_default();
        let policy = attributes.remove("Policy").unwrap_or_default();
        let id = attributes.remove("KmsMasterKeyId").filter(|id| !id.is_empty());
        let key = match id {
            Some(id) => Some(self.key(&id, topic).await?),
            None => None,
        };
        Ok(Topic { policy, key })
    }

    async fn key(&self, id: &str, topic: &str) -> Result<TopicKey, InstallationError> {
        let subject = format!("key {id} of topic {topic}");
        // An alias has no policy, but the key that it names.
        let described = self.keys.describe_key().key_id(id).send().await.map_err(failed(&subject))?;
        let key = described.key_metadata.ok_or_else(malformed(&subject))?;
        let arn = key.arn.unwrap_or(key.key_id);
        if key.key_manager == Some(KeyManagerType::Aws) {
            return Ok(TopicKey { arn, policy: None });
        }
        let policy = self.keys.get_key_policy().key_id(&arn).send().await.map_err(failed(&subject))?;
        Ok(TopicKey { arn, policy: Some(policy.policy.ok_or_else(malformed(&subject))?) })
    }

    /// The trails that cover the region, also trails of other regions and of the organization. Without one, `EventBridge`
    /// gets no event of an API call: <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-service-event-cloudtrail.html>
    pub async fn trails(&self) -> Result<Vec<Trail>, InstallationError> {
        let answer = self.trails.describe_trails().include_shadow_trails(true).send().await;
        let mut trails = Vec::new();
        for trail in answer.map_err(failed("the trails of CloudTrail"))?.trail_list() {
            let Some(arn) = trail.trail_arn() else { continue };
            let status = self.trails.get_trail_status().name(arn).send().await;
            let status = status.map_err(failed(&format!("the status of trail {arn}")))?;
            // A trail without selectors of its own logs all management events.
            let has_writes = trail.has_custom_event_selectors() == Some(false) || self.has_writes(arn).await?;
            trails.push(Trail { arn: arn.to_owned(), is_logging: status.is_logging() == Some(true), has_writes });
        }
        Ok(trails)
    }

    async fn has_writes(&self, trail: &str) -> Result<bool, InstallationError> {
        let answer = self.trails.get_event_selectors().trail_name(trail).send().await;
        let answer = answer.map_err(failed(&format!("the event selectors of trail {trail}")))?;
        Ok(answer.event_selectors().iter().any(selects_writes)
            || answer.advanced_event_selectors().iter().any(selects_writes_by_field))
    }
}

fn failed<E: Error + 'static>(subject: &str) -> impl Fn(E) -> InstallationError {
    move |error| InstallationError::Failed { subject: subject.to_owned(), reason: describe(&error) }
}

/// What an error means that says that the stack does not exist: it has no code of its own.
fn missing(stack: &str) -> impl Fn(InstallationError) -> InstallationError {
    move |error| match error {
        InstallationError::Failed { reason, .. }
            if reason.contains("does not exist") && !reason.contains("Resource") =>
        {
            InstallationError::NoStack(stack.to_owned())
        }
        error => error,
    }
}

fn malformed(subject: &str) -> impl Fn() -> InstallationError {
    move || InstallationError::Malformed { subject: subject.to_owned() }
}

fn read_stack(stack: &Stack) -> DeployedStack {
    let parameters = stack.parameters().iter().filter_map(|parameter| {
        Some((parameter.parameter_key()?.to_owned(), parameter.parameter_value().unwrap_or_default().to_owned()))
    });
    DeployedStack {
        name: stack.stack_name().unwrap_or_default().to_owned(),
        status: stack.stack_status().map(|status| status.as_str().to_owned()).unwrap_or_default(),
        reason: stack.stack_status_reason().filter(|reason| !reason.is_empty()).map(str::to_owned),
        parameters: parameters.collect(),
    }
}

fn selects_writes(selector: &EventSelector) -> bool {
    selector.include_management_events() == Some(true)
        && selector.read_write_type() != Some(&ReadWriteType::ReadOnly)
        && !selector.exclude_management_event_sources().iter().any(|source| source == "ecs.amazonaws.com")
}

/// An advanced selector selects an event that all its fields select.
fn selects_writes_by_field(selector: &AdvancedEventSelector) -> bool {
    let field = |name: &str| selector.field_selectors().iter().find(|field| field.field() == name);
    let selects = |field: &AdvancedFieldSelector, value: &str| {
        let is_wanted = field.equals().is_empty() || field.equals().iter().any(|it| it == value);
        is_wanted && !field.not_equals().iter().any(|it| it == value)
    };
    field("eventCategory").is_some_and(|category| selects(category, "Management"))
        && field("readOnly").is_none_or(|read_only| selects(read_only, "false"))
        && field("eventSource").is_none_or(|source| selects(source, "ecs.amazonaws.com"))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
        thread,
    };

    use aws_smithy_types::timeout::TimeoutConfig;
    use serde_json::json;

    use super::*;
    use crate::sdk::of_function;

    #[test]
    fn an_invocation_is_awaited_for_longer_than_the_function_runs() {
        let template = include_str!("../../../template.yaml");
        let function = template.split_once("\n  ReconcileFunction:").expect("the function").1;
        let timeout = function.split_once("Timeout: ").and_then(|(_, rest)| rest.lines().next()).expect("its time-out");
        assert!(LONGEST_INVOCATION > Duration::from_secs(timeout.parse().expect("seconds")));
    }

    #[tokio::test]
    async fn an_invocation_may_take_longer_than_other_calls() {
        // Given a function that answers after the time-out of other calls.
        let (longest, takes) = (Duration::from_millis(50), Duration::from_millis(500));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let _ = connection.read(&mut [0; 8192]).unwrap();
            thread::sleep(takes);
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
        });
        let variable = move |name: &str| match name {
            "AWS_ENDPOINT_URL" => Some(url.clone()),
            "AWS_REGION" => Some("us-east-1".to_owned()),
            "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("test".to_owned()),
            _ => None,
        };
        let timeouts = TimeoutConfig::builder().operation_attempt_timeout(longest).operation_timeout(longest).build();
        let config = of_function(variable).to_builder().timeout_config(timeouts).build();
        // Then its answer is awaited.
        let answer = AwsInstallation::new(&config).invoke("reconcile", &json!({})).await.unwrap();
        assert_eq!(answer, Invoked::Answer(json!({})));
        server.join().unwrap();
    }

    #[test]
    fn empty_reason_is_none() {
        let stack = |reason: &str| read_stack(&Stack::builder().stack_status_reason(reason).build());
        assert_eq!(stack("").reason, None);
        assert_eq!(stack("rolled back").reason.as_deref(), Some("rolled back"));
    }

    #[test]
    fn description_is_that_of_the_template() {
        let template = include_str!("../../../template.yaml");
        assert!(template.contains(&format!("\nDescription: >-\n  {DESCRIPTION} ")), "the template's description");
    }

    #[test]
    fn selector_of_management_events_selects_writes_unless_it_is_for_reads() {
        let selector = |kind: ReadWriteType, management: bool| {
            EventSelector::builder().read_write_type(kind).include_management_events(management).build()
        };
        assert!(selects_writes(&selector(ReadWriteType::All, true)));
        assert!(selects_writes(&selector(ReadWriteType::WriteOnly, true)));
        assert!(!selects_writes(&selector(ReadWriteType::ReadOnly, true)));
        assert!(!selects_writes(&selector(ReadWriteType::All, false)));
    }

    #[test]
    fn advanced_selector_selects_what_all_its_fields_select() {
        let field =
            |name: &str, value: &str| AdvancedFieldSelector::builder().field(name).equals(value).build().unwrap();
        let selector = |fields: &[(&str, &str)]| {
            let fields = fields.iter().map(|(name, value)| field(name, value)).collect();
            AdvancedEventSelector::builder().set_field_selectors(Some(fields)).build().unwrap()
        };
        assert!(selects_writes_by_field(&selector(&[("eventCategory", "Management")])));
        assert!(selects_writes_by_field(&selector(&[("eventCategory", "Management"), ("readOnly", "false")])));
        assert!(!selects_writes_by_field(&selector(&[("eventCategory", "Management"), ("readOnly", "true")])));
        assert!(!selects_writes_by_field(&selector(&[("eventCategory", "Data")])));
    }
}

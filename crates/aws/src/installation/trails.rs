//! Trails of `CloudTrail`: without one, `EventBridge` gets no event of an API call.
//!
//! Source: <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-service-event-cloudtrail.html>

use async_trait::async_trait;
use aws_sdk_cloudtrail::types::{AdvancedEventSelector, AdvancedFieldSelector, EventSelector, ReadWriteType};

use super::AwsInstallation;
use crate::stack::{StackError, failed};

/// A trail that covers the region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trail {
    /// Its ARN.
    pub arn: String,
    /// Whether it logs.
    pub is_logging: bool,
    /// Whether it logs calls that change something, such as `RegisterTaskDefinition`.
    pub has_writes: bool,
}

/// Reads trails.
#[async_trait]
pub trait Trails: Send + Sync {
    /// The trails that cover the region, those of other regions and of the organization included.
    async fn trails(&self) -> Result<Vec<Trail>, StackError>;
}

#[async_trait]
impl Trails for AwsInstallation {
    async fn trails(&self) -> Result<Vec<Trail>, StackError> {
        let answer = self.trails.describe_trails().include_shadow_trails(true).send().await;
        let answer = answer.map_err(|e| failed("the trails of CloudTrail".to_owned(), &e))?;
        let mut trails = Vec::new();
        for trail in answer.trail_list() {
            let Some(arn) = trail.trail_arn() else { continue };
            let status = self.trails.get_trail_status().name(arn).send().await;
            let status = status.map_err(|e| failed(format!("the status of trail {arn}"), &e))?;
            // A trail without selectors of its own logs all management events.
            let has_writes = trail.has_custom_event_selectors() == Some(false) || self.has_writes(arn).await?;
            trails.push(Trail { arn: arn.to_owned(), is_logging: status.is_logging() == Some(true), has_writes });
        }
        Ok(trails)
    }
}

impl AwsInstallation {
    async fn has_writes(&self, trail: &str) -> Result<bool, StackError> {
        let answer = self.trails.get_event_selectors().trail_name(trail).send().await;
        let answer = answer.map_err(|e| failed(format!("the event selectors of trail {trail}"), &e))?;
        Ok(answer.event_selectors().iter().any(selects_writes)
            || answer.advanced_event_selectors().iter().any(selects_writes_by_field))
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
    use super::*;

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

//! The ECS client, which implements one trait for each part of the API.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex},
};

use aws_sdk_ecs::{Client, types::Tag};
use aws_types::SdkConfig;
use lru::LruCache;
use mesh::{arn::TaskDefinitionArn, definition::TaskDefinition, tags::Tags};

/// How many task definitions an execution environment caches.
const CACHED_DEFINITIONS: NonZeroUsize = NonZeroUsize::new(2_000).expect("2,000 is not zero");
/// The most tasks in one `DescribeTasks`, and clusters in one `DescribeClusters`.
pub const DESCRIBE_LIMIT: usize = 100;

/// The ECS of the account.
pub struct AwsEcs {
    pub(super) client: Client,
    pub(super) definitions: Mutex<LruCache<TaskDefinitionArn, Arc<TaskDefinition>>>,
}

impl AwsEcs {
    /// ECS in the configuration's region.
    pub fn new(config: &SdkConfig) -> Self {
        Self { client: Client::new(config), definitions: Mutex::new(LruCache::new(CACHED_DEFINITIONS)) }
    }
}

pub(super) fn tags(tags: &[Tag]) -> Tags {
    tags.iter().filter_map(|tag| Some((tag.key()?, tag.value().unwrap_or_default()))).collect()
}

//! The values of dimensions.

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A state change of a task.
    TaskChange,
    /// A registered task definition or a changed service.
    TaskDefinition,
    /// A check whether a token is idle.
    IdleCheck,
    /// A second look at tasks that ECS did not know.
    SecondLook,
    /// A message that cannot be parsed.
    Unreadable,
}

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::TaskChange, Self::TaskDefinition, Self::IdleCheck, Self::SecondLook, Self::Unreadable];

    /// The value of the dimension.
    pub fn name(self) -> &'static str {
        match self {
            Self::TaskChange => "TaskChange",
            Self::TaskDefinition => "TaskDefinition",
            Self::IdleCheck => "IdleCheck",
            Self::SecondLook => "SecondLook",
            Self::Unreadable => "Unreadable",
        }
    }
}

/// A service that is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// Consul's HTTP API.
    Consul,
    /// All AWS APIs.
    Aws,
}

impl Service {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Consul, Self::Aws];

    /// The value of the dimension.
    pub fn name(self) -> &'static str {
        match self {
            Self::Consul => "Consul",
            Self::Aws => "AWS",
        }
    }
}

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// `task-events`.
    TaskEvents,
    /// `reconcile`.
    Reconcile,
    /// `audit`.
    Audit,
}

impl Function {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::TaskEvents, Self::Reconcile, Self::Audit];

    /// The value of the dimension.
    pub fn name(self) -> &'static str {
        match self {
            Self::TaskEvents => "TaskEvents",
            Self::Reconcile => "Reconcile",
            Self::Audit => "Audit",
        }
    }
}

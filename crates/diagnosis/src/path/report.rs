//! The answer to `path`: a line for each place that a request passes, and one sentence.

use audit::report::command_page;
use jiff::Timestamp;
use serde::Serialize;

/// A place that a request passes, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The tasks that call.
    SourceTasks,
    /// How the app's traffic reaches its proxy.
    WayOut,
    /// Where the app thinks that its proxy listens.
    Url,
    /// What the name of the destination means to the proxy.
    Name,
    /// Whether intentions allow the call.
    Permission,
    /// Whether security groups and network ACLs let the connection through.
    Network,
    /// What may cut off some of the requests: limits, outlier detection, times, TLS settings.
    Limits,
    /// Whether a service of another place is exported to the caller's, and whether gateways lead there.
    Border,
    /// The proxies that take the request.
    DestinationTasks,
    /// The certificates with which the proxies trust each other.
    Trust,
}

impl Place {
    /// Its name, as the page and programs write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SourceTasks => "source-tasks",
            Self::WayOut => "way-out",
            Self::Url => "url",
            Self::Name => "name",
            Self::Permission => "permission",
            Self::Network => "network",
            Self::Limits => "limits",
            Self::Border => "border",
            Self::DestinationTasks => "destination-tasks",
            Self::Trust => "trust",
        }
    }
}

/// What was found at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PlaceVerdict {
    /// Nothing stops the request here.
    Ok,
    /// Something stops the request here, all of it or a part.
    Fault,
    /// Something may stop the request here. Consul and AWS do not say whether it does.
    Possible,
    /// It could not be read, or no API has it.
    Unknown,
    /// The request does not pass here.
    NotNeeded,
}

impl PlaceVerdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Fault => "fault",
            Self::Possible => "possible",
            Self::Unknown => "unknown",
            Self::NotNeeded => "not needed",
        }
    }
}

/// One finding at a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PathLine {
    /// The place.
    pub place: Place,
    /// Whether something stops the request here.
    pub verdict: PlaceVerdict,
    /// What was found.
    pub what: String,
    /// What to change, if something has to be.
    pub change: Option<String>,
    /// The commands that make the change, or that show what neither Consul nor AWS tells.
    pub commands: Vec<String>,
    /// What the token lacks, if that is why it is unknown.
    pub missing_permission: Option<String>,
    /// The page about the place.
    pub page: String,
    /// Whether it is unknown because a read failed. Otherwise neither Consul nor AWS tells it.
    pub is_unread: bool,
}

impl PathLine {
    fn new(place: Place, verdict: PlaceVerdict, what: impl Into<String>) -> Self {
        let (what, page) = (what.into(), format!("{}#{}", command_page("path"), place.as_str()));
        let (change, commands, missing_permission, is_unread) = (None, Vec::new(), None, false);
        Self { place, verdict, what, change, commands, missing_permission, page, is_unread }
    }

    pub(super) fn ok(place: Place, what: impl Into<String>) -> Self {
        Self::new(place, PlaceVerdict::Ok, what)
    }

    pub(super) fn fault(place: Place, what: impl Into<String>) -> Self {
        Self::new(place, PlaceVerdict::Fault, what)
    }

    pub(super) fn possible(place: Place, what: impl Into<String>) -> Self {
        Self::new(place, PlaceVerdict::Possible, what)
    }

    /// What neither Consul nor AWS tells.
    pub(super) fn in_no_api(place: Place, what: impl Into<String>) -> Self {
        Self::new(place, PlaceVerdict::Unknown, what)
    }

    /// What could not be read.
    pub(super) fn unread(place: Place, what: impl Into<String>) -> Self {
        Self { is_unread: true, ..Self::new(place, PlaceVerdict::Unknown, what) }
    }

    pub(super) fn not_needed(place: Place, what: impl Into<String>) -> Self {
        Self::new(place, PlaceVerdict::NotNeeded, what)
    }

    /// Adds what to change.
    #[must_use]
    pub(super) fn changed_by(self, change: impl Into<String>) -> Self {
        Self { change: Some(change.into()), ..self }
    }

    /// Adds a command, which is printed and never run.
    #[must_use]
    pub(super) fn with_command(mut self, command: impl Into<String>) -> Self {
        self.commands.push(command.into());
        self
    }

    /// Adds the commands that there are.
    #[must_use]
    pub(super) fn with_commands(mut self, commands: impl IntoIterator<Item = String>) -> Self {
        self.commands.extend(commands);
        self
    }

    /// Adds what the token lacks.
    #[must_use]
    pub(super) fn lacking(self, permission: Option<String>) -> Self {
        Self { missing_permission: permission, ..self }
    }
}

/// One end of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PathEnd {
    /// The service in Consul.
    pub service: String,
    /// Its admin partition (Enterprise).
    pub partition: Option<String>,
    /// Its namespace (Enterprise).
    pub namespace: Option<String>,
    /// Its datacenter, if it differs from the caller's.
    pub datacenter: Option<String>,
    /// The peer that exports it.
    pub peer: Option<String>,
}

/// Whether a request arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Passage {
    /// Nothing that was read stops it.
    Open,
    /// Something stops it.
    Blocked,
    /// Nothing that was read stops it, but not everything could be read.
    Unknown,
}

/// A request from one service to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ServicePath {
    /// The service that calls.
    pub source: PathEnd,
    /// The service that is called.
    pub destination: PathEnd,
    /// The method and the path of the request, if they were given.
    pub request: Option<String>,
    /// What was found, place by place.
    pub lines: Vec<PathLine>,
    /// Whether the request arrives.
    pub passage: Passage,
    /// Whether it arrives, and what would let it through, in one sentence.
    pub conclusion: String,
}

/// An intention about a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Caller {
    /// The service that calls; `*` for every service.
    pub source: String,
    /// What the intention says: `allow`, `deny`, or `by permissions`.
    pub action: String,
    /// The intention, in words.
    pub intention: String,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PathReport {
    /// When it was read.
    pub read_at: Timestamp,
    /// The paths that were asked about: one, or one for each destination.
    pub paths: Vec<ServicePath>,
    /// Who may call the destination, in order of precedence; null unless it was asked.
    pub callers: Option<Vec<Caller>>,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}

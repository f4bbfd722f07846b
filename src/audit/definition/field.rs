//! Values that may be absent, or known only to a deployment, and where they stand.

use crate::audit::document::{HOLE, Place, Span};

/// One value of a task definition.
#[derive(Debug, Clone)]
pub struct Field<T> {
    /// What is known of it.
    pub value: Maybe<T>,
    /// Where it is; where it is absent, its owner's place, and the way to where it would be.
    pub place: Place,
}

/// What is known of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Maybe<T> {
    /// It is not there.
    Absent,
    /// Only a deployment can tell, even whether it is there.
    Unknown,
    /// This.
    Known(T),
}

impl<T> Field<T> {
    /// The value, where it is known.
    #[must_use]
    pub fn known(&self) -> Option<&T> {
        match &self.value {
            Maybe::Known(value) => Some(value),
            Maybe::Absent | Maybe::Unknown => None,
        }
    }

    /// Whether it is certainly not there.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self.value, Maybe::Absent)
    }

    /// Whether only a deployment can tell.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self.value, Maybe::Unknown)
    }

    /// What to point at.
    #[must_use]
    pub fn span(&self) -> Span {
        self.place.span
    }
}

impl<T: Clone> Field<T> {
    /// The value, or `default` where it is absent; `None` where only a deployment can tell.
    #[must_use]
    pub fn or(&self, default: T) -> Option<T> {
        match &self.value {
            Maybe::Known(value) => Some(value.clone()),
            Maybe::Absent => Some(default),
            Maybe::Unknown => None,
        }
    }
}

impl Field<Text> {
    /// The text, where all of it is known.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.known().and_then(Text::whole)
    }
}

/// A string of which parts may be known only to a deployment, as in `${AWS::AccountId}.dkr.ecr…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(pub(in crate::audit) String);

impl Text {
    /// A text of which all is known.
    #[must_use]
    pub fn known(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// All of it, if all of it is known.
    #[must_use]
    pub fn whole(&self) -> Option<&str> {
        (!self.0.contains(HOLE)).then_some(self.0.as_str())
    }

    /// What it certainly ends with: what follows its last unknown part.
    #[must_use]
    pub fn tail(&self) -> &str {
        self.0.rsplit(HOLE).next().unwrap_or_default()
    }

    /// What it certainly begins with: what stands before its first unknown part.
    #[must_use]
    pub fn head(&self) -> &str {
        self.0.split(HOLE).next().unwrap_or_default()
    }

    /// Whether one of its known parts holds `needle`.
    #[must_use]
    pub fn mentions(&self, needle: &str) -> bool {
        self.0.split(HOLE).any(|part| part.contains(needle))
    }

    /// For people: unknown parts become `…`.
    #[must_use]
    pub fn shown(&self) -> String {
        self.0.replace(HOLE, "…")
    }
}

/// A list, and whether all of it is known.
#[derive(Debug, Clone)]
pub struct List<T> {
    /// The items that are known.
    pub items: Vec<T>,
    /// Whether there are certainly no others.
    pub is_complete: bool,
    /// Where the list is; where it is absent, its owner's place, and the way to where it would be.
    pub place: Place,
    /// Whether it is there at all.
    pub is_present: bool,
}

impl<T> List<T> {
    /// The one item that `is_wanted`, or [`Maybe::Unknown`] where an unknown item might be it.
    pub fn find(&self, is_wanted: impl Fn(&T) -> bool) -> Maybe<&T> {
        match self.items.iter().find(|item| is_wanted(item)) {
            Some(item) => Maybe::Known(item),
            None if self.is_complete => Maybe::Absent,
            None => Maybe::Unknown,
        }
    }

    /// Whether certainly no item `is_wanted`.
    pub fn lacks(&self, is_wanted: impl Fn(&T) -> bool) -> bool {
        matches!(self.find(is_wanted), Maybe::Absent)
    }

    /// Whether it certainly has no items.
    #[must_use]
    pub fn is_certainly_empty(&self) -> bool {
        self.items.is_empty() && self.is_complete
    }
}

impl List<Field<Text>> {
    /// All of the items, if all are known.
    #[must_use]
    pub fn texts(&self) -> Option<Vec<&str>> {
        if !self.is_complete {
            return None;
        }
        self.items.iter().map(Field::text).collect()
    }

    /// A command as messages show it: the program alone. What follows it may hold a secret.
    #[must_use]
    pub fn shown_program(&self) -> String {
        let first = self.items.first().and_then(Field::known).map(Text::shown).unwrap_or_default();
        let is_of_a_name = |c: &char| c.is_alphanumeric() || "/._-…".contains(*c);
        let program: String = first.chars().take_while(is_of_a_name).collect();
        if program.len() < first.len() || self.items.len() > 1 { format!("{program} …") } else { program }
    }
}

//! Values that may be absent, or known only to a deployment, and where they stand.

use crate::document::{HOLE, Place, Span};

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
    /// Whether it is `text`, as far as is known.
    #[must_use]
    pub fn may_be(&self, text: &str) -> bool {
        match &self.value {
            Maybe::Known(known) => known.may_be(text),
            Maybe::Unknown => true,
            Maybe::Absent => false,
        }
    }

    /// The text, where all of it is known.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.known().and_then(Text::whole)
    }
}

/// A string of which parts may be known only to a deployment, as in `${AWS::AccountId}.dkr.ecr…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(pub(crate) String);

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

    /// Whether it is `text`, as far as is known.
    #[must_use]
    pub fn may_be(&self, text: &str) -> bool {
        match self.whole() {
            Some(whole) => whole == text,
            None => text.strip_prefix(self.head()).is_some_and(|rest| rest.ends_with(self.tail())),
        }
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

    /// The one item whose `name_of` is `name`, or [`Maybe::Unknown`] where one whose name is not known might be it.
    pub fn find_named<'l>(&'l self, name: &str, name_of: impl Fn(&'l T) -> &'l Field<Text>) -> Maybe<&'l T> {
        match self.items.iter().find(|item| name_of(item).text() == Some(name)) {
            Some(item) => Maybe::Known(item),
            None if self.is_complete && !self.items.iter().any(|item| name_of(item).may_be(name)) => Maybe::Absent,
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

    /// What a command runs, for people: its program. What follows may hold a secret, and so may a program that is none.
    #[must_use]
    pub fn shown_program(&self) -> String {
        let Some(first) = self.items.first() else { return "nothing".to_owned() };
        let text = first.known().map_or("", Text::head);
        let program = text.split_whitespace().next().unwrap_or_default();
        let name = program.rsplit('/').next().unwrap_or_default();
        let is_program = name.len() <= 24
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && program.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./".contains(&b));
        match (is_program, self.items.len() == 1 && self.is_complete && program == text) {
            (true, true) => program.to_owned(),
            (true, false) => format!("{program} …"),
            (false, _) => "…".to_owned(),
        }
    }
}

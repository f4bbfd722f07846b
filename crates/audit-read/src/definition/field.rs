//! Values that may be absent or known only at deployment, and their places.

use document::{HOLE, Place, Span, with_holes};

/// One value of a task definition.
#[derive(Debug, Clone)]
pub struct Field<T> {
    pub value: Maybe<T>,
    /// Its place. If it is absent: the bytes of its owner, and the route to where it would be.
    pub place: Place,
}

/// What is known about a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Maybe<T> {
    /// There is no such value.
    Absent,
    /// It is known only at deployment, maybe even whether there is a value.
    Unknown,
    /// The value.
    Known(T),
}

impl<T> Field<T> {
    /// The value, if it is known.
    pub fn known(&self) -> Option<&T> {
        match &self.value {
            Maybe::Known(value) => Some(value),
            Maybe::Absent | Maybe::Unknown => None,
        }
    }

    /// Whether there is certainly no value.
    pub fn is_absent(&self) -> bool {
        matches!(self.value, Maybe::Absent)
    }

    /// Whether the value is known only at deployment.
    pub fn is_unknown(&self) -> bool {
        matches!(self.value, Maybe::Unknown)
    }

    /// The bytes that findings point at.
    pub fn span(&self) -> Span {
        self.place.span
    }
}

impl<T> Field<Field<T>> {
    /// The field of a nested map, which may be absent or unknown itself.
    pub(super) fn flatten(self) -> Field<T> {
        match self.value {
            Maybe::Known(field) => field,
            Maybe::Absent => Field { value: Maybe::Absent, place: self.place },
            Maybe::Unknown => Field { value: Maybe::Unknown, place: self.place },
        }
    }
}

impl<T: Clone> Field<T> {
    /// The value, or `default` if it is absent; `None` if it is known only at deployment.
    pub fn or(&self, default: T) -> Option<T> {
        match &self.value {
            Maybe::Known(value) => Some(value.clone()),
            Maybe::Absent => Some(default),
            Maybe::Unknown => None,
        }
    }
}

impl Field<Text> {
    /// Whether it is or could be `text`.
    pub fn may_be(&self, text: &str) -> bool {
        match &self.value {
            Maybe::Known(known) => known.may_be(text),
            Maybe::Unknown => true,
            Maybe::Absent => false,
        }
    }

    /// The text, if it is known completely.
    pub fn text(&self) -> Option<&str> {
        self.known().and_then(Text::whole)
    }
}

/// A string. Parts of it may be known only at deployment, as in `${AWS::AccountId}.dkr.ecr…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(pub String);

impl Text {
    /// A text without unknown parts.
    pub fn known(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text with the placeholders of other programs as unknown parts.
    pub(super) fn opened(text: &str) -> Self {
        Self(with_holes(text).into_owned())
    }

    /// The text, if it has no unknown parts.
    pub fn whole(&self) -> Option<&str> {
        (!self.0.contains(HOLE)).then_some(self.0.as_str())
    }

    /// What it certainly ends with: the part after its last unknown part.
    pub fn tail(&self) -> &str {
        self.0.rsplit(HOLE).next().unwrap_or_default()
    }

    /// What it certainly begins with: the part before its first unknown part.
    pub fn head(&self) -> &str {
        self.0.split(HOLE).next().unwrap_or_default()
    }

    /// Whether it is or could be `text`.
    pub fn may_be(&self, text: &str) -> bool {
        match self.whole() {
            Some(whole) => whole == text,
            None => text.strip_prefix(self.head()).is_some_and(|rest| rest.ends_with(self.tail())),
        }
    }

    /// Whether one of its known parts contains `needle`.
    pub fn mentions(&self, needle: &str) -> bool {
        self.0.split(HOLE).any(|part| part.contains(needle))
    }

    /// As users read it: unknown parts become `…`.
    pub fn shown(&self) -> String {
        self.0.replace(HOLE, "…")
    }
}

/// A list, and whether it is known completely.
#[derive(Debug, Clone)]
pub struct List<T> {
    /// The items that are known.
    pub items: Vec<T>,
    /// Whether there are certainly no other items.
    pub is_complete: bool,
    /// Its place. If it is absent: the bytes of its owner, and the route to where it would be.
    pub place: Place,
    /// Whether there is a list.
    pub is_present: bool,
}

impl<T> List<T> {
    /// A list that is absent or unknown.
    pub(super) fn without_items(is_complete: bool, place: &Place) -> Self {
        Self { items: Vec::new(), is_complete, place: place.clone(), is_present: false }
    }

    /// The item that `is_wanted`, or [`Maybe::Unknown`] if an unknown item could be it.
    pub fn find(&self, is_wanted: impl Fn(&T) -> bool) -> Maybe<&T> {
        match self.items.iter().find(|item| is_wanted(item)) {
            Some(item) => Maybe::Known(item),
            None if self.is_complete => Maybe::Absent,
            None => Maybe::Unknown,
        }
    }

    /// The item called `name`, or [`Maybe::Unknown`] if an item of unknown name could be it.
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

    /// Whether it has items, if that is known.
    pub fn has_items(&self) -> Option<bool> {
        (!self.items.is_empty() || self.is_complete).then_some(!self.items.is_empty())
    }

    /// Whether it certainly has no items.
    pub fn is_certainly_empty(&self) -> bool {
        self.items.is_empty() && self.is_complete
    }
}

impl List<Field<Text>> {
    /// All items, if all of them are known.
    pub fn texts(&self) -> Option<Vec<&str>> {
        if !self.is_complete {
            return None;
        }
        self.items.iter().map(Field::text).collect()
    }

    /// The program of a command, as users read it. The arguments are left out because they may contain secrets, and so
    /// is a first word that is not the name of a program.
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

//! What the program that evaluates modules reads of them.

use crate::syntax::Block;

/// What the program that evaluates modules reads of them.
#[derive(Debug, Clone, Copy)]
pub struct Interest {
    /// What the types of its resources begin with: `aws_ecs_`. Mistakes in other resources are no problem.
    pub resources: &'static [&'static str],
    /// Files that cannot be read are a problem only in directories with one of these words.
    pub words: &'static [&'static str],
    /// Whether a type of resource has no such attribute, but one with a similar name: a reference to it is undeclared.
    pub misspells: fn(&str, &str) -> bool,
    /// Whether the program itself provides the module of a call with this source and version. The outputs of the module are
    /// unknown.
    pub provides: fn(&str, Option<&str>) -> bool,
}

impl Interest {
    /// For a module of the program's own sources, which reads no files.
    pub const NONE: Self = Self { resources: &[], words: &[], misspells: |_, _| false, provides: |_, _| false };

    /// Whether the block is read: any block but a resource of another service.
    pub(crate) fn includes(&self, block: &Block) -> bool {
        let is_of = |kind: &str| self.resources.iter().any(|service| kind.starts_with(service));
        block.kind != "resource" || block.label(0).is_some_and(is_of)
    }

    /// Whether a text has one of the words.
    pub(crate) fn has_word(&self, text: &str) -> bool {
        self.words.iter().any(|word| text.contains(word))
    }
}

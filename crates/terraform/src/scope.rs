//! What an expression needs from its module. The files of the language use only this trait; [`Module`] implements it.

use std::sync::Arc;

use document::{Node, Route, SourceFile, Span, hcl::span_of};
use hcl_edit::expr::{Expression, TraversalOperator};

use crate::{
    budget::Budget,
    causes::{Causes, UnknownCause},
    functions::Function,
    tree::Refusal,
    values::unknown,
};

/// Where an expression is evaluated.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'f> {
    /// The file whose bytes places count.
    pub(crate) file: usize,
    pub(crate) bindings: Option<&'f Binding<'f>>,
    pub(crate) depth: usize,
    /// The place of another text that the expression is in, whose bytes its spans count.
    pub(crate) within: Option<Text>,
}

/// A text with expressions that is no file of the module.
#[derive(Clone, Copy)]
pub(crate) struct Text {
    /// Where the module uses it.
    pub(crate) at: Span,
    /// Whether it is a template, which knows only its variables.
    pub(crate) is_template: bool,
    /// Whether the names of all its variables are known.
    pub(crate) has_all_names: bool,
}

/// A name that is known within an expression: of `for`, `each` and `count`.
pub(crate) struct Binding<'f> {
    pub(crate) name: &'f str,
    pub(crate) value: &'f Node,
    pub(crate) next: Option<&'f Binding<'f>>,
}

impl<'f> Frame<'f> {
    pub(crate) fn of(file: usize) -> Self {
        Self { file, bindings: None, depth: 0, within: None }
    }

    /// In a text at `at`.
    pub(crate) fn within(self, at: Span) -> Self {
        let at = self.within.map_or(at, |outer| outer.at);
        Self { within: Some(Text { at, is_template: false, has_all_names: false }), ..self }
    }

    /// In a template that is used at `at`.
    pub(crate) fn in_template(self, at: Span, has_all_names: bool) -> Self {
        let at = self.within.map_or(at, |outer| outer.at);
        Self { within: Some(Text { at, is_template: true, has_all_names }), ..self }
    }

    /// The same, one level deeper.
    pub(crate) fn deeper(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }

    /// Whether only the variables of a template are known.
    pub(crate) fn is_in_template(self) -> bool {
        self.within.is_some_and(|text| text.is_template)
    }

    /// Whether a template may have variables with other names.
    pub(crate) fn is_in_open_template(self) -> bool {
        self.within.is_some_and(|text| text.is_template && !text.has_all_names)
    }

    /// The value that a name is bound to.
    pub(crate) fn bound(self, name: &str) -> Option<&'f Node> {
        let mut next = self.bindings;
        while let Some(binding) = next {
            if binding.name == name {
                return Some(binding.value);
            }
            next = binding.next;
        }
        None
    }
}

/// The module around an expression.
pub(crate) trait Scope {
    /// The value of an expression. Edits reach its literals at `route`. `None` if Terraform would refuse it.
    fn evaluate(&self, expression: &Expression, route: Option<&Route>, frame: Frame<'_>) -> Option<Node>;

    /// The value of a reference to something that is declared, such as `var.x`. `None` if Terraform would refuse it.
    fn reference(&self, root: &str, operators: &[&TraversalOperator], span: Span, frame: Frame<'_>) -> Option<Node>;

    /// The text of a file next to the module.
    fn read_file(&self, path: &str) -> Result<String, Refusal>;

    /// The file of the module with this number.
    fn file(&self, number: usize) -> Arc<SourceFile>;

    /// What evaluation may still cost.
    fn budget(&self) -> &Budget;

    /// Why values are unknown.
    fn causes(&self) -> &Causes;

    /// An unknown value that no file declares, and why: `reason` follows its name.
    fn undeclared(&self, frame: Frame<'_>, span: Span, name: &str) -> Node;

    /// The place and the functions of a provided module; `None` for a user's module.
    fn provided(&self) -> Option<Provided>;

    /// Whether another module calls this one: then an edit would change what its other calls get.
    fn is_called(&self) -> bool;

    /// The place of values that no input sets: the name of the call. `None` for a user's module.
    fn made_at(&self) -> Option<Span> {
        self.provided().map(|provided| provided.at)
    }

    /// Whether an expression in this frame may be evaluated for this cost.
    fn spend(&self, frame: Frame<'_>, cost: usize) -> bool {
        self.budget().spend(frame.depth, cost)
    }

    /// An unknown value, and why it is unknown.
    fn unknown(&self, frame: Frame<'_>, span: Span, reason: &str) -> Node {
        self.causes().note(UnknownCause { file: self.file(frame.file), span, reason: reason.to_owned() });
        unknown(span)
    }
}

/// The place and the functions of a module whose sources are part of the program.
#[derive(Clone, Copy)]
pub(crate) struct Provided {
    /// Where it has what is from no input: at the name of its call.
    pub(crate) at: Span,
    /// The functions that its sources need in addition to Terraform's.
    pub(crate) functions: &'static [(&'static str, Function)],
}

impl dyn Scope + '_ {
    /// The bytes of a part of the syntax tree.
    pub(crate) fn span_of(&self, part: &impl hcl_edit::Span) -> Span {
        self.made_at().unwrap_or_else(|| span_of(part))
    }
}

//! Fixes: the edits of findings, made in the text of the file.

mod repair;
#[cfg(test)]
mod tests;

use audit_read::definition::Dialect;
use document::{
    PathStep,
    edit::{self, Change, Edit, EditError, Language},
};

pub use self::repair::{Left, Repair, repair, repair_all};

/// Arguments of a task definition that are nested blocks. Source:
/// <https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/ecs_task_definition>
const BLOCKS: &[&str] = &["volume"];

/// Makes `edits` in `text`, one after the other. Values are spelled as in `dialect`.
///
/// # Errors
/// One of the edits cannot be made; then none of them is.
pub fn apply(text: &str, dialect: Dialect, edits: &[Edit]) -> Result<String, EditError> {
    edit::apply(text, language(text, dialect), &spelled(dialect, edits))
}

/// The same for many edits at once. It fails more easily, but takes less time.
fn apply_many(text: &str, dialect: Dialect, edits: &[Edit]) -> Result<String, EditError> {
    edit::apply_many(text, language(text, dialect), &spelled(dialect, edits))
}

/// The language of a text. No file in Terraform's native syntax begins with a bracket.
fn language(text: &str, dialect: Dialect) -> Language {
    let is_native = dialect == Dialect::Terraform && !text.trim_start_matches('\u{feff}').trim_start().starts_with('{');
    if is_native { Language::Hcl { blocks: BLOCKS } } else { Language::JsonOrYaml }
}

/// The edits with their values in the spelling of `dialect`. Embedded JSON is the configuration of consul-ecs, with its own
/// spelling.
fn spelled(dialect: Dialect, edits: &[Edit]) -> Vec<Edit> {
    let spell = |edit: &Edit| match &edit.change {
        _ if edit.route.steps().contains(&PathStep::Embedded) => edit.clone(),
        Change::Set(value) => Edit { change: Change::Set(dialect.spell_value(value.clone())), ..edit.clone() },
        Change::Append(value) => Edit { change: Change::Append(dialect.spell_value(value.clone())), ..edit.clone() },
        Change::Remove => edit.clone(),
    };
    edits.iter().map(spell).collect()
}

//! The JSON schema of `ecs-mesh.toml`, for editors.

use serde_json::{Value, json};

use super::{config::Level, selection::rules_and_groups};
use crate::rules::rules;

/// The schema of the configuration file, with the names of all rules. `fail_on_names` are the valid thresholds.
///
/// It is one of draft 7, which editors of TOML read.
pub fn config_schema(fail_on_names: &[&str]) -> Value {
    let ids: Vec<&str> = rules().map(|rule| rule.id).collect();
    let pattern = "*: anything but /, **: any directories, {a,b}: either";
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "urn:ecs-mesh:config:1",
        "title": "Configuration of ecs-mesh",
        "description": "The file ecs-mesh.toml, and the parameter AuditConfiguration of the function `audit`.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "fail-on": {
                "enum": fail_on_names,
                "default": "error",
                "description": "The lowest severity that fails the run.",
            },
            "severity": {
                "type": "object",
                "description": "The severity of a rule, or of a group of rules by how their IDs begin. The closest name counts.",
                "propertyNames": { "enum": rules_and_groups() },
                "additionalProperties": {
                    "enum": Level::NAMES,
                    "description": "The severity of findings; off: the rule is not applied.",
                },
            },
            "ignore": {
                "type": "array",
                "description": "Findings to ignore.",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["rule", "reason"],
                    "properties": {
                        "rule": { "enum": ids, "description": "The rule." },
                        "path": {
                            "type": "string",
                            "description": format!("A pattern of files, relative to the directory of this file. {pattern}. Without wildcards, it also means what is below a directory."),
                        },
                        "family": {
                            "type": "string",
                            "description": format!("A pattern of families or names of resources. {pattern}."),
                        },
                        "reason": { "type": "string", "pattern": "\\S", "description": "Why they are accepted." },
                    },
                },
            },
        },
    })
}

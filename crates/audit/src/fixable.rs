//! Which rules `fix` can do something about.

use std::sync::Arc;

use crate::{Material, input::read_source, rule::Rule, run_rule, source::SourceFile, subject::Subject};

/// Whether there is a fix for a finding of `rule`: for one that its examples have.
pub fn is_fixable(rule: &'static Rule) -> bool {
    rule.examples.iter().filter_map(crate::example::Example::broken).any(|definition| {
        let mut material = Material::default();
        // The findings of what could be read are judged.
        let _ = read_source(Arc::new(SourceFile::new("example.json", definition.to_string())), true, &mut material);
        let subjects: Vec<Subject<'_>> = material.definitions.iter().map(Subject::new).collect();
        let mut findings = Vec::new();
        run_rule(rule, &subjects, &material.resources, &mut findings);
        findings.iter().any(|finding| finding.fix.is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::rule;

    #[test]
    fn a_rule_is_fixable_if_one_of_its_examples_is() {
        assert!(is_fixable(rule("consul-network-mode").unwrap()));
        assert!(!is_fixable(rule("ecs-dependency-unknown").unwrap()));
        assert!(!is_fixable(rule("appmesh-end-of-service").unwrap()));
    }
}

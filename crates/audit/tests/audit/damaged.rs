//! Reading never panics, for any text.

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use audit::{audit, example::Base};
use audit_read::{
    Material,
    input::{InputProblem, gather, read_source},
    source::SourceFile,
};

/// Valid texts of every format, which are then damaged.
static SEEDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let samples = [
        include_str!("../audit_inputs/web.yaml"),
        include_str!("../audit_inputs/web.template"),
        include_str!("../audit_inputs/sam.yaml"),
        include_str!("../audit_inputs/mesh.yaml"),
        include_str!("../audit_inputs/cdk.template.json"),
        include_str!("../audit_inputs/plan.tfplan.json"),
        include_str!("../audit_inputs/state.json"),
        include_str!("terraform_source/modules/mesh-task-0.9-enterprise.tf"),
        include_str!("terraform_source/modules/gateway-task-0.6-mesh-gateway.tf"),
        include_str!("terraform_source/modules/controller-0.9.tf"),
    ];
    Base::ALL.iter().map(|base| base.json()).chain(samples).collect()
});

/// The material of the damage: the marks of the notations, and the words of the formats.
const SCRAPS: [&str; 47] = [
    "\n---\n",
    "\n...\n",
    "AWS::AppMesh::VirtualNode",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    ":",
    ",",
    "\n",
    "  ",
    "- ",
    "&a ",
    "*a",
    "<<: ",
    "!Ref ",
    "!Sub ",
    "!If ",
    "!Join ",
    "!Select ",
    "!Split ",
    "!FindInMap ",
    "Fn::Sub",
    "Fn::Transform",
    "${",
    "{{resolve:",
    "null",
    "true",
    "-1",
    "1e999",
    "\\u0000",
    "\u{FDD0}",
    "\u{FEFF}",
    "é",
    "container_definitions",
    "resource \"aws_ecs_task_definition\" \"a\" ",
    "locals ",
    " = ",
    "<<-EOF\n",
    "%{ if ",
    "jsonencode(",
    "local.",
    "[*]",
    " ? ",
    "...",
];

/// Reads a text called `name` and checks it.
fn check(name: &str, text: String) {
    let mut material = Material::default();
    let problem = read_source(Arc::new(SourceFile::new(name, text)), true, &mut material);
    assert_places(&material, problem.err().iter());
}

/// Findings are within the text, and a problem is one line.
fn assert_places<'p>(material: &Material, problems: impl Iterator<Item = &'p InputProblem>) {
    for problem in problems {
        assert!(!problem.to_string().contains('\n'), "{problem}");
    }
    for finding in audit(material) {
        assert!(finding.file.text.get(finding.span.start..finding.span.end).is_some(), "{finding:?}");
    }
}

/// The nearest position at which the text can be cut.
fn boundary(text: &str, at: prop::sample::Index) -> usize {
    let mut at = at.index(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a.json", "a.yaml", "a.template", "a.tf", "a.tf.json"])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400), name in name()) {
        let gathered = gather(&["-".to_owned()], &mut bytes.as_slice());
        assert_places(&gathered.material, gathered.problems.iter());
        check(name, String::from_utf8_lossy(&bytes).into_owned());
    }

    #[test]
    fn any_scraps(scraps in prop::collection::vec(prop::sample::select(SCRAPS.to_vec()), 0..60), name in name()) {
        check(name, scraps.concat());
    }

    #[test]
    fn damaged_texts(
        seed in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..40, prop::sample::select(SCRAPS.to_vec())), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
        name in name(),
    ) {
        let mut text = seed.get::<&str>(&SEEDS).to_string();
        for (at, removed, scrap) in damage {
            let start = boundary(&text, at);
            let end = text.char_indices().map(|(byte, _)| byte).find(|byte| *byte >= start + removed).unwrap_or(text.len());
            text.replace_range(start..end.max(start), scrap);
        }
        if let Some(cut) = cut {
            text.truncate(boundary(&text, cut));
        }
        check(name, text);
    }

    /// Replaces values by others of wrong types. The notation stays valid.
    #[test]
    fn exchanged_values(
        seed in any::<prop::sample::Index>(),
        exchanges in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..5),
    ) {
        let Ok(mut json) = serde_json::from_str::<serde_json::Value>(seed.get::<&str>(&SEEDS)) else { return Ok(()) };
        for (to, from) in exchanges {
            let paths = paths(&json);
            let value = json.pointer(from.get::<String>(&paths)).cloned().unwrap_or_default();
            if let Some(target) = json.pointer_mut(to.get::<String>(&paths)) {
                *target = value;
            }
        }
        check("a.json", json.to_string());
    }
}

/// The pointers to all values.
fn paths(value: &serde_json::Value) -> Vec<String> {
    let children: Vec<(String, &serde_json::Value)> = match value {
        serde_json::Value::Array(items) => items.iter().enumerate().map(|(n, item)| (n.to_string(), item)).collect(),
        serde_json::Value::Object(map) => {
            map.iter().map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        _ => Vec::new(),
    };
    let below =
        children.iter().flat_map(|(step, child)| paths(child).into_iter().map(move |path| format!("/{step}{path}")));
    std::iter::once(String::new()).chain(below).collect()
}

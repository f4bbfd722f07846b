//! Outputs of modules in directories: what is made of them is judged like its rendered form, or named.

use audit::audit;
use audit_read::input::gather;

use super::{
    case::{
        Case,
        Then::{Found, Noted, Silent},
        check,
    },
    written::{Spelling, in_module},
};
use crate::{
    folder::Folder,
    mutations::mutations,
    reading::{findings_in, is_of_every_definition, shown},
};

/// A module with a container that waits for `var.on`.
const MODULE: (&str, &str) = (
    "c/main.tf",
    "variable \"on\" {}\nlocals {\n  one = { name = \"web\", image = \"x:1\", dependsOn = [{ containerName = var.on, condition = \"START\" }] }\n}\noutput \"one\" {\n  value = local.one\n}\noutput \"json\" {\n  value = jsonencode([local.one])\n}\noutput \"on\" {\n  value = var.on\n}\noutput \"secret\" {\n  value = [local.one]\n  sensitive = true\n}\noutput \"open\" {\n  value = [local.one]\n  sensitive = false\n}\n",
);

const ONE: (&str, &str) = ("m.tf", "module \"c\" {\n  source = \"./c\"\n  on = \"db\"\n}");
const EACH: (&str, &str) =
    ("m.tf", "module \"c\" {\n  source = \"./c\"\n  for_each = toset([\"a\", \"b\"])\n  on = \"db\"\n}");
const COUNTED: (&str, &str) = ("m.tf", "module \"c\" {\n  source = \"./c\"\n  count = 1\n  on = \"db\"\n}");
const NONE: (&str, &str) = ("m.tf", "module \"c\" {\n  source = \"./c\"\n  count = 0\n  on = \"db\"\n}");
const SOME: (&str, &str) =
    ("m.tf", "variable \"n\" {}\nmodule \"c\" {\n  source = \"./c\"\n  count = var.n\n  on = \"db\"\n}");

#[rustfmt::skip]
const CASES: [Case; 26] = [
    ("jsonencode([module.c.one])", &[MODULE, ONE], Found("main.tf", 3)),
    ("module.c.json", &[MODULE, ONE], Found("main.tf", 3)),
    ("jsonencode([merge(module.c.one, { cpu = 0 })])", &[MODULE, ONE], Found("main.tf", 3)),
    ("jsonencode([local.one])", &[MODULE, ONE, ("l.tf", "locals {\n  one = module.c.one\n}")], Found("main.tf", 3)),
    ("jsonencode([module.c[\"a\"].one])", &[MODULE, EACH], Found("main.tf", 3)),
    ("jsonencode([for key, c in module.c : c.one if key == \"b\"])", &[MODULE, EACH], Found("main.tf", 3)),
    ("jsonencode([values(module.c)[0].one])", &[MODULE, EACH], Found("main.tf", 3)),
    ("jsonencode([module.c[\"z\"].one])", &[MODULE, EACH], Noted("container_definitions cannot be evaluated")),
    ("each.value.json\n  for_each = module.c", &[MODULE, EACH], Found("main.tf", 4)),
    ("jsonencode([module.c[0].one])", &[MODULE, COUNTED], Found("main.tf", 3)),
    ("jsonencode(module.c[*].one)", &[MODULE, COUNTED], Found("main.tf", 3)),
    ("jsonencode([one(module.c[*].one)])", &[MODULE, COUNTED], Found("main.tf", 3)),
    ("jsonencode(try([module.c[0].one], @))", &[MODULE, NONE], Found("main.tf", 3)),
    ("jsonencode(length(module.c) == 0 ? [] : [module.c[0].one])", &[MODULE, NONE], Silent),
    ("jsonencode([module.c[0].one])", &[MODULE, SOME], Found("main.tf", 3)),
    ("jsonencode(module.c[*].one)", &[MODULE, SOME], Noted("its containers are not known")),
    ("jsonencode(module.c.open)", &[MODULE, ONE], Found("main.tf", 3)),
    ("jsonencode(module.c.secret)", &[MODULE, ONE], Noted("module.c.secret is sensitive")),
    ("jsonencode(module.c.nothing)", &[MODULE, ONE], Noted("module.c.nothing is not declared")),
    ("jsonencode(module.c.nothing)", &[("c/main.tf", ""), ("m.tf", "module \"c\" {\n  source = var.c\n}")], Noted("module.c.nothing is known only to Terraform")),
    ("jsonencode([module.c.one])", &[MODULE, ("m.tf", "module \"d\" {\n  source = \"./c\"\n  on = \"db\"\n}\nmodule \"c\" {\n  source = \"./c\"\n  on = module.d.on\n}")], Found("main.tf", 3)),
    ("jsonencode([module.o.one])", &[MODULE, ("o/main.tf", "module \"c\" {\n  source = \"../c\"\n  on = \"db\"\n}\noutput \"one\" {\n  value = module.c.one\n}"), ("m.tf", "module \"o\" {\n  source = \"./o\"\n}")], Found("main.tf", 3)),
    ("jsonencode([module.c.one])", &[MODULE, ("m.tf", "variable \"on\" {}\nmodule \"c\" {\n  source = \"./c\"\n  on = var.on\n}")], Silent),
    ("jsonencode(module.c.on)", &[MODULE, ("m.tf", "module \"c\" {\n  source = \"./c\"\n  on = module.c.one\n}")], Noted("the inputs of module.c depend on its own outputs")),
    ("jsonencode(module.c.x)", &[("c/main.tf", "variable \"x\" {}\noutput \"x\" {\n  value = var.x\n}"), ("m.tf", "module \"c\" {\n  source = \"./c\"\n  x = var.x\n}\nvariable \"x\" {}")], Noted("m.tf:3:7: aws_ecs_task_definition.web: its containers are not known because var.x has no value")),
    ("jsonencode(module.c.x)", &[("m.tf", "module \"c\" {\n  source = \"./\"\n}\noutput \"x\" {\n  value = @\n}")], Noted("module.c: it calls itself")),
];

#[test]
fn every_output_is_judged_or_named() {
    check(&CASES);
}

#[test]
fn containers_from_an_output_have_the_findings_of_the_definition() {
    let mut differences = Vec::new();
    let mut count = 0;
    for (base, mutation) in mutations() {
        let definition = mutation.broken(base);
        let Some((main, module)) = in_module(&definition) else { continue };
        let folder = Folder::with(&[("main.tf", main.as_bytes()), ("containers/main.tf", module.as_bytes())]);
        let mut found = audit(&gather(&[folder.path("")], &mut std::io::empty()).material);
        found.retain(|finding| !is_of_every_definition(finding.rule.id));
        let sorted = |findings: &[audit::finding::Finding]| {
            let mut lines = shown(findings);
            lines.sort();
            lines
        };
        let literal = findings_in("main.tf", &Spelling::literal().resource(&definition).unwrap());
        count += 1;
        if sorted(&found) != sorted(&literal) {
            differences.push(format!("{base:?} {}: {:#?}", mutation.label(), shown(&found)));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
    assert!(count > 400, "{count}");
}

/// A chain of modules that is longer than any stack, each with the output of the next as its input.
#[test]
fn long_chains_of_outputs_end() {
    let call = |n: usize| format!("module \"c{n}\" {{\n  source = \"./c\"\n  on = module.c{}.on\n}}\n", n + 1);
    let main: String = (0..3000).map(call).collect();
    let folder = Folder::with(&[("main.tf", main.as_bytes()), (MODULE.0, MODULE.1.as_bytes())]);
    let gathered = gather(&[folder.path("")], &mut std::io::empty());
    assert_eq!((gathered.problems.len(), gathered.material.definitions.len()), (0, 0));
}

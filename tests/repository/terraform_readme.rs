//! deploy/terraform/README.md lists the inputs and outputs of the module. `UPDATE_DOCS=1` writes them.

use std::{env, fs};

use hcl_edit::{
    expr::Expression,
    structure::{Block, Body},
};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/terraform/README.md");
const VARIABLES: &str = include_str!("../../deploy/terraform/variables.tf");
const HASHICORP: &str = include_str!("../../deploy/terraform/hashicorp.tf");
const OUTPUTS: &str = include_str!("../../deploy/terraform/outputs.tf");
const START: &str = "<!-- written by make pages -->\n";
const END: &str = "<!-- end -->\n";

fn attribute<'a>(block: &'a Block, name: &str) -> Option<&'a Expression> {
    block.body.get_attribute(name).map(|attribute| &attribute.value)
}

/// An expression on one line, as a cell of a table.
fn cell(expression: &Expression) -> String {
    let text = expression.to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn description(block: &Block) -> String {
    let text = attribute(block, "description").and_then(Expression::as_str);
    text.unwrap_or_else(|| panic!("{:?} has no description", block.labels)).trim_end_matches('.').replace('|', "\\|")
}

fn input(block: &Block) -> String {
    let name = block.labels[0].as_str();
    let kind = attribute(block, "type").map(cell).unwrap_or_default();
    let default =
        attribute(block, "default").map_or_else(|| "required".to_owned(), |value| format!("`{}`", cell(value)));
    format!("| `{name}` | `{kind}` | {default} | {} |\n", description(block))
}

/// The variables of a file, a table for each of its groups.
fn inputs(text: &str) -> String {
    let groups = text.split("\n# ---- ").skip(1).map(|group| group.split_once('\n').expect("a title"));
    let tables = groups.map(|(title, variables)| {
        let body: Body = variables.parse().unwrap_or_else(|error| panic!("{title}: {error}"));
        let rows: String = body.get_blocks("variable").map(input).collect();
        format!("### {title}\n\n| input | type | default | meaning |\n| --- | --- | --- | --- |\n{rows}\n")
    });
    tables.collect()
}

fn lists() -> String {
    let ignored: Body = HASHICORP.parse().expect("HCL");
    let ignored: Vec<_> =
        ignored.get_blocks("variable").map(|block| format!("`{}`", block.labels[0].as_str())).collect();
    let outputs: Body = OUTPUTS.parse().expect("HCL");
    let outputs = outputs
        .get_blocks("output")
        .map(|block| format!("| `{}` | {} |\n", block.labels[0].as_str(), description(block)));
    format!(
        "\n## Inputs\n\n{}### Accepted from HashiCorp's module, and ignored\n\n{}\n\n## Outputs\n\n| output | meaning |\n| --- | --- |\n{}\n",
        inputs(VARIABLES),
        ignored.join(", "),
        outputs.collect::<String>(),
    )
}

#[test]
fn the_page_of_the_module_lists_its_inputs_and_outputs() {
    let page = fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(START).expect("where the lists begin");
    let (_, after) = rest.split_once(END).expect("where the lists end");
    let fresh = [before, START, &lists(), END, after].concat();
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(PAGE, fresh).unwrap();
    } else {
        assert!(page == fresh, "deploy/terraform/README.md is stale: run make pages");
    }
}

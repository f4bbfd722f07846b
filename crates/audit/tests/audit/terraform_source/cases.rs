//! What is read, what is unknown, and what is named, case by case.

use audit::audit;
use audit_read::{definition::TaskDefinition, input::gather};

use super::case::{
    Case,
    Then::{Found, Noted, Refused, Silent},
    check, folder, read, resource,
};
use crate::{folder::Folder, reading::ids};

#[rustfmt::skip]
const CASES: [Case; 51] = [
    ("jsonencode(@)", &[], Found("main.tf", 3)),
    ("(jsonencode((@)))", &[], Found("main.tf", 3)),
    ("jsonencode(local.all)", &[("l.tf", "locals {\n  all = @\n}")], Found("main.tf", 3)),
    ("local.all", &[("l.tf", "locals {\n  all = jsonencode(@)\n}")], Found("main.tf", 3)),
    ("jsonencode(var.all)", &[("v.tf", "variable \"all\" {\n  default = @\n}")], Found("main.tf", 3)),
    ("jsonencode(var.all)", &[("v.tf", "variable \"all\" {}"), ("terraform.tfvars", "all = @")], Found("main.tf", 3)),
    ("jsonencode(var.all)", &[("v.tf", "variable \"all\" {}"), ("x.auto.tfvars", "all = @")], Found("main.tf", 3)),
    ("jsonencode(var.all)", &[("v.tf", "variable \"all\" {}"), ("prod.tfvars", "all = @")], Noted("var.all has no value")),
    ("jsonencode(var.all)", &[("v.tf", "variable \"all\" {\n  sensitive = true\n  default = @\n}")], Noted("var.all is sensitive")),
    ("jsonencode(var.all)", &[], Noted("var.all is not declared")),
    ("jsonencode(local.all)", &[("l.tf", "locals {\n  all = local.other\n  other = local.all\n}")], Noted("cannot be evaluated")),
    ("jsonencode(concat(@, var.more))", &[("v.tf", "variable \"more\" {}")], Silent),
    ("jsonencode(true ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode(var.on ? @ : [])", &[("v.tf", "variable \"on\" {}")], Noted("var.on has no value")),
    ("jsonencode([for c in @ : merge(c, { essential = true })])", &[], Found("main.tf", 3)),
    ("jsonencode(flatten([@, []]))", &[], Found("main.tf", 3)),
    ("jsonencode(try(local.none.x, @))", &[("l.tf", "locals {\n  none = {}\n}")], Found("main.tf", 3)),
    ("jsonencode(values({ a = @[0] }))", &[], Found("main.tf", 3)),
    ("<<EOF\n${jsonencode(@)}\nEOF", &[], Found("main.tf", 4)),
    ("<<-EOF\n  [\n    {\n      \"name\": \"web\",\n      \"image\": \"x:1\",\n      \"dependsOn\": [{\"containerName\": \"db\", \"condition\": \"START\"}]\n    }\n  ]\n  EOF", &[], Found("main.tf", 8)),
    ("<<EOF\n[{\"name\": \"web\", \"image\": \"x:1\", \"dependsOn\": [{\"containerName\": \"%{ if true }db%{ endif }\", \"condition\": \"START\"}]}]\nEOF", &[], Found("main.tf", 4)),
    ("<<EOF\n[{\"name\": \"web\", ${var.more} \"image\": \"x:1\"}]\nEOF", &[("v.tf", "variable \"more\" {}")], Noted("var.more has no value")),
    ("<<EOF\n[{\"name\": nonsense}]\nEOF", &[], Refused("main.tf:4:11: aws_ecs_task_definition.web: container_definitions: not JSON")),
    ("file(\"${path.module}/web.json\")", &[("web.json", "[{\"name\": \"web\", \"image\": \"x:1\", \"dependsOn\": [{\"containerName\": \"db\", \"condition\": \"START\"}]}]")], Found("main.tf", 3)),
    ("file(\"web.json\")", &[], Noted("the file does not exist")),
    ("file(\"/etc/hostname\")", &[], Noted("outside the checked directories")),
    ("file(\"../../../../../../../../etc/hostname\")", &[], Noted("because the file")),
    ("templatefile(\"web.tpl\", { on = \"db\" })", &[("web.tpl", "[{\"name\": \"web\", \"image\": \"x:1\", \"dependsOn\": [{\"containerName\": \"${on}\", \"condition\": \"START\"}]}]")], Found("main.tf", 3)),
    ("templatefile(\"web.tpl\", { all = @ })", &[("web.tpl", "${jsonencode(all)}")], Found("main.tf", 3)),
    ("templatefile(\"web.tpl\", {})", &[("web.tpl", "[${nothing}")], Noted("its containers are not known")),
    ("templatefile(\"none.tpl\", { a = data.aws_region.here.name })", &[], Noted("because the file does not exist")),
    ("data.template_file.web.rendered", &[("d.tf", "data \"template_file\" \"web\" {\n  template = file(\"web.tpl\")\n  vars = { on = \"db\" }\n}"), ("web.tpl", "[{\"name\": \"web\", \"image\": \"x:1\", \"dependsOn\": [{\"containerName\": \"${on}\", \"condition\": \"START\"}]}]")], Found("main.tf", 3)),
    ("data.template_file.web.rendered", &[("d.tf", "data \"template_file\" \"web\" {\n  template = file(\"none.tpl\")\n}")], Noted("because the file does not exist")),
    ("data.template_file.web[0].rendered", &[("d.tf", "data \"template_file\" \"web\" {\n  count = 1\n  template = file(\"none.tpl\")\n}")], Noted("is known only to Terraform")),
    ("jsonencode(try(jsondecode(var.web.all), @))", &[("v.tf", "variable \"web\" {\n  type = object({ all = optional(string) })\n  default = {}\n}")], Found("main.tf", 3)),
    ("data.template_file.web.rendered", &[], Noted("data.template_file.web.rendered is known only to Terraform")),
    ("module.containers.json", &[], Noted("module.containers is not declared")),
    ("provider::example::containers()", &[], Noted("the function containers is not computed")),
    ("jsonencode(yamldecode(\"[]\"))", &[], Noted("the function yamldecode is not computed")),
    ("jsonencode({})", &[], Refused("containerDefinitions: a map where a list is expected")),
    ("jsonencode([{ name = 1 + \"x\" }])", &[], Noted("container_definitions cannot be evaluated")),
    ("jsonencode(@)\n  count = 0", &[], Silent),
    ("jsonencode(@)\n  count = 1", &[], Found("main.tf", 3)),
    ("jsonencode([{ name = each.key, image = \"x:1\", dependsOn = [{ containerName = each.value, condition = \"START\" }] }])\n  for_each = { web = \"db\" }", &[], Found("main.tf", 4)),
    ("jsonencode([{ name = each.key, image = \"x:1\", dependsOn = [{ containerName = each.value, condition = \"START\" }] }])\n  for_each = var.each", &[], Silent),
    ("jsonencode(@)", &[("broken.tf", "resource {{{")], Refused("broken.tf:1:11: not Terraform's language")),
    ("jsonencode([])", &[("main_override.tf", "resource \"aws_ecs_task_definition\" \"web\" {\n  container_definitions = jsonencode(@)\n}")], Found("main.tf", 1)),
    ("jsonencode([])", &[("main.tofu", "resource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = jsonencode(@)\n}")], Found("main.tofu", 3)),
    ("jsonencode([])", &[("t.tf.json", "{\"locals\": {\"on\": \"db\"}, \"resource\": {\"aws_ecs_task_definition\": {\"json\": {\"family\": \"json\",\n\"container_definitions\": \"${jsonencode([{name = \\\"a\\\", image = \\\"b:1\\\", dependsOn = [{containerName = local.on, condition = \\\"START\\\"}]}])}\"}}}}")], Found("t.tf.json", 2)),
    ("jsonencode([])", &[("t.tf.json", "{\"resource\": {\"aws_ecs_task_definition\": 7}, ")], Refused("t.tf.json:1:1: not JSON")),
    ("jsonencode(range(100000000)[*])", &[], Noted("its containers are not known")),
];

#[test]
fn every_case_is_judged_or_named() {
    check(&CASES);
}

#[test]
fn an_unreadable_file_does_not_hide_the_others() {
    let folder = folder("jsonencode(@)", &[("broken.tf", "variable \"x\" {")]);
    let gathered = read(&folder);
    assert_eq!(gathered.problems.len(), 1);
    assert_eq!(ids(&audit(&gathered.material)), ["ecs-dependency-unknown"]);
}

#[test]
fn directories_without_task_definitions_are_not_reported() {
    let folder = Folder::with(&[("vpc/main.tf", b"resource \"aws_vpc\" {"), ("notes.tf.json", b"[")]);
    let gathered = read(&folder);
    assert_eq!((gathered.problems.len(), gathered.unchecked.len(), gathered.material.definitions.len()), (0, 0, 0));
}

/// A directory with a module that is called twice.
fn called() -> Folder {
    let module = "variable \"on\" {}\nvariable \"name\" {}\n".to_owned()
        + &resource("jsonencode([{ name = var.name, image = \"x:1\", dependsOn = [{ containerName = var.on, condition = \"START\" }] }])")
            .replace("\"web\"\n", "var.name\n");
    let call = |name: &str, on: &str| {
        format!("module \"{name}\" {{\n  source = \"../modules/task\"\n  name = \"{name}\"\n  on = \"{on}\"\n}}\n")
    };
    let main = call("web", "db") + &call("worker", "worker");
    Folder::with(&[("prod/main.tf", main.as_bytes()), ("modules/task/main.tf", module.as_bytes())])
}

#[test]
fn a_module_is_checked_with_the_inputs_of_each_call() {
    let folder = called();
    let gathered = read(&folder);
    let mut addresses: Vec<&str> = gathered.material.definitions.iter().map(|one| one.address.as_str()).collect();
    addresses.sort_unstable();
    assert_eq!(addresses, ["module.web.aws_ecs_task_definition.web", "module.worker.aws_ecs_task_definition.web"]);
    let mut found: Vec<String> =
        audit(&gathered.material).iter().map(|finding| format!("{} {}", finding.subject, finding.rule.id)).collect();
    found.sort();
    assert_eq!(found, ["web ecs-dependency-unknown", "worker ecs-dependency-cycle"]);
}

#[test]
fn a_module_outside_of_what_is_checked_is_named() {
    let folder = called();
    let gathered = gather(&[folder.path("prod")], &mut std::io::empty());
    let notes: Vec<String> = gathered.unchecked.iter().map(ToString::to_string).collect();
    assert_eq!(notes.len(), 2, "{notes:#?}");
    assert!(notes[0].contains("prod/main.tf:1:8: module.web: its source ../modules/task is outside"), "{}", notes[0]);
}

/// What the task definitions of a call are called, and the notes about it.
fn of_call(arguments: &str) -> (Vec<String>, Vec<String>) {
    let folder = Folder::with(&[("main.tf", format!("module \"m\" {{\n{arguments}\n}}\n").as_bytes())]);
    let gathered = read(&folder);
    let notes = gathered.unchecked.iter().chain(&gathered.problems).map(|note| note.reason.clone());
    (gathered.material.definitions.iter().map(TaskDefinition::name).collect(), notes.collect())
}

#[test]
fn a_fork_is_judged_like_the_module_and_named() {
    for (source, module) in [
        ("source = \"git::https://git.example.com/net/consul-ecs.git//modules/gateway-task?ref=v0.9.0\"", "0.9.0"),
        ("source = \"github.com/acme/terraform-aws-consul-ecs//modules/mesh-task?ref=v0.8.1\"", "0.8.1"),
        ("source = \"acme/consul-ecs/aws//modules/mesh-task\"\n  version = \"~> 0.7.0\"", "0.7"),
    ] {
        let (names, notes) = of_call(&format!("  {source}\n  family = \"web\"\n  kind = \"mesh-gateway\""));
        assert_eq!(names, ["web"], "{source}");
        let expected = format!("it is a fork of HashiCorp's {module} and is checked as the original");
        assert!(notes.len() == 1 && notes[0].contains(&expected), "{notes:?}");
    }
    let (names, notes) = of_call("  source = \"acme/consul-ecs/aws//modules/controller\"\n  name_prefix = \"web\"");
    assert!(names.is_empty() && notes.len() == 1 && notes[0].contains("a fork of an unknown version"), "{notes:?}");
}

#[test]
fn modules_of_other_clouds_are_not_named() {
    for (source, is_named) in [
        ("terraform-google-modules/container-vm/google", false),
        ("Azure/avm-res-app-containerapp/azurerm", false),
        ("git::https://git.example.com/terraform-kubernetes-app.git?ref=v1", false),
        ("terraform-aws-modules/ecs/aws//modules/service", true),
        ("git::https://git.example.com/service.git", true),
    ] {
        let (_, notes) = of_call(&format!("  source = \"{source}\"\n  container = {{ image = \"web:1\" }}"));
        assert_eq!(!notes.is_empty(), is_named, "{source}: {notes:?}");
    }
}

#[test]
fn a_named_file_is_checked_with_what_its_directory_declares() {
    let folder = folder(
        "jsonencode(local.all)",
        &[
            ("l.tf", "locals {\n  all = @\n}\n"),
            (
                "other.tf",
                "resource \"aws_ecs_task_definition\" \"other\" {\n  family = \"other\"\n  container_definitions = jsonencode(@)\n}\n",
            ),
        ],
    );
    let gathered = gather(&[folder.path("main.tf")], &mut std::io::empty());
    assert_eq!(gathered.material.definitions.len(), 1);
    assert_eq!(ids(&audit(&gathered.material)), ["ecs-dependency-unknown"]);
}

#[test]
fn exponential_references_end() {
    let doubling: Vec<String> = (1..60).map(|n| format!("  l{n} = [local.l{}, local.l{}]\n", n - 1, n - 1)).collect();
    let doubling = doubling.concat();
    let wide = folder("jsonencode(local.l59)", &[("l.tf", &format!("locals {{\n  l0 = @\n{doubling}}}\n"))]);
    let gathered = read(&wide);
    assert!(gathered.problems.len() + gathered.unchecked.len() > 0);
    let chain: Vec<String> = (1..3000).map(|n| format!("  l{n} = [local.l{}]\n", n - 1)).collect();
    let chain = chain.concat();
    let deep = folder("jsonencode(local.l2999)", &[("l.tf", &format!("locals {{\n  l0 = 1\n{chain}}}\n"))]);
    assert_eq!(read(&deep).problems.len(), 1);
}

#[test]
fn the_provider_s_tags_count() {
    let tagged = |provider: &str| {
        let text = format!(
            "{provider}\nresource \"aws_ecs_task_definition\" \"web\" {{\n  family = \"web\"\n  tags = {{ a = \"b\" }}\n  container_definitions = \"[]\"\n}}\n"
        );
        let folder = Folder::with(&[("main.tf", text.as_bytes())]);
        let definitions = read(&folder).material.definitions;
        let tags = &definitions[0].tags;
        (tags.items.iter().filter_map(|tag| tag.key.text().map(str::to_owned)).collect::<Vec<_>>(), tags.is_complete)
    };
    let own = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    assert_eq!(tagged(""), (own(&["a"]), true));
    assert_eq!(tagged("provider \"aws\" {\n default_tags {\n tags = { c = \"d\" }\n }\n}"), (own(&["c", "a"]), true));
    assert_eq!(tagged("provider \"aws\" {\n default_tags {\n tags = var.tags\n }\n}"), (own(&["a"]), false));
}

#[test]
fn services_belong_to_the_definitions_that_they_run() {
    let text = resource("jsonencode([])")
        + "locals {\n  arn = aws_ecs_task_definition.web.arn\n}\nresource \"aws_ecs_service\" \"a\" {\n  task_definition = local.arn\n  launch_type = \"FARGATE\"\n}\nresource \"aws_ecs_service\" \"b\" {\n  task_definition = \"${aws_ecs_task_definition.web.family}:${aws_ecs_task_definition.web.revision}\"\n}\nresource \"aws_ecs_service\" \"c\" {\n  task_definition = var.other\n}\n";
    let folder = Folder::with(&[("main.tf", text.as_bytes())]);
    let definitions = read(&folder).material.definitions;
    let names: Vec<&str> = definitions[0].services.iter().map(|service| service.name.as_str()).collect();
    assert_eq!(names, ["aws_ecs_service.a", "aws_ecs_service.b"]);
    assert!(definitions[0].runs_on_fargate());
}

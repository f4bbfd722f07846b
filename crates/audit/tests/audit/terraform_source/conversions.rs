//! Conversions of values, sets, and values that may be equal: what Terraform makes of them, case by case.

use super::case::{
    Case,
    Then::{Found, Noted, Refused, Silent},
    check,
};

const MODE: &str = "jsonencode(var.mode == \"awsvpc\" ? @ : [])";
const VARIABLE: (&str, &str) =
    ("v.tf", "variable \"mode\" {\n  type = string\n  default = \"awsvpc\"\n  nullable = false\n}");
const IN_MODULE: (&str, &str) = (
    "m/main.tf",
    "variable \"mode\" {\n  type = string\n  default = \"awsvpc\"\n  nullable = false\n}\noutput \"all\" {\n  value = var.mode == \"awsvpc\" ? @ : []\n}",
);
const UNKNOWN: (&str, &str) = ("v.tf", "variable \"u\" {}\nvariable \"v\" {}");
const SETS: (&str, &str) = (
    "v.tf",
    "variable \"s\" {\n  type = set(string)\n  default = [\"b\", \"a\", \"a\"]\n}\nvariable \"n\" {\n  type = set(number)\n  default = [10, 9, 9]\n}\nvariable \"o\" {\n  type = set(object({ a = string }))\n  default = [{ a = \"x\" }, { a = \"b\" }]\n}\nvariable \"any\" {\n  type = list(any)\n  default = [\"1\", 1]\n}",
);

#[rustfmt::skip]
const CASES: &[Case] = &[
    (MODE, &[VARIABLE], Found("main.tf", 3)),
    (MODE, &[VARIABLE, ("terraform.tfvars", "mode = null")], Found("main.tf", 3)),
    (MODE, &[VARIABLE, ("terraform.tfvars", "mode = \"host\"")], Silent),
    (MODE, &[("v.tf", "variable \"mode\" {\n  default = \"awsvpc\"\n}"), ("terraform.tfvars", "mode = null")], Silent),
    ("jsonencode(module.m.all)", &[IN_MODULE, ("m.tf", "module \"m\" {\n  source = \"./m\"\n  mode = null\n}")], Found("main.tf", 3)),
    ("jsonencode(module.m.all)", &[IN_MODULE, ("m.tf", "module \"m\" {\n  source = \"./m\"\n  mode = \"host\"\n}")], Silent),

    ("jsonencode(sort([10, 9])[0] == \"10\" ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode(tolist([\"1\", 1])[1] == \"1\" ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode(tolist([2, 1])[1] == 1 ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode(tolist([var.u, 1])[1] == 1 ? [] : @)", &[UNKNOWN], Noted("its containers are not known")),
    ("jsonencode(tomap({ a = \"1\", b = 1 }).b == \"1\" ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode(length(toset([\"1\", 1])) == 1 ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode(length(setunion([\"1\"], [1])) == 1 ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode((true ? 1 : \"2\") == \"1\" ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode((true ? 1 : 2) == 1 ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode((true ? 1 : null) == 1 ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode((true ? 1 : var.u) == 1 ? [] : @)", &[UNKNOWN], Noted("its containers are not known")),
    ("jsonencode((true ? [1] : [\"2\", \"3\"])[0] == \"1\" ? [] : @)", &[], Noted("its containers are not known")),
    ("jsonencode((true ? [{ a = 1, b = \"x\" }] : [])[0].a == 1 ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode(length(range(3, 0)) == 3 ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode(length(range(-3)) == 3 ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode(range(5, 0, -2)[2] == 1 ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode(can(range(0, 3, -1)) ? [] : @)", &[], Found("main.tf", 3)),
    ("jsonencode(can(range(1025)) ? [] : @)", &[], Found("main.tf", 3)),

    ("jsonencode(length(var.s) == 2 ? @ : [])", &[SETS], Found("main.tf", 3)),
    ("jsonencode(tolist(var.s)[0] == \"a\" ? @ : [])", &[SETS], Found("main.tf", 3)),
    ("jsonencode(tolist(var.n)[0] == 9 ? @ : [])", &[SETS], Found("main.tf", 3)),
    ("jsonencode(tolist(toset([10, 9]))[1] == 10 ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode(tolist(toset([\"10\", 9]))[0] == \"10\" ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode(tolist(var.o)[0].a == \"x\" ? [] : @)", &[SETS], Noted("its containers are not known")),
    ("jsonencode(contains(var.o, { a = \"x\" }) ? @ : [])", &[SETS], Found("main.tf", 3)),
    ("jsonencode(var.any[1] == \"1\" ? @ : [])", &[SETS], Found("main.tf", 3)),
    ("jsonencode(var.l[1] == \"1\" && var.m.b == \"true\" ? @ : [])", &[("v.tf", "variable \"l\" {\n  type = list\n  default = [\"1\", 1]\n}\nvariable \"m\" {\n  type = map\n  default = { a = \"x\", b = true }\n}")], Found("main.tf", 3)),
    ("jsonencode(coalesce(null, 1, \"x\") == \"1\" ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode(coalesce(null, 1, 2) == 1 ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode(\"${1.0}-${-1.50}\" == \"1--1.5\" ? @ : [])", &[], Found("main.tf", 3)),

    ("jsonencode(length(compact([\"${var.u}${var.v}\"])) == 0 ? [] : @)", &[UNKNOWN], Noted("its containers are not known")),
    ("jsonencode(length(compact([\"x${var.u}\", \"\", null])) == 1 ? @ : [])", &[UNKNOWN], Found("main.tf", 3)),
    ("jsonencode(length(distinct([\"a\", \"a\", \"x${var.u}\"])) == 2 ? [] : @)", &[UNKNOWN], Noted("its containers are not known")),
    ("jsonencode(distinct([\"a\", \"a\", \"x${var.u}\"])[0] == \"a\" ? @ : [])", &[UNKNOWN], Found("main.tf", 3)),
    ("jsonencode(contains(toset([\"a\", var.u]), \"a\") ? @ : [])", &[UNKNOWN], Found("main.tf", 3)),
    ("jsonencode(length(distinct([\"1\", 1, 2])) == 2 ? @ : [])", &[], Found("main.tf", 3)),

    ("jsonencode(merge({ a = 1, b = 2 }, { a = 3 }) == { b = 2, a = 3 } ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode(length(join(\",\", [for i in range(60) : length(distinct(range(1000)))])) == 299 ? @ : [])", &[], Found("main.tf", 3)),
    ("jsonencode(join(\",\", [for i in range(1000) : length(distinct(range(1000)))]))", &[], Refused("its expressions produce too much")),
    ("jsonencode([for all in [range(1000)] : [for i in range(1000) : [for j in range(1000) : all[0]]]])", &[], Refused("its expressions produce too much")),
];

#[test]
fn every_conversion_is_terraform_s() {
    check(CASES);
}

#[test]
fn a_set_makes_an_instance_of_each_item() {
    let folder = super::case::folder("jsonencode(@)\n  for_each = var.s", &[SETS]);
    let definitions = super::case::read(&folder).material.definitions;
    let addresses: Vec<&str> = definitions.iter().map(|one| one.address.as_str()).collect();
    assert_eq!(addresses, ["aws_ecs_task_definition.web[\"a\"]", "aws_ecs_task_definition.web[\"b\"]"]);
}

/// Without an index of the keys, these maps take seconds.
#[test]
fn maps_of_many_keys_are_read() {
    let keys: Vec<String> = (0..15_000).map(|n| format!("    k{n} = 1\n")).collect();
    let keys = keys.concat();
    let locals = format!("locals {{\n  m = {{\n{keys}  }}\n}}\n");
    let containers = "jsonencode(length(merge(local.m, local.m)) == 15000 ? @ : [])";
    Found("main.tf", 3).is_what(&super::case::folder(containers, &[("l.tf", &locals)]), containers);
}

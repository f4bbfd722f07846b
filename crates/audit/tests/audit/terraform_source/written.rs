//! Task definitions written as Terraform sources and as a plan.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

/// How values are spelled: each choice is one of the spellings of the next value.
#[derive(Debug, Default)]
pub(crate) struct Spelling {
    choices: Vec<u8>,
    used: usize,
    /// What the choices declare outside of the resource.
    declared: String,
}

impl Spelling {
    /// Literals only.
    pub(crate) fn literal() -> Self {
        Self::default()
    }

    pub(crate) fn of(choices: Vec<u8>) -> Self {
        Self { choices, ..Self::default() }
    }

    fn choose(&mut self) -> u8 {
        if self.choices.is_empty() {
            return 0;
        }
        self.used += 1;
        self.choices[(self.used - 1) % self.choices.len()]
    }

    /// The value as an expression.
    pub(crate) fn expression(&mut self, value: &Value) -> String {
        let literal = self.literal_of(value);
        let number = self.used;
        match (self.choose(), value) {
            (1, _) => {
                let _ = write!(self.declared, "locals {{\n  l{number} = {literal}\n}}\n");
                format!("local.l{number}")
            }
            (2, _) if !literal.contains("local.") && !literal.contains("var.") => {
                let _ = write!(self.declared, "variable \"v{number}\" {{\n  default = {literal}\n}}\n");
                format!("var.v{number}")
            }
            (3, _) => format!("({literal})"),
            (4, _) => format!("true ? {literal} : null"),
            (5, _) => format!("try(null.missing, {literal})"),
            (6, Value::Array(_)) => format!("concat([], {literal}, [])"),
            (7, Value::Array(_)) => format!("[for item in {literal} : item]"),
            (6, Value::Object(_)) => format!("merge({{}}, {literal})"),
            (7, Value::Object(_)) => format!("{{ for key, value in {literal} : key => value }}"),
            (6, Value::String(_)) => format!("\"${{{literal}}}\""),
            (7, Value::String(_)) => format!("join(\"\", [{literal}])"),
            (6 | 7, Value::Number(_)) => format!("tonumber({literal})"),
            (8, _) => format!("{{ a = [{literal}] }}.a[0]"),
            (9, _) => format!("element([{literal}], 0)"),
            (10, _) => format!("lookup({{ k = {literal} }}, \"k\", null)"),
            (11, _) => format!("jsondecode(jsonencode({literal}))"),
            _ => literal,
        }
    }

    fn literal_of(&mut self, value: &Value) -> String {
        match value {
            Value::String(text) => quoted(text),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.expression(item)).collect();
                format!("[{}]", items.join(",\n"))
            }
            Value::Object(entries) => {
                let entries: Vec<String> = entries
                    .iter()
                    .map(|(key, value)| format!("{} = {}", quoted(key), self.expression(value)))
                    .collect();
                format!("{{\n{}\n}}", entries.join("\n"))
            }
            other => other.to_string(),
        }
    }

    /// The definition as a resource; `None` if Terraform cannot express it.
    pub(crate) fn resource(mut self, definition: &Value) -> Option<String> {
        let values = arguments(definition)?;
        let mut body = String::new();
        for (name, value) in &values {
            match (name.as_str(), value) {
                ("volume" | "proxy_configuration" | "runtime_platform", Value::Array(blocks)) => {
                    for block in blocks {
                        let _ = writeln!(body, "  {name} {{");
                        for (key, value) in block.as_object()? {
                            if let Value::Array(blocks) = value {
                                for inner in blocks {
                                    let _ = writeln!(body, "    {key} {{");
                                    for (key, value) in inner.as_object()? {
                                        let _ = writeln!(body, "      {key} = {}", self.expression(value));
                                    }
                                    body.push_str("    }\n");
                                }
                            } else {
                                let _ = writeln!(body, "    {key} = {}", self.expression(value));
                            }
                        }
                        body.push_str("  }\n");
                    }
                }
                ("container_definitions", Value::String(json)) => {
                    let containers: Value = serde_json::from_str(json).unwrap();
                    let _ = writeln!(body, "  {name} = jsonencode({})", self.expression(&containers));
                }
                _ => {
                    let _ = writeln!(body, "  {name} = {}", self.expression(value));
                }
            }
        }
        Some(format!("{}resource \"aws_ecs_task_definition\" \"task\" {{\n{body}}}\n", self.declared))
    }
}

/// A string literal.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace("${", "$${").replace("%{", "%%{")
}

/// The definition with its containers as JSON in a heredoc.
pub(crate) fn heredoc(definition: &Value) -> Option<String> {
    let mut values = arguments(definition)?;
    let containers = values.remove("container_definitions")?;
    let containers: Value = serde_json::from_str(containers.as_str()?).unwrap();
    let json = serde_json::to_string_pretty(&containers).unwrap().replace("${", "$${").replace("%{", "%%{");
    let json = json.lines().map(|line| ["    ", line, "\n"].concat()).collect::<String>();
    let rest = Spelling::literal().resource(&definition_without_containers(definition))?;
    let rest = rest
        .replace("container_definitions = jsonencode([])", &format!("container_definitions = <<-JSON\n{json}  JSON"));
    Some(rest)
}

/// The definition with its containers in the output of a module: the resource with the call, and the module.
pub(crate) fn in_module(definition: &Value) -> Option<(String, String)> {
    let containers = Spelling::literal().expression(definition.get("containerDefinitions")?);
    let resource = Spelling::literal().resource(&definition_without_containers(definition))?;
    let call = "module \"containers\" {\n  source = \"./containers\"\n}\n";
    let main = resource.replace("jsonencode([])", "jsonencode(module.containers.all)") + call;
    Some((main, format!("output \"all\" {{\n  value = {containers}\n}}\n")))
}

fn definition_without_containers(definition: &Value) -> Value {
    let mut definition = definition.clone();
    definition["containerDefinitions"] = json!([]);
    definition
}

/// The definition in Terraform's JSON notation.
pub(crate) fn json_source(definition: &Value) -> Option<String> {
    let values = escaped(&Value::Object(arguments(definition)?));
    let source = json!({ "resource": { "aws_ecs_task_definition": { "task": values } } });
    Some(serde_json::to_string_pretty(&source).unwrap())
}

/// The values of a source in Terraform's language in its JSON notation.
pub(crate) fn terraform_json(source: &Value) -> String {
    let mut source = source.clone();
    for task in source["resource"]["aws_ecs_task_definition"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        let task = task.as_object_mut().unwrap();
        let names: Vec<String> = task.keys().filter(|key| key.split('#').next() == Some("volume")).cloned().collect();
        let volumes: Vec<Value> = names.iter().filter_map(|name| task.remove(name)).collect();
        task.insert("volume".to_owned(), volumes.into());
        if let Some(containers) = task.get_mut("container_definitions") {
            *containers = containers.to_string().into();
        }
    }
    serde_json::to_string_pretty(&escaped(&source)).unwrap()
}

fn escaped(value: &Value) -> Value {
    match value {
        Value::String(text) => text.replace("${", "$${").replace("%{", "%%{").into(),
        Value::Array(items) => items.iter().map(escaped).collect(),
        Value::Object(entries) => entries.iter().map(|(key, value)| (key.clone(), escaped(value))).collect(),
        other => other.clone(),
    }
}

/// The definition as `terraform show -json` prints a plan.
pub(crate) fn plan(definition: &Value) -> Option<String> {
    let values = Value::Object(arguments(definition)?);
    let set: Map<String, Value> = values.as_object()?.keys().map(|key| (key.clone(), json!({}))).collect();
    let address = "aws_ecs_task_definition.task";
    let resource =
        json!({ "address": address, "mode": "managed", "type": "aws_ecs_task_definition", "values": values });
    let configured = json!({ "address": address, "expressions": set });
    let plan = json!({
        "format_version": "1.2",
        "planned_values": { "root_module": { "resources": [resource] } },
        "configuration": { "root_module": { "resources": [configured] } },
    });
    Some(serde_json::to_string_pretty(&plan).unwrap())
}

/// The arguments of the resource; `None` if Terraform cannot express them.
fn arguments(definition: &Value) -> Option<Map<String, Value>> {
    // What the provider or Terraform itself refuses, and what is not read.
    const OTHERS: [&str; 10] = [
        "containerDefinition",
        "desiredCount",
        "enableFaultInjection",
        "ephemeralStorage",
        "essential",
        "executionRole",
        "launchType",
        "registeredBy",
        "revision",
        "volume",
    ];
    if OTHERS.iter().any(|key| definition.get(key).is_some()) {
        return None;
    }
    let mut values = Map::new();
    for (ecs, own) in [
        ("family", "family"),
        ("cpu", "cpu"),
        ("memory", "memory"),
        ("pidMode", "pid_mode"),
        ("ipcMode", "ipc_mode"),
        ("networkMode", "network_mode"),
        ("requiresCompatibilities", "requires_compatibilities"),
        ("taskRoleArn", "task_role_arn"),
        ("executionRoleArn", "execution_role_arn"),
    ] {
        values.extend(definition.get(ecs).map(|value| (own.to_owned(), value.clone())));
    }
    if let Some(volumes) = definition.get("volumes") {
        let blocks: Option<Vec<Value>> = volumes.as_array()?.iter().map(volume).collect();
        values.insert("volume".to_owned(), blocks?.into());
    }
    if let Some(proxy) = definition.get("proxyConfiguration") {
        let mut block = Map::new();
        block.extend(proxy.get("type").map(|value| ("type".to_owned(), value.clone())));
        block.extend(proxy.get("containerName").map(|value| ("container_name".to_owned(), value.clone())));
        if let Some(properties) = proxy.get("properties") {
            block.insert("properties".to_owned(), mapped(properties, "name")?);
        }
        values.insert("proxy_configuration".to_owned(), json!([block]));
    }
    if let Some(platform) = definition.get("runtimePlatform") {
        let names = [("operatingSystemFamily", "operating_system_family"), ("cpuArchitecture", "cpu_architecture")];
        let known = names.iter().filter_map(|(ecs, own)| Some(((*own).to_owned(), platform.get(ecs)?.clone())));
        let block: Map<String, Value> = known.collect();
        values.insert("runtime_platform".to_owned(), json!([block]));
    }
    if let Some(tags) = definition.get("tags") {
        values.insert("tags".to_owned(), mapped(tags, "key")?);
    }
    let containers = definition.get("containerDefinitions")?;
    values.insert("container_definitions".to_owned(), containers.to_string().into());
    Some(values)
}

/// The arguments and blocks of a volume.
fn volume(volume: &Value) -> Option<Value> {
    let mut block = Map::new();
    for (key, value) in volume.as_object()? {
        match key.as_str() {
            "efsVolumeConfiguration" => {
                let mut efs = json!({ "file_system_id": value.get("fileSystemId")? });
                for key in value.as_object()?.keys() {
                    match key.as_str() {
                        "fileSystemId" => {}
                        "transitEncryption" => efs["transit_encryption"] = value[key].clone(),
                        _ => return None,
                    }
                }
                block.insert("efs_volume_configuration".to_owned(), json!([efs]));
            }
            "dockerVolumeConfiguration" => {
                block.insert("docker_volume_configuration".to_owned(), json!([value]));
            }
            "host" => block.extend(value.get("sourcePath").map(|path| ("host_path".to_owned(), path.clone()))),
            "configuredAtLaunch" => block.extend([("configure_at_launch".to_owned(), value.clone())]),
            _ => block.extend([(key.clone(), value.clone())]),
        }
    }
    Some(block.into())
}

fn mapped(list: &Value, key: &str) -> Option<Value> {
    let pairs = list.as_array()?.iter().map(|item| {
        let (key, value) = (item.get(key)?.as_str()?, item.get("value")?);
        Some((key.to_owned(), value.clone()))
    });
    let pairs: Vec<(String, Value)> = pairs.collect::<Option<_>>()?;
    let map: Map<String, Value> = pairs.iter().cloned().collect();
    (map.len() == pairs.len()).then_some(Value::Object(map))
}

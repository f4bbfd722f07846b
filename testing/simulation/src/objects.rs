//! Simulated Consul: the objects of the bootstrap, as measured on real servers. A policy or role with a name in use is refused, an auth
//! method is overwritten, and a binding rule is added. None has check-and-set: the later of two writes undoes the earlier one.

use consul::{Fields, Object, ObjectKind};
use mesh::tenancy::{Tenancy, TenancyName};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{consul::Consul, dialect::Answer, world::World};

/// The accessor ID of the anonymous token.
pub(crate) const ANONYMOUS: &str = "00000000-0000-0000-0000-000000000002";

/// An object as Consul's state holds it. Nodes are in the catalog instead.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredObject {
    pub kind: ObjectKind,
    pub tenancy: Tenancy,
    /// The fields as they are read.
    pub fields: Fields,
}

impl StoredObject {
    /// A text field.
    pub fn text(&self, field: &str) -> &str {
        self.fields.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// The name, unique among its kind and partition; of a binding rule its ID.
    pub fn name(&self) -> &str {
        self.text(match self.kind {
            ObjectKind::BindingRule => "ID",
            ObjectKind::AnonymousToken => "AccessorID",
            _ => "Name",
        })
    }

    fn is_at(&self, kind: ObjectKind, tenancy: &Tenancy, name: &str) -> bool {
        self.kind == kind && self.name() == name && self.tenancy.home() == tenancy.home()
    }
}

/// The links of an object to policies.
fn policy_links(kind: ObjectKind, fields: &mut Fields) -> Option<&mut Vec<Value>> {
    let links = match kind {
        ObjectKind::Namespace => fields.get_mut("ACLs")?.get_mut("PolicyDefaults")?,
        _ => fields.get_mut("Policies")?,
    };
    links.as_array_mut()
}

impl Consul {
    fn position(&self, kind: ObjectKind, tenancy: &Tenancy, name: &str) -> Option<usize> {
        self.objects.iter().position(|object| object.is_at(kind, tenancy, name))
    }

    /// The object of this kind and name.
    pub fn object(&self, kind: ObjectKind, tenancy: &Tenancy, name: &str) -> Option<&StoredObject> {
        self.position(kind, tenancy, name).map(|index| &self.objects[index])
    }

    /// All objects of a kind.
    pub fn objects_of(&self, kind: ObjectKind) -> impl Iterator<Item = &StoredObject> {
        self.objects.iter().filter(move |object| object.kind == kind)
    }

    /// Removes an object if it exists: with a policy every link to it, with an auth method its binding rules and its tokens, and with a
    /// partition what is in it.
    pub fn remove_object(&mut self, kind: ObjectKind, tenancy: &Tenancy, name: &str) -> bool {
        let Some(index) = self.position(kind, tenancy, name) else { return false };
        let gone = self.objects.remove(index);
        match kind {
            ObjectKind::Policy => {
                for object in &mut self.objects {
                    if let Some(links) = policy_links(object.kind, &mut object.fields) {
                        links.retain(|link| link["ID"] != gone.text("ID"));
                    }
                }
            }
            ObjectKind::AuthMethod => {
                self.objects.retain(|it| it.kind != ObjectKind::BindingRule || it.text("AuthMethod") != name);
                self.tokens.retain(|token| token.auth_method.as_deref() != Some(name));
            }
            ObjectKind::Partition => {
                self.objects.retain(|it| it.tenancy.partition().is_none_or(|partition| partition.as_str() != name));
            }
            _ => {}
        }
        true
    }

    /// From now on, refuses to write the object with this name.
    pub fn refuse(&mut self, name: &str, status: u16, text: &str) {
        self.refused.insert(name.to_owned(), Answer { status, text: text.to_owned() });
    }

    /// Replaces each link to a policy, by its ID or name, by one with both.
    fn resolve(&self, links: &mut [Value], tenancy: &Tenancy) -> Result<(), Answer> {
        for link in links {
            let by = if link["ID"].is_string() { "ID" } else { "Name" };
            let wanted = link[by].as_str().unwrap_or_default().to_owned();
            let mut policies = self.objects_of(ObjectKind::Policy).filter(|it| it.tenancy.home() == tenancy.home());
            let policy = policies.find(|policy| policy.text(by) == wanted);
            let policy = policy.ok_or_else(|| Answer::no_policy_to_link(&wanted))?;
            *link = json!({ "ID": policy.text("ID"), "Name": policy.text("Name") });
        }
        Ok(())
    }
}

impl World {
    /// Creates what every Consul has, and in Enterprise the partition of the tasks.
    pub(crate) fn create_built_in_objects(&mut self) {
        let (tenancy, fields) = (self.tenancy.clone(), |fields: Value| fields.as_object().cloned().unwrap());
        let anonymous = json!({ "AccessorID": ANONYMOUS, "SecretID": "anonymous", "Description": "Anonymous Token" });
        let home = if tenancy == Tenancy::Community { Tenancy::Community } else { Tenancy::of_default_partition() };
        let anonymous = StoredObject { kind: ObjectKind::AnonymousToken, tenancy: home, fields: fields(anonymous) };
        self.consul.objects.push(anonymous);
        if let Some(partition) = tenancy.partition() {
            self.create_partition(partition);
        }
    }

    /// Creates a partition with its namespace `default` (Enterprise).
    pub fn create_partition(&mut self, partition: &TenancyName) {
        let named = |name: &str| json!({ "Name": name }).as_object().cloned().unwrap();
        let tenancy = Tenancy::default_namespace_of(partition.clone());
        self.consul.objects.extend([
            StoredObject {
                kind: ObjectKind::Partition,
                tenancy: Tenancy::Community,
                fields: named(partition.as_str()),
            },
            StoredObject { kind: ObjectKind::Namespace, tenancy, fields: named("default") },
        ]);
    }

    /// The admin partitions (Enterprise).
    pub(crate) fn partitions(&self) -> Result<Vec<TenancyName>, Answer> {
        self.check_edition(ObjectKind::Partition)?;
        Ok(self.consul.objects_of(ObjectKind::Partition).map(|it| it.name().parse().unwrap()).collect())
    }

    /// The namespaces of a partition, except those in deletion (Enterprise).
    pub(crate) fn namespaces(&self, partition: &TenancyName) -> Result<Vec<TenancyName>, Answer> {
        self.check_edition(ObjectKind::Namespace)?;
        let all = self.consul.objects_of(ObjectKind::Namespace).filter(|it| it.tenancy.partition() == Some(partition));
        let remaining = all.filter(|namespace| !namespace.fields.contains_key("DeletedAt"));
        Ok(remaining.map(|namespace| namespace.name().parse().unwrap()).collect())
    }

    /// The object that Consul has under the name.
    pub(crate) fn object(&self, wanted: &Object) -> Result<Fields, Answer> {
        self.check_edition(wanted.kind)?;
        let known = self.consul.object(wanted.kind, &wanted.tenancy, &wanted.name);
        known.map(|object| object.fields.clone()).ok_or_else(|| self.scenario.dialect.no_object(wanted.kind))
    }

    /// The binding rules of an auth method.
    pub(crate) fn binding_rules(&self, method: &str) -> Vec<Fields> {
        let rules = self.consul.objects_of(ObjectKind::BindingRule).filter(|rule| rule.text("AuthMethod") == method);
        rules.map(|rule| rule.fields.clone()).collect()
    }

    /// The node with this name in any case, without its services.
    pub(crate) fn bare_node(&self, name: &str) -> Option<Fields> {
        let name = self.consul.nodes.iter().find(|node| node.eq_ignore_ascii_case(name))?;
        let node = json!({ "Node": name, "Address": "127.0.0.1", "Meta": { "synthetic-node": "true" } });
        node.as_object().cloned()
    }

    pub(crate) fn create_object(&mut self, object: &Object, body: &Fields) -> Result<Fields, Answer> {
        let known = self.consul.position(object.kind, &object.tenancy, &object.name);
        if known.is_some() && matches!(object.kind, ObjectKind::Policy | ObjectKind::Role) {
            return Err(Answer::name_in_use(object.kind, &object.name));
        }
        self.write_object(known, object, body)
    }

    /// Replaces the fields of an object. A role is addressed by its ID, which has to exist.
    pub(crate) fn update_object(&mut self, object: &Object, body: &Fields) -> Result<Fields, Answer> {
        let mut known = self.consul.position(object.kind, &object.tenancy, &object.name);
        if object.kind == ObjectKind::Role {
            let id = body.get("ID").and_then(Value::as_str).unwrap_or_default();
            known = known.filter(|index| self.consul.objects[*index].text("ID") == id);
            known.ok_or_else(|| Answer::no_role_to_update(id))?;
        }
        self.write_object(known, object, body)
    }

    fn write_object(&mut self, known: Option<usize>, object: &Object, body: &Fields) -> Result<Fields, Answer> {
        self.check_edition(object.kind)?;
        self.check_body(object, body)?;
        let mut fields = body.clone();
        if let Some(links) = policy_links(object.kind, &mut fields) {
            self.consul.resolve(links, &object.tenancy)?;
        }
        self.consul.index += 1;
        let index = self.consul.index;
        let before = known.map(|known| &self.consul.objects[known].fields);
        if matches!(object.kind, ObjectKind::Policy | ObjectKind::Role | ObjectKind::BindingRule) {
            let id = before.map_or_else(|| json!(Uuid::from_u128(index.into()).to_string()), |it| it["ID"].clone());
            fields.insert("ID".to_owned(), id);
        }
        let created = before.and_then(|it| it.get("CreateIndex").cloned()).unwrap_or_else(|| json!(index));
        fields.insert("CreateIndex".to_owned(), created);
        fields.insert("ModifyIndex".to_owned(), json!(index));
        let (kind, tenancy) = (object.kind, object.tenancy.clone());
        match (kind, known) {
            (ObjectKind::SyntheticNode, _) => {
                self.consul.nodes.insert(object.name.clone());
            }
            (ObjectKind::Partition, None) => self.create_partition(&object.name.parse().unwrap()),
            (_, Some(known)) => self.consul.objects[known].fields.clone_from(&fields),
            (_, None) => self.consul.objects.push(StoredObject { kind, tenancy, fields: fields.clone() }),
        }
        Ok(fields)
    }

    /// Only Enterprise has partitions and namespaces.
    fn check_edition(&self, kind: ObjectKind) -> Result<(), Answer> {
        let is_of_enterprise = matches!(kind, ObjectKind::Partition | ObjectKind::Namespace);
        if is_of_enterprise && self.tenancy == Tenancy::Community {
            return Err(self.scenario.dialect.no_partitions());
        }
        Ok(())
    }

    /// What Consul checks in the fields of an object.
    fn check_body(&self, object: &Object, body: &Fields) -> Result<(), Answer> {
        if let Some(refusal) = self.consul.refused.get(&object.name) {
            return Err(refusal.clone());
        }
        let text = |field: &str| body.get(field).and_then(Value::as_str).unwrap_or_default();
        match object.kind {
            ObjectKind::AuthMethod => self.scenario.dialect.check_method_type(text("Type")),
            ObjectKind::BindingRule => {
                let method = text("AuthMethod");
                let known = self.consul.object(ObjectKind::AuthMethod, &object.tenancy, method);
                known.map(drop).ok_or_else(|| Answer::no_method_to_bind(method))
            }
            _ => Ok(()),
        }
    }
}

//! Tags and roles: the identity of a task in the mesh.

mod family_name;
mod mesh_tag_alone;
mod mesh_tag_missing;
mod mesh_tag_value;
mod not_propagated;
mod service_name_case;
mod service_name_tag;
mod task_role_shared;
mod tenancy_tags;
mod tenancy_tags_match;

use crate::rule::Rule;

pub(in crate::rules) static RULES: &[&Rule] = &[
    &mesh_tag_missing::RULE,
    &mesh_tag_alone::RULE,
    &mesh_tag_value::RULE,
    &tenancy_tags::RULE,
    &tenancy_tags_match::RULE,
    &service_name_tag::RULE,
    &service_name_case::RULE,
    &family_name::RULE,
    &not_propagated::RULE,
    &task_role_shared::RULE,
];

use petgraph::{
    algo::tarjan_scc,
    graph::{DiGraph, NodeIndex},
};

use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ecs-dependency-cycle",
    summary: "no container waits, over others or directly, for itself",
    severity: Severity::Error,
    applies: Applies::EveryTask,
    effect: "ECS refuses to register the definition, as none of these containers could ever start",
    explanation: "\
`dependsOn` orders the start of a task's containers, and in reverse their stop. Containers that wait for each other in a circle \
have no first one: ECS finds the circle at registration and answers with a `ClientException`. Mostly one of the arrows was \
meant the other way round.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDependency.html"],
    examples: &[
        Example {
            base: Base::Plain,
            given: &[],
            at: "containerDefinitions[cache].dependsOn",
            fails: Some(r#"[{ "containerName": "report", "condition": "START" }]"#),
            repaired: Some(r#"[{ "containerName": "migrate", "condition": "SUCCESS" }]"#),
        },
        Example {
            base: Base::Plain,
            given: &[],
            at: "containerDefinitions[cache].dependsOn",
            fails: Some(r#"[{ "containerName": "cache", "condition": "START" }]"#),
            repaired: Some("[]"),
        },
    ],
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let graph = graph_of(&subject.definition.containers.items);
    let mut circles: Vec<Vec<NodeIndex>> = tarjan_scc(&graph);
    circles.sort();
    for way in circles.iter().filter_map(|circle| way_round(&graph, circle)) {
        report(&way, findings);
    }
}

type Graph<'d> = DiGraph<&'d Container, ()>;

/// An arrow from each container to what it waits for.
fn graph_of(containers: &[Container]) -> Graph<'_> {
    let mut graph = DiGraph::new();
    let nodes: Vec<(NodeIndex, &Container)> = containers.iter().map(|it| (graph.add_node(it), it)).collect();
    for (from, container) in &nodes {
        for name in container.depends_on.items.iter().filter_map(|dependency| dependency.container.text()) {
            if let Some((to, _)) = nodes.iter().find(|(_, other)| other.is_called(name)) {
                graph.add_edge(*from, *to, ());
            }
        }
    }
    graph
}

/// The shortest way from the first container of a circle back to it. None where the circle is one container that does
/// not wait for itself.
fn way_round<'d>(graph: &Graph<'d>, circle: &[NodeIndex]) -> Option<Vec<&'d Container>> {
    let first = circle.iter().copied().min()?;
    let mut ways = vec![vec![first]];
    let mut next = 0;
    while let Some(way) = ways.get(next).cloned() {
        next += 1;
        for to in graph.neighbors(*way.last()?) {
            if to == first {
                return Some(way.iter().filter_map(|node| graph.node_weight(*node).copied()).collect());
            }
            if circle.contains(&to) && !ways.iter().any(|known| known.last() == Some(&to)) {
                ways.push(way.iter().copied().chain([to]).collect());
            }
        }
    }
    None
}

fn report(way: &[&Container], findings: &mut Findings) {
    let names: Vec<String> = way.iter().map(|container| container.label()).collect();
    let (Some(first), Some(name)) = (way.first(), names.first()) else { return };
    let after = names.get(1).unwrap_or(name);
    let edge = first.depends_on.items.iter().find(|dependency| dependency.container.text() == Some(after));
    let span = edge.map_or(first.span(), |dependency| dependency.place.span);
    let message = match names.as_slice() {
        [alone] => format!("{alone} waits for itself"),
        several => format!("these containers wait for each other: {} → {name}", several.join(" → ")),
    };
    findings.add(Draft::new(span, message, "take one of these dependencies away").of(first));
}

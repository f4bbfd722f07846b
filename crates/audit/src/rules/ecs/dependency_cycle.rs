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
    summary: "no container waits for itself, directly or indirectly",
    severity: Severity::Error,
    applies: Applies::EveryTask,
    is_fixable: false,
    effect: "ECS refuses to register the definition, because none of these containers could start",
    explanation: "\
`dependsOn` determines the order in which a task's containers start, and the reverse order in which they stop. \
Containers that wait for each other in a cycle have no first one: ECS finds the cycle at registration and returns a \
`ClientException`. Usually one of the dependencies has the wrong direction.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDependency.html"],
    example: Some(Example {
        base: Base::Plain,
        given: &[],
        at: "containerDefinitions[cache].dependsOn",
        fails: Some(r#"[{ "containerName": "report", "condition": "START" }]"#),
        repaired: Some(r#"[{ "containerName": "migrate", "condition": "SUCCESS" }]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let graph = graph_of(&subject.definition.containers.items);
    let mut groups: Vec<Vec<NodeIndex>> = tarjan_scc(&graph);
    groups.sort();
    for cycle in groups.iter().filter_map(|group| shortest_cycle(&graph, group)) {
        report(&cycle, findings);
    }
}

type Graph<'d> = DiGraph<&'d Container, ()>;

/// A graph of the dependencies.
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

/// The shortest cycle through its first container. `None` if the group is a single container that does not wait for
/// itself.
fn shortest_cycle<'d>(graph: &Graph<'d>, group: &[NodeIndex]) -> Option<Vec<&'d Container>> {
    let first = group.iter().copied().min()?;
    let mut paths = vec![vec![first]];
    let mut next = 0;
    while let Some(path) = paths.get(next).cloned() {
        next += 1;
        for to in graph.neighbors(*path.last()?) {
            if to == first {
                return Some(path.iter().filter_map(|node| graph.node_weight(*node).copied()).collect());
            }
            if group.contains(&to) && !paths.iter().any(|known| known.last() == Some(&to)) {
                paths.push(path.iter().copied().chain([to]).collect());
            }
        }
    }
    None
}

fn report(cycle: &[&Container], findings: &mut Findings) {
    let names: Vec<String> = cycle.iter().map(|container| container.label()).collect();
    let (Some(first), Some(name)) = (cycle.first(), names.first()) else { return };
    let after = names.get(1).unwrap_or(name);
    let edge = first.depends_on.items.iter().find(|dependency| dependency.container.text() == Some(after));
    let span = edge.map_or(first.span(), |dependency| dependency.place.span);
    let message = match names.as_slice() {
        [alone] => format!("{alone} waits for itself"),
        several => format!("these containers wait for each other: {} → {name}", several.join(" → ")),
    };
    findings.add(Draft::new(span, message, "remove one of these dependencies").of(first));
}

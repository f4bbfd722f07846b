use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{Subject, workloads},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-app-essential",
    summary: "a service's task has an app, and the app is essential",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "ECS refuses a definition without an essential container; if only a helper is essential, the task keeps running without its app",
    explanation: "\
The mesh's containers are not essential, so that the app determines when the task stops. ECS requires one essential \
container in each definition. The proxy also waits for the app's containers: when a task stops, it runs until they \
have stopped. Only gateways have tasks without an app.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html"],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[web].essential",
        fails: Some("false"),
        repaired: Some("true"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    if !consul.is_service() || !consul.is_complete {
        return;
    }
    let workloads = workloads(&consul.apps);
    // A container of unknown kind may be the log router.
    let unclear = consul.apps.iter().copied().filter(|app| app.fire_lens.is_unknown());
    if workloads.iter().copied().chain(unclear).any(|app| app.is_essential() != Some(false)) {
        return;
    }
    let help = "set essential to true for the service's container";
    match workloads.as_slice() {
        [] => findings.add(Draft::new(
            subject.definition.span(),
            "the service's task has only containers of the mesh",
            "add the app's container",
        )),
        [app] => {
            let essential = &app.essential;
            let message = format!("{} is the app, but not essential", app.label());
            let fix = Fix::set(&essential.place, true);
            findings.add(Draft::new(essential.span(), message, help).of(app).fix(fix));
        }
        [first, ..] => {
            let names: Vec<String> = workloads.iter().copied().map(Container::label).collect();
            let message = format!("none of the app's containers is essential: {}", names.join(", "));
            findings.add(Draft::new(first.essential.span(), message, help));
        }
    }
}

use crate::{
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Subject, line_of},
    versions::{Line, Program, consul_of, has_ended, table},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-end-of-support",
    summary: "the releases of the mesh's programs are supported",
    severity: Severity::Info,
    applies: Applies::ConsulAndController,
    is_fixable: false,
    effect: "defects and vulnerabilities of the release are no longer corrected",
    explanation: "\
HashiCorp maintains a release of Consul Enterprise for about a year, an LTS release for two; of Community Edition, only \
the newest. The support of consul-ecs and Consul Dataplane counts as ended if that of every Consul that they go with has \
ended. The rule compares with the day of its table, which is in `docs/support.md`, not with the date of the check, so that the \
result is the same on every day. `ecs-mesh inventory --target-consul VERSION` says what blocks an update.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/upgrade/lts",
        "https://developer.hashicorp.com/consul/docs/upgrade/ecs",
    ],
    example: None,
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let mut ended = subject.containers_of_consul().into_iter().filter_map(|container| {
        let (program, line) = line_of(container)?;
        has_ended(program, line)?.then_some((container, program, line))
    });
    let Some((container, program, line)) = ended.next() else { return };
    let day = &table().as_of;
    let message = match program {
        Program::Consul => format!("the support of Consul {line} has ended (as of {day})"),
        _ => format!("{program} {line} goes with {}, whose support has ended (as of {day})", servers(program, line)),
    };
    let help = "plan the update: ecs-mesh inventory --target-consul VERSION says what blocks it, and which releases go with it";
    let draft = Draft::new(container.image.span(), message, help).of(container);
    findings.add(ended.fold(draft, |mut draft, (other, ..)| {
        draft.add_note_elsewhere(other.image.span(), "this image as well");
        draft
    }));
}

fn servers(program: Program, line: Line) -> String {
    let lines: Vec<String> =
        consul_of(program, line).unwrap_or_default().iter().map(|line| format!("Consul {line}")).collect();
    lines.join(" and ")
}

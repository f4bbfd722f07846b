//! The answer to `path`, for people: place by place, or a line for each destination or caller.

use audit::report::clean;
use diagnosis::{Passage, PathLine, PathReport, PlaceVerdict, ServicePath};

use crate::sheet::{Cell, Medium, Sheet, Tone, wrapped};

pub(super) fn text(report: &PathReport, medium: Medium) -> String {
    if let Some(callers) = &report.callers {
        let mut sheet = Sheet::new(&["source", "may call", "by"]);
        for caller in callers {
            sheet.add([&caller.source, &caller.action, &caller.intention].map(Cell::plain).to_vec());
        }
        return sheet.text(medium);
    }
    match report.paths.as_slice() {
        // The errors say why.
        [] if !report.problems.is_empty() => String::new(),
        [] => "No destination: it has no upstream, and no intention names it as a source. To ask about one: ecs-mesh path \
               SOURCE DESTINATION\n"
            .to_owned(),
        [path] => one(path, medium),
        several => each(several, medium),
    }
}

/// A path, place by place. Its last sentence says what stops the request.
fn one(path: &ServicePath, medium: Medium) -> String {
    let mut sheet = Sheet::new(&["place", "verdict", "what"]);
    for line in &path.lines {
        let verdict = Cell::new(line.verdict.as_str(), tone(line.verdict));
        sheet.add(vec![Cell::plain(line.place.as_str()), verdict, Cell::plain(line.what.as_str())]);
    }
    let conclusion = wrapped(&Cell::new(path.conclusion.as_str(), tone_of(path.passage)), medium);
    format!("{}\n{}{conclusion}", sheet.text(medium), commands(&path.lines))
}

/// What to change, with the commands of the lines that need one, ready to copy, and where to read on. What says nothing of it has no
/// heading.
fn commands(lines: &[PathLine]) -> String {
    let wanted = lines.iter().filter(|line| !matches!(line.verdict, PlaceVerdict::Ok | PlaceVerdict::NotNeeded));
    let shown = wanted.filter_map(|line| {
        let change = line.change.iter().map(|change| format!("  {}\n", clean(change)));
        let lacking =
            line.missing_permission.iter().map(|permission| format!("  missing permission: {}\n", clean(permission)));
        let commands = line.commands.iter().map(|command| format!("  {}\n", clean(command)));
        let below: String = change.chain(lacking).chain(commands).collect();
        (!below.is_empty()).then(|| format!("{} ({}):\n{below}", line.place.as_str(), line.page))
    });
    let shown: String = shown.collect();
    if shown.is_empty() { shown } else { shown + "\n" }
}

/// A line for each destination.
fn each(paths: &[ServicePath], medium: Medium) -> String {
    let mut sheet = Sheet::new(&["destination", "request", "what"]);
    for path in paths {
        let word = match path.passage {
            Passage::Open => "passes",
            Passage::Blocked => "fails",
            Passage::Unknown => "unknown",
        };
        sheet.add(vec![
            Cell::plain(path.destination.service.as_str()),
            Cell::new(word, tone_of(path.passage)),
            Cell::plain(path.conclusion.as_str()),
        ]);
    }
    sheet.text(medium)
}

fn tone(verdict: PlaceVerdict) -> Tone {
    match verdict {
        PlaceVerdict::Ok => Tone::Good,
        PlaceVerdict::Fault => Tone::Bad,
        PlaceVerdict::Possible | PlaceVerdict::Unknown => Tone::Pending,
        PlaceVerdict::NotNeeded => Tone::Faint,
    }
}

fn tone_of(passage: Passage) -> Tone {
    match passage {
        Passage::Open => Tone::Good,
        Passage::Blocked => Tone::Bad,
        Passage::Unknown => Tone::Pending,
    }
}

#[cfg(test)]
mod tests {
    use diagnosis::{Caller, PathEnd, Place};

    use super::*;

    fn end(service: &str) -> PathEnd {
        PathEnd { service: service.to_owned(), partition: None, namespace: None, datacenter: None, peer: None }
    }

    fn line(place: Place, verdict: PlaceVerdict, what: &str, command: Option<&str>) -> PathLine {
        PathLine {
            place,
            verdict,
            what: what.to_owned(),
            change: None,
            commands: command.map(str::to_owned).into_iter().collect(),
            missing_permission: (verdict == PlaceVerdict::Unknown).then(|| "ec2:DescribeNetworkAcls".to_owned()),
            page: format!("path.md#{}", place.as_str()),
            is_unread: verdict == PlaceVerdict::Unknown,
        }
    }

    fn denied() -> ServicePath {
        let command = "consul intention create -allow web api";
        ServicePath {
            source: end("web"),
            destination: end("api"),
            request: None,
            lines: vec![
                line(Place::Name, PlaceVerdict::Ok, "api (tcp) means api", None),
                line(Place::Permission, PlaceVerdict::Fault, "web → api: intention web → api denies it", Some(command)),
                PathLine {
                    change: Some("Read it by hand".to_owned()),
                    ..line(Place::Network, PlaceVerdict::Unknown, "could not be read", None)
                },
            ],
            passage: Passage::Blocked,
            conclusion: "Requests from web to api fail: web → api: intention web → api denies it".to_owned(),
        }
    }

    fn report(paths: Vec<ServicePath>, callers: Option<Vec<Caller>>) -> PathReport {
        PathReport { read_at: "2026-11-23T11:40:02Z".parse().unwrap(), paths, callers, problems: Vec::new() }
    }

    fn shown(report: &PathReport) -> String {
        text(report, Medium { width: None, in_colour: false })
    }

    #[test]
    fn path_is_shown_place_by_place_with_commands_to_copy_and_the_sentence_last() {
        let expected = "place       verdict  what\n\
            name        ok       api (tcp) means api\n\
            permission  fault    web → api: intention web → api denies it\n\
            network     unknown  could not be read\n\n\
            permission (path.md#permission):\n\
            \x20 consul intention create -allow web api\n\
            network (path.md#network):\n\
            \x20 Read it by hand\n\
            \x20 missing permission: ec2:DescribeNetworkAcls\n\n\
            Requests from web to api fail: web → api: intention web → api denies it\n";
        assert_eq!(shown(&report(vec![denied()], None)), expected);
    }

    #[test]
    fn line_without_a_change_or_a_command_has_no_heading() {
        let unknown =
            PathLine { missing_permission: None, ..line(Place::Trust, PlaceVerdict::Unknown, "is in no API", None) };
        let text = shown(&report(vec![ServicePath { lines: vec![unknown], ..denied() }], None));
        assert!(!text.contains("path.md#trust"), "{text}");
    }

    #[test]
    fn advice_and_commands_have_no_control_characters() {
        let hostile = PathLine {
            change: Some("Reach container app\u{1b}[31m".to_owned()),
            ..line(Place::Network, PlaceVerdict::Fault, "is blocked", Some("aws x 'a\u{1b}[31m\rb'"))
        };
        let text = shown(&report(vec![ServicePath { lines: vec![hostile], ..denied() }], None));
        assert!(text.contains("  Reach container app\u{fffd}[31m\n  aws x 'a\u{fffd}[31m\u{fffd}b'\n"), "{text:?}");
    }

    #[test]
    fn several_destinations_get_a_line_each() {
        let open = ServicePath {
            destination: end("orders"),
            passage: Passage::Open,
            conclusion: "Nothing that was read stops requests from web to orders".to_owned(),
            ..denied()
        };
        let expected = "destination  request  what\n\
            api          fails    Requests from web to api fail: web → api: intention web → api denies it\n\
            orders       passes   Nothing that was read stops requests from web to orders\n";
        assert_eq!(shown(&report(vec![denied(), open], None)), expected);
        assert!(shown(&report(Vec::new(), None)).starts_with("No destination: "));
    }

    #[test]
    fn callers_are_listed_with_their_intentions() {
        let caller = |source: &str, action: &str, intention: &str| Caller {
            source: source.to_owned(),
            action: action.to_owned(),
            intention: intention.to_owned(),
        };
        let callers = vec![caller("web", "allow", "intention web → api"), caller("*", "deny", "default policy")];
        let expected = "source  may call  by\n\
            web     allow     intention web → api\n\
            *       deny      default policy\n";
        assert_eq!(shown(&report(Vec::new(), Some(callers))), expected);
    }
}

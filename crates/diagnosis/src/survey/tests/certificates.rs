//! Which certificates of Consul end.

use jiff::SignedDuration;
use observe::{CaRoot, ExpiringCertificate, Validity};

use super::*;

#[test]
fn certificate_that_ends_within_30_days_is_found() {
    let certificate = |kind: &str, days: i64| ExpiringCertificate {
        name: "Root CA".to_owned(),
        kind: kind.to_owned(),
        seconds_remaining: days * 86_400,
    };
    let listed =
        |kind: &str, days| found(|world| world.datacenter.certificates = Ok(Some(vec![certificate(kind, days)])));
    let severity = |findings: &[SurveyFinding]| findings.first().map(|finding| finding.severity);
    assert_eq!(severity(&listed("ca", 29)), Some(Severity::Warning));
    assert_eq!(severity(&listed("agent", 6)), Some(Severity::Error));
    assert_eq!(listed("ca", -1)[0].title, "A certificate of Consul's authority has expired");
    assert_eq!(listed("agent", 6)[0].id, "server-certificates");
    assert_eq!(listed("ca", 31), []);
    assert_eq!(listed("leaf", 1), [], "Consul renews it");
}

/// What is found of an active root that ends after these days, beside what the server lists.
fn with_root(days: i64, listed: Option<Vec<ExpiringCertificate>>) -> Vec<SurveyFinding> {
    let not_after = now() + SignedDuration::from_hours(24 * days);
    found(move |world| {
        let root =
            CaRoot { name: "Consul CA".to_owned(), is_active: true, not_before: now(), not_after, intermediate: None };
        (world.datacenter.roots, world.datacenter.certificates) = (Ok(vec![root]), Ok(listed));
    })
}

#[test]
fn intermediate_that_consul_should_have_renewed_is_found() {
    let with = |since: i64, days: i64| {
        let end = |days: i64| now() + SignedDuration::from_hours(24 * days);
        let intermediate = Some(Ok(Validity { not_before: end(since), not_after: end(days) }));
        found(move |world| {
            let (not_before, not_after) = (now(), end(3_000));
            let root = CaRoot { name: "Consul CA".to_owned(), is_active: true, not_before, not_after, intermediate };
            world.datacenter.roots = Ok(vec![root]);
        })
    };
    assert_eq!(with(-345, 20)[0].objects[0].name, "the intermediate certificate under Consul CA");
    assert_eq!(with(-365, -1)[0].title, "A certificate of Consul's authority has expired");
    assert_eq!(with(-5, 4), [], "Consul renews one of nine days after half of them");
    assert_eq!(with(-182, 183), []);
}

#[test]
fn root_that_ends_is_found_whatever_the_server_lists() {
    let listed = |kind: &str, name: &str, days: i64| ExpiringCertificate {
        name: name.to_owned(),
        kind: kind.to_owned(),
        seconds_remaining: days * 86_400 - 1_800,
    };
    let names = |findings: &[SurveyFinding]| -> Vec<(String, Vec<String>)> {
        let objects = |it: &SurveyFinding| it.objects.iter().map(|object| object.name.clone()).collect();
        findings.iter().map(|it| (it.id.clone(), objects(it))).collect()
    };
    let root = || ("ca-certificates".to_owned(), vec!["Consul CA".to_owned()]);
    let severity = |findings: &[SurveyFinding]| findings.first().map(|finding| finding.severity);
    // Before Consul 2.0, and of a follower, which measures nothing of the authority
    for list in [None, Some(Vec::new()), Some(vec![listed("agent", "server", 300)])] {
        let findings = with_root(5, list.clone());
        assert_eq!((names(&findings), severity(&findings)), (vec![root()], Some(Severity::Error)), "{list:?}");
        assert_eq!(severity(&with_root(20, list.clone())), Some(Severity::Warning), "{list:?}");
        assert_eq!(with_root(365, list), []);
    }
    assert_eq!(with_root(20, None)[0].objects[0].why, "it expires in 20 days");
    // The leader lists the root too, and an intermediate
    assert_eq!(names(&with_root(5, Some(vec![listed("ca", "active-root", 5)]))), [root()]);
    let both = with_root(5, Some(vec![listed("ca", "intermediate", 3)]));
    assert_eq!(names(&both), [("ca-certificates".to_owned(), vec!["Consul CA".to_owned(), "intermediate".to_owned()])]);
}

#[test]
fn root_that_signs_nothing_any_more_may_end() {
    let not_after = now() + SignedDuration::from_hours(24);
    let findings = found(|world| {
        let root =
            CaRoot { name: "Consul CA".to_owned(), is_active: false, not_before: now(), not_after, intermediate: None };
        world.datacenter.roots = Ok(vec![root]);
    });
    assert_eq!(findings, []);
}

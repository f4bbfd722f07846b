//! The HTML report as a browser shows it.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use test_harness::skip::{Missing, skip};

const DATAPLANE: &str = include_str!("../../../audit/src/bases/dataplane.json");
const CLIENT: &str = include_str!("../../../audit/src/bases/client.json");

/// A script that writes what the page shows into its title.
const SCRIPT: &str = r"<script>
const shown = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.getBoundingClientRect().height > 0).length;
const state = () => ({ errors: shown('.finding.error'), warnings: shown('.finding.warning'), pictures: shown('details[open] svg') });
const before = state();
document.querySelector('#show-error').click();
const root = document.documentElement;
document.title = JSON.stringify({ before, after: state(), overflow: root.scrollWidth - root.clientWidth });
</script>";

/// The browser that `CHROMIUM` names, or an installed one.
fn browser() -> Option<String> {
    let starts = |name: &String| {
        let status = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    if let Some(named) = env::var("CHROMIUM").ok().filter(|name| !name.is_empty()) {
        assert!(starts(&named), "CHROMIUM={named} does not start: {named} --version says why");
        return Some(named);
    }
    ["chromium", "chromium-browser", "google-chrome"].map(str::to_owned).into_iter().find(starts)
}

/// A report about one broken definition of each generation and a clean one.
fn report(directory: &Path) -> PathBuf {
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join("web.json"), DATAPLANE.replace("awsvpc", "bridge")).unwrap();
    fs::write(directory.join("orders.json"), CLIENT.replace("\"web\"", "\"<b>web\"").replace("awsvpc", "host"))
        .unwrap();
    fs::write(directory.join("clean.json"), DATAPLANE).unwrap();
    let page = directory.join("report.html");
    let status = Command::new(env!("CARGO_BIN_EXE_ecs-mesh"))
        .args(["check", "--output", "html", "--output-file", "report.html"])
        .current_dir(directory)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(1));
    page
}

/// Shows a page in a window of this width, and returns its title.
fn show(browser: &str, page: &Path, width: u32) -> Value {
    let profile = page.with_file_name(format!("profile-{width}"));
    let picture = page.with_file_name(format!("report-{width}.png"));
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync", "--dump-dom"])
        .arg(format!("--window-size={width},2000"))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let title = dom.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    let title = title.unwrap_or_else(|| panic!("no page: {}", String::from_utf8_lossy(&output.stderr))).0;
    serde_json::from_str(&title.replace("&quot;", "\"")).unwrap_or_else(|_| panic!("no script ran: {title}"))
}

#[test]
fn the_page_filters_and_fits_a_phone() {
    let Some(browser) = browser() else { return skip(Missing::Browser) };
    let page = report(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("page"));
    let html = fs::read_to_string(&page).unwrap();
    assert!(!html.contains("<b>web"), "names are text");
    assert!(!html.contains("http://") || !html.contains("src="), "nothing is fetched");
    fs::write(&page, html.replace("</body>", &format!("{SCRIPT}</body>"))).unwrap();
    let json = Command::new(env!("CARGO_BIN_EXE_ecs-mesh"))
        .args(["check", "--output", "json", "web.json", "orders.json", "clean.json"])
        .current_dir(page.parent().unwrap())
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&json.stdout).unwrap();
    let count =
        |severity: &str| report["findings"].as_array().unwrap().iter().filter(|f| f["severity"] == severity).count();
    let (errors, warnings) = (count("error"), count("warning"));
    assert!(errors > 1 && warnings > 0, "{report:#}");
    let with = |severity: Option<&str>| {
        let findings = report["findings"].as_array().unwrap().iter();
        let meant = findings.filter(|found| severity.is_none_or(|severity| found["severity"] == severity));
        meant.map(|found| found["definition"].as_str().unwrap()).collect::<BTreeSet<_>>().len()
    };
    let (pictures, of_warnings) = (with(None), with(Some("warning")));
    assert!(pictures > of_warnings, "the filter hides a definition: {report:#}");
    for width in [1200, 500] {
        let seen = show(&browser, &page, width);
        assert_eq!(
            seen,
            json!({
                "before": { "errors": errors, "warnings": warnings, "pictures": pictures },
                "after": { "errors": 0, "warnings": warnings, "pictures": of_warnings },
                "overflow": 0,
            }),
            "at a width of {width}"
        );
    }
}

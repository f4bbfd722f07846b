//! The HTML report as a browser shows it.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use test_harness::skip::skip;

const DATAPLANE: &str = include_str!("../../../audit/src/bases/dataplane.json");
const CLIENT: &str = include_str!("../../../audit/src/bases/client.json");

/// A script that writes what the page shows into its title.
const SCRIPT: &str = r"<script>
const shown = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.getBoundingClientRect().height > 0).length;
const state = () => ({ errors: shown('.finding.error'), warnings: shown('.finding.warning'), infos: shown('.finding.info'), cards: shown('.definition') });
const states = [state()];
for (const severity of ['error', 'warning', 'info']) {
  document.querySelector('#show-' + severity).click();
  states.push(state());
}
const root = document.documentElement;
document.title = JSON.stringify({ states, overflow: root.scrollWidth - root.clientWidth });
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

/// A report about three definitions, with errors; errors and a warning; errors, a warning and an info; and a clean one.
fn report(directory: &Path) -> PathBuf {
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join("web.json"), DATAPLANE.replace("awsvpc", "bridge")).unwrap();
    fs::write(directory.join("orders.json"), CLIENT.replace("\"web\"", "\"<b>web\"").replace("awsvpc", "host"))
        .unwrap();
    // It has the task role of web, too.
    let shop = DATAPLANE.replace("\"family\": \"web\"", "\"family\": \"shop\"").replace("awsvpc", "bridge");
    fs::write(directory.join("shop.json"), shop).unwrap();
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
    let Some(browser) = browser() else { return skip("no Chromium; make browser finds or installs one") };
    let page = report(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("page"));
    let html = fs::read_to_string(&page).unwrap();
    assert!(!html.contains("<b>web"), "names are text");
    assert!(!html.contains("http://") || !html.contains("src="), "nothing is fetched");
    fs::write(&page, html.replace("</body>", &format!("{SCRIPT}</body>"))).unwrap();
    let json = Command::new(env!("CARGO_BIN_EXE_ecs-mesh"))
        .args(["check", "--output", "json", "web.json", "orders.json", "shop.json", "clean.json"])
        .current_dir(page.parent().unwrap())
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&json.stdout).unwrap();
    let count =
        |severity: &str| report["findings"].as_array().unwrap().iter().filter(|f| f["severity"] == severity).count();
    let [errors, warnings, infos] = ["error", "warning", "info"].map(count);
    assert!([errors, warnings, infos].iter().all(|&number| number > 0), "{report:#}");
    let cards = |severities: &[&str]| {
        let findings = report["findings"].as_array().unwrap().iter();
        let shown = findings.filter(|found| severities.contains(&found["severity"].as_str().unwrap()));
        shown.map(|found| found["definition"].as_str().unwrap()).collect::<BTreeSet<_>>().len()
    };
    let cards = [cards(&["error", "warning", "info"]), cards(&["warning", "info"]), cards(&["info"])];
    assert!(cards.is_sorted_by(|more, fewer| more > fewer), "each box hides a definition: {report:#}");
    for width in [1200, 500] {
        let seen = show(&browser, &page, width);
        assert_eq!(
            seen,
            json!({
                "states": [
                    { "errors": errors, "warnings": warnings, "infos": infos, "cards": cards[0] },
                    { "errors": 0, "warnings": warnings, "infos": infos, "cards": cards[1] },
                    { "errors": 0, "warnings": 0, "infos": infos, "cards": cards[2] },
                    { "errors": 0, "warnings": 0, "infos": 0, "cards": 0 },
                ],
                "overflow": 0,
            }),
            "at a width of {width}"
        );
    }
}

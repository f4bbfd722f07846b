//! A picture of the deployed dashboard, from the metrics that the functions have written to their logs.
//!
//! CloudWatch would read the metrics there; `MiniStack` does not. Metrics that AWS itself counts are left out.

mod body;
mod draw;
mod metrics;

use std::path::Path;

use local_stack::{aws::Aws, deploy::Deployed};
use serde_json::{Value, json};

use self::{body::Dashboard, metrics::Recorded};

/// Draws the stack's dashboard into an SVG file.
pub(crate) async fn picture(aws: &Aws, deployed: &Deployed, stack: &str, file: &Path) {
    let asked = json!({ "DashboardName": stack });
    let answer = aws.call("monitoring", "GraniteServiceVersion20100801.GetDashboard", &asked).await;
    let body: Value = serde_json::from_str(answer["DashboardBody"].as_str().expect("a body")).expect("JSON");
    let mut groups = vec![&deployed.log_group, &deployed.reconcile_log_group];
    groups.extend(deployed.audit.as_ref().map(|audit| &audit.log_group));
    let mut recorded = Recorded::default();
    for group in groups {
        recorded.read(&aws.logs(group).await);
    }
    draw::draw(&Dashboard::parse(&body), &recorded, file).expect("a picture");
}

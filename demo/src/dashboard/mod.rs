//! A picture of the deployed dashboard, from the metrics that the functions have written to their logs, and from the lengths of
//! the queues.
//!
//! CloudWatch would read the metrics there; `MiniStack` does not. Other metrics that AWS itself counts are left out.

mod body;
mod draw;
mod metrics;
mod queues;

use std::path::Path;

use local_stack::{aws::Aws, deploy::Deployed};
use serde_json::{Value, json};

use self::{body::Dashboard, metrics::Recorded, queues::Queues};

/// A dashboard that is watched.
pub(crate) struct Watched<'a> {
    aws: &'a Aws,
    dashboard: Dashboard,
    recorded: Recorded,
}

impl<'a> Watched<'a> {
    /// The dashboard of a stack.
    pub(crate) async fn of(aws: &'a Aws, stack: &str) -> Self {
        let asked = json!({ "DashboardName": stack });
        let answer = aws.call("monitoring", "GraniteServiceVersion20100801.GetDashboard", &asked).await;
        let body: Value = serde_json::from_str(answer["DashboardBody"].as_str().expect("a body")).expect("JSON");
        Self { aws, dashboard: Dashboard::parse(&body), recorded: Recorded::default() }
    }

    /// Watches the queues while the work goes on.
    pub(crate) async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let queues = Queues::of(self.aws, &self.dashboard);
        tokio::select! {
            done = work => done,
            never = queues.record(&mut self.recorded) => match never {},
        }
    }

    /// Audits all task definitions, and draws the dashboard into an SVG file.
    pub(crate) async fn draw(mut self, deployed: &Deployed, file: &Path) {
        let mut groups = vec![&deployed.log_group, &deployed.reconcile_log_group];
        if let Some(audit) = &deployed.audit {
            self.aws.invoke(&audit.function, &json!({ "all": true })).await.expect("an audit");
            groups.push(&audit.log_group);
        }
        for group in groups {
            self.recorded.read(&self.aws.logs(group).await);
        }
        draw::draw(&self.dashboard, &self.recorded, file).expect("a picture");
    }
}

//! Service tokens when tasks stop: kept, revoked after the grace period, and created again.

use serde_json::{Value, json};

use crate::fixture::Fixture;
use local_stack::wait::{SOON, eventually};

#[tokio::test]
async fn the_last_stop_revokes_the_token() {
    let world = Fixture::tokens("last-task").await;
    let secret = world.secret_name(&world.service());
    let definition = world.mesh_definition(&world.service()).await;
    let task = world.start_task(&definition).await;
    let stolen = world.provisioned(&secret).await;
    // When the last task stops and the grace period passes
    world.stop_task(&task).await;
    world.emptied(&secret).await;
    // Then the token is deleted
    world.revoked(&stolen).await;
    assert_eq!(world.tokens_about(&world.service()).await, Vec::<Value>::new());
    // And one line of the log has the reason
    let line: Value = eventually("a log line of the revocation", SOON, || async {
        let log = world.aws.logs(&world.deployed.log_group).await;
        let is_revocation =
            |line: &&String| line.contains("\"revoke\"") && line.contains(&stolen.accessor_id) && line.contains("done");
        let line = log.iter().find(is_revocation).ok_or_else(|| format!("{} lines", log.len()))?;
        serde_json::from_str(line).map_err(|error| error.to_string())
    })
    .await;
    assert_eq!(
        (&line["trigger"], &line["reason"], &line["last_task"]),
        (&json!("event"), &json!("idle"), &json!(task))
    );
    assert!(line["idle_since"].is_string(), "{line}");
    // And a restart gets a new token: a stolen copy of the old one stays invalid
    world.start_task(&definition).await;
    let new = world.provisioned(&secret).await;
    assert_ne!((&new.accessor_id, &new.token), (&stolen.accessor_id, &stolen.token));
    assert!(!world.is_valid(&stolen.token).await);
}

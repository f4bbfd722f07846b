//! A reservation that takes effect although its answer is lost.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use ecs_mesh_controller::{
    controller::Edges,
    secrets::{SecretStore, SecretsError},
};
use mesh::secret::{SecretState, StoredSecret};

use super::{idle_check, idle_service, impatient};
use local_stack::world::World;

/// Secrets Manager, of which the answer to the first claim is lost.
struct LosesAnAnswer {
    inner: Arc<dyn SecretStore>,
    is_lost: AtomicBool,
}

#[async_trait]
impl SecretStore for LosesAnAnswer {
    async fn read(&self, name: &str) -> Result<StoredSecret, SecretsError> {
        self.inner.read(name).await
    }

    async fn write(&self, name: &str, seen: &StoredSecret, state: &SecretState) -> Result<StoredSecret, SecretsError> {
        self.inner.write(name, seen, state).await
    }

    async fn claim(&self, name: &str, seen: &StoredSecret, state: &SecretState) -> Result<StoredSecret, SecretsError> {
        let claimed = self.inner.claim(name, seen, state).await;
        if self.is_lost.swap(true, Ordering::SeqCst) {
            return claimed;
        }
        Err(SecretsError::Failed { name: name.to_owned(), reason: "connection reset".to_owned() })
    }
}

#[tokio::test]
async fn a_reservation_whose_answer_is_lost_is_undone() {
    let world = World::without_deployment("lost-answer").await;
    let (_, pair) = idle_service(&world).await;
    let environment = impatient(&world, |edges| {
        let secrets = LosesAnAnswer { inner: edges.secrets, is_lost: AtomicBool::new(false) };
        Edges { secrets: Arc::new(secrets), ..edges }
    })
    .await;
    let report = environment.handle(&[idle_check(&world.service())]).await;
    assert_eq!(report.failures.len(), 1, "the message comes back");
    // Then a task that starts meanwhile reads its token
    assert_eq!(world.provisioned(&world.secret_name(&world.service())).await, pair);
}

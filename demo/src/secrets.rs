//! The scene of consul-ecs 0.2 to 0.4, whose tasks read a token from Secrets Manager.

use std::time::Instant;

use crate::{
    GRACE,
    scenes::{Demo, STARTING},
    timeline::{Actor, seconds},
};

const SERVICE: &str = "demo-old";

impl Demo<'_> {
    pub(crate) async fn tokens_in_secrets_manager(&mut self) {
        self.timeline.scene("A task of consul-ecs 0.2 to 0.4 reads its token from Secrets Manager, and stops");
        let secret = self.world.secret_name(SERVICE);
        let definition = self.world.mesh_definition(SERVICE).await;
        let task = self.world.run(&definition).await;
        let start = self.reported(&task, SERVICE, STARTING, 1).await;
        let stolen = self.world.provisioned(&secret).await;
        let created = start.elapsed();
        self.reacted(created, "its token is there before its containers start").await;
        self.timeline.say(Actor::Secrets, &format!("{secret}: a token, which an attacker copies"));
        self.world.register_instance(SERVICE, &task).await;
        self.world.stop(&task).await;
        self.ecs(&task, SERVICE, "STOPPED");
        let start = self.deliver(&self.world.event(&task).await).await;
        self.instances_left(SERVICE, 0).await;
        self.reacted(start.elapsed(), "deregistered. No other task uses the token: an idle check follows").await;
        self.world.hidden(&secret).await;
        let grace = GRACE.as_secs();
        let hidden = start.elapsed().saturating_sub(GRACE);
        self.reacted(hidden, &format!("and the grace period of {grace} s: hidden from new tasks")).await;
        let start = Instant::now();
        self.world.emptied(&secret).await;
        self.world.revoked(&stolen).await;
        let deleted = start.elapsed();
        self.world.settled().await;
        self.reacted(deleted, "deleted, once ECS would list every task that read it").await;
        assert!(!self.world.is_valid(&stolen.token).await, "a stolen copy of the token is refused");
        self.timeline.say(Actor::Secrets, &format!("{secret}: empty"));
        self.timeline.say(Actor::Consul, "refuses the copy of the token");
        self.timeline.outcome(
            "A new service reads a token (0.2 to 0.4)",
            format!("the token exists after {}, before the containers need it", seconds(created)),
            "the first start fails until the next poll has written the secret, within 10 s",
        );
    }
}

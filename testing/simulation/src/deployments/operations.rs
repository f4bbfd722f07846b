//! The operations of `CloudFormation` on a stack. Its resources, in the order of their creation: the function, the custom resource
//! with neighbours, what depends on it, and the proof of completion.

use super::{
    Deployments,
    requests::Answer,
    stack::{Resource, SET_UP, Version, event, proof},
};

impl Deployments {
    fn status(&mut self, status: &str) {
        self.stack.events.push(event(None, status));
        let status = status.to_owned();
        self.note(|| format!("the stack is {status}"));
    }

    fn draw_version(&mut self) -> Version {
        let number = self.stack.requests + 1;
        Version { number, asks: self.draw(2), is_valid: !self.fails(8) }
    }

    /// An ID that `CloudFormation` makes up for a resource whose creation has no answer.
    fn made_up(&mut self) -> String {
        let random = self.random.u32(..);
        format!("stack-{SET_UP}-1{random:X}")
    }

    pub(super) async fn create(&mut self) {
        let version = self.draw_version();
        self.status("CREATE_IN_PROGRESS");
        self.stack.deployed = version;
        if self.draw(3) {
            // IAM does not know the roles that the stack has made a moment ago.
            let calls = self.random.u32(1..=6);
            self.direct.with(|world| world.denied = calls);
        }
        if self.create_set_up(version).await && !self.fails(6) {
            self.create_proof(version);
            // Alarms of the owner may roll a creation back that has everything.
            if !self.fails(12) {
                self.status("CREATE_COMPLETE");
                self.stack.completed = Some(version);
                return;
            }
        }
        match self.random.u32(..4) {
            // OnFailure=DO_NOTHING
            0 => self.status("CREATE_FAILED"),
            // OnFailure=DELETE, or the owner deletes it meanwhile
            1 => self.delete().await,
            _ => self.roll_back_creation().await,
        }
    }

    /// Creates the custom resource. Whether that succeeded: otherwise the creation is rolled back.
    async fn create_set_up(&mut self, version: Version) -> bool {
        let answer = self.request("Create", None, version, None).await;
        // A neighbour may fail first: the answer is not waited for.
        let answer = answer.filter(|_| !self.fails(8));
        let Answer { id, is_success } = answer.unwrap_or_else(|| Answer { id: self.made_up(), is_success: false });
        self.stack.set_up = Some(Resource { id, version });
        self.toggle();
        is_success
    }

    /// Consul may come or go between two steps.
    fn toggle(&mut self) {
        if !self.stack.is_calm {
            self.toggle_consul();
        }
    }

    fn create_proof(&mut self, version: Version) {
        if version.asks && !self.stack.has_proof {
            self.stack.events.push(proof("CREATE_COMPLETE"));
            self.stack.has_proof = true;
        }
    }

    fn delete_proof(&mut self) {
        if std::mem::take(&mut self.stack.has_proof) {
            self.stack.events.push(proof("DELETE_COMPLETE"));
        }
    }

    async fn roll_back_creation(&mut self) {
        self.status("ROLLBACK_IN_PROGRESS");
        self.delete_proof();
        self.redeliver().await;
        let status = if self.delete_set_up().await { "ROLLBACK_COMPLETE" } else { "ROLLBACK_FAILED" };
        self.status(status);
    }

    /// Deletes the custom resource. Whether it is gone.
    async fn delete_set_up(&mut self) -> bool {
        let Some(Resource { id, version }) = self.stack.set_up.clone() else { return true };
        self.stack.events.push(event(Some(SET_UP), "DELETE_IN_PROGRESS"));
        let is_done = self.request("Delete", Some(&id), version, None).await.is_some_and(|answer| answer.is_success);
        self.stack.events.push(event(Some(SET_UP), if is_done { "DELETE_COMPLETE" } else { "DELETE_FAILED" }));
        if is_done {
            self.stack.set_up = None;
        }
        is_done
    }

    pub(super) async fn update(&mut self) {
        let (old, new) = (self.stack.deployed, self.draw_version());
        self.status("UPDATE_IN_PROGRESS");
        let had_proof = self.stack.has_proof;
        // A resource may fail before the function and the custom resource have changed.
        if !self.fails(10) {
            self.stack.deployed = new;
            let is_done = self.update_set_up(new, old).await && !self.fails(6);
            if is_done {
                self.create_proof(new);
            }
            // The owner may cancel an update, and alarms may roll it back.
            if is_done && !self.fails(12) {
                self.status("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS");
                if !new.asks {
                    self.delete_proof();
                }
                self.redeliver().await;
                self.status("UPDATE_COMPLETE");
                self.stack.completed = Some(new);
                return;
            }
        }
        self.toggle();
        self.stack.before_update = Some((old, had_proof));
        self.roll_back_update().await;
    }

    /// Updates the custom resource, also back. Whether that succeeded.
    async fn update_set_up(&mut self, new: Version, old: Version) -> bool {
        let Some(resource) = self.stack.set_up.clone() else { return true };
        let answer = self.request("Update", Some(&resource.id), new, Some(old)).await.filter(|_| !self.fails(8));
        // Without an answer, CloudFormation remembers what it sent.
        self.stack.set_up = Some(Resource { version: new, ..resource.clone() });
        match answer {
            Some(answer) if answer.is_success && answer.id != resource.id => {
                self.breaks(format!("nothing destroyed: the update replaced {} by {}", resource.id, answer.id));
                true
            }
            answer => answer.is_some_and(|answer| answer.is_success),
        }
    }

    async fn roll_back_update(&mut self) {
        let Some((old, had_proof)) = self.stack.before_update else { return };
        self.status("UPDATE_ROLLBACK_IN_PROGRESS");
        let new = std::mem::replace(&mut self.stack.deployed, old);
        if new != old && !self.update_set_up(old, new).await {
            self.stack.deployed = new;
            return self.status("UPDATE_ROLLBACK_FAILED");
        }
        self.status("UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS");
        if !had_proof {
            self.delete_proof();
        }
        self.redeliver().await;
        self.status("UPDATE_ROLLBACK_COMPLETE");
        self.stack.before_update = None;
    }

    /// `aws cloudformation continue-update-rollback`.
    pub(super) async fn continue_rollback(&mut self) {
        self.roll_back_update().await;
    }

    /// Deletes the stack: again, if it failed. At last its owner retains what cannot be deleted.
    pub(super) async fn delete(&mut self) {
        let is_settled = self.stack.status().ends_with("_COMPLETE") && self.stack.status() != "ROLLBACK_COMPLETE";
        let was_settled = *self.stack.was_settled.get_or_insert(is_settled);
        let asks = self.stack.completed.is_some_and(|version| version.asks);
        while !self.stack.is_gone() {
            self.status("DELETE_IN_PROGRESS");
            self.delete_proof();
            let had_set_up = self.stack.set_up.is_some();
            self.redeliver().await;
            if self.delete_set_up().await {
                let cleans_up = had_set_up && was_settled && asks && !self.is_mute;
                if cleans_up && self.has_entries() {
                    self.breaks("cleaned up: the deletion was asked to clean up, and did not".to_owned());
                }
                self.note(|| format!("cleaned up: {cleans_up}"));
                self.status("DELETE_COMPLETE");
                return;
            }
            self.status("DELETE_FAILED");
            self.redeliver().await;
            if self.stack.is_calm {
                return;
            }
            self.toggle();
            if !self.draw(3) {
                return;
            }
        }
    }
}

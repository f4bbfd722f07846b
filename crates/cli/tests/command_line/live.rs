//! The commands that read a running account, as far as they come without one.

use crate::workspace::{Workspace, errors};

#[test]
fn task_in_another_region_is_not_searched_in_this_one() {
    let task = "arn:aws:ecs:eu-west-1:123456789012:task/prod/0123456789abcdef0123456789abcdef";
    let workspace = Workspace::new("other-region", &[]);
    let output = workspace.run(&["why", task, "--region", "us-east-1"]);
    assert_eq!(output.status.code(), Some(2));
    let expected = format!("error: the task {task} is in another region than us-east-1: pass --region eu-west-1\n");
    assert_eq!(errors(&output), expected);
}

use super::*;
use mesh::task::TaskPhase;

/// How often the template lets a message be received (`maxReceiveCount`).
const RECEIVES: u32 = 14;

fn change(version: u64, phase: TaskPhase) -> TaskChange {
    TaskChange {
        arn: "arn:aws:ecs:us-east-1:123456789012:task/prod/0123456789abcdef0123456789abcdef".parse().unwrap(),
        cluster: "arn:aws:ecs:us-east-1:123456789012:cluster/prod".parse().unwrap(),
        definition: "arn:aws:ecs:us-east-1:123456789012:task-definition/web:7".parse().unwrap(),
        phase,
        version,
        time: jiff::Timestamp::UNIX_EPOCH,
        stopped_containers: Vec::new(),
        end: None,
        is_disconnected: false,
    }
}

#[test]
fn the_newest_version_of_a_task_wins_in_any_order() {
    for order in [[1, 5, 3], [5, 3, 1], [3, 1, 5]] {
        let mut sorted = Sorted::default();
        for (index, version) in order.into_iter().enumerate() {
            sorted.keep_newest(index, change(version, TaskPhase::Active));
        }
        let task = change(5, TaskPhase::Active).arn;
        assert_eq!(sorted.changes[&task].version, 5);
        assert_eq!(order[sorted.messages[&task][0]], 5, "the message of the newest version is kept");
    }
}

#[test]
fn duplicate_shares_the_result_of_the_first() {
    let mut sorted = Sorted::default();
    sorted.keep_newest(0, change(4, TaskPhase::Active));
    sorted.keep_newest(1, change(4, TaskPhase::Stopped));
    let task = change(4, TaskPhase::Active).arn;
    assert_eq!((sorted.messages[&task].as_slice(), sorted.changes[&task].phase), (&[0, 1][..], TaskPhase::Active));
}

#[test]
fn pause_grows_up_to_the_limit() {
    for receives in 0..50 {
        assert!(pause(receives) <= MAX_RETRY_DELAY);
    }
    assert!(pause(1) <= FIRST_RETRY_DELAY);
    assert!(pause(9) > Duration::from_secs(300));
}

#[test]
fn an_outage_of_three_quarters_of_an_hour_loses_no_message() {
    let shortest: Duration = (1..RECEIVES).map(|receives| pause_ceiling(receives) / 2).sum();
    assert!(shortest > Duration::from_secs(45 * 60), "{shortest:?}");
}

#[test]
fn the_template_lets_a_message_be_received_that_often() {
    let template = include_str!("../../../../template.yaml");
    assert!(template.contains(&format!("maxReceiveCount: {RECEIVES}\n")));
}

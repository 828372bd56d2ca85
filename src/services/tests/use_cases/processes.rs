//! Processes of a deployment: which of those that registered run now.

use chatkeep_store::NewProcess;

use super::super::Group;
use crate::processes::{LIVE, pid_scope, running};

/// No process has this id: it is above the kernel's limit.
const NOBODY: u32 = u32::MAX;

fn process(id: &str, pid: u32) -> NewProcess {
    NewProcess { id: id.to_owned(), pid, ..NewProcess::default() }
}

async fn register(group: &Group, process: &NewProcess) {
    let differing = group.store.processes().register_process(process, LIVE).await.unwrap();
    assert!(differing.is_empty(), "{differing:?}");
}

async fn ids(group: &Group) -> Vec<String> {
    let running = running(&group.store).await.unwrap();
    let mut ids: Vec<_> = running.into_iter().map(|record| record.process.id).collect();
    ids.sort();
    ids
}

#[tokio::test]
async fn a_process_runs_while_it_is_heard_and_has_not_died_here() {
    let group = Group::new().await;
    let here = |name: &str| format!("{}-{name}", pid_scope());
    register(&group, &process(&here("alive"), std::process::id())).await;
    register(&group, &process(&here("dead"), NOBODY)).await;
    // Of another machine nobody knows here which process ids there are.
    register(&group, &process("elsewhere.1-b", NOBODY)).await;
    register(&group, &process("silent-c", NOBODY)).await;
    let mut expected = vec![here("alive"), "elsewhere.1-b".to_owned(), "silent-c".to_owned()];
    expected.sort();
    assert_eq!(ids(&group).await, expected);
    group.sql("UPDATE processes SET seen_at = seen_at - 20500 WHERE process_id = 'silent-c'").await;
    expected.retain(|id| id != "silent-c");
    assert_eq!(ids(&group).await, expected);
    // It is heard again.
    group.store.processes().heartbeat(&process("silent-c", NOBODY), None).await.unwrap();
    assert!(ids(&group).await.contains(&"silent-c".to_owned()));
    group.store.processes().unregister_process("elsewhere.1-b").await.unwrap();
    assert!(!ids(&group).await.contains(&"elsewhere.1-b".to_owned()));
}

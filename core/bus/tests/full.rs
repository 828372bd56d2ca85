//! Tests of the embedded bus on a disk that is full for a while.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::{Bus, BusError, BusLimits};
use chatkeep_core::time::SystemClock;
use tempfile::TempDir;

use crate::fixture::{ack_all, event, events, gather, until_backlog};

/// A folder with a file system of its own.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn new(size: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(folder.path())
            .output()
            .unwrap();
        let why = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "this test has to mount a tmpfs, as root: {why}");
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Fills the disk, down to the last byte.
    fn fill(&self) {
        let filler = self.path().join("filler");
        let mut filler = OpenOptions::new().create(true).append(true).open(filler).unwrap();
        for size in [1 << 16, 1 << 12, 1] {
            while filler.write_all(&vec![7; size]).is_ok() {}
        }
    }

    fn free(&self) {
        fs::remove_file(self.path().join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

#[tokio::test]
async fn a_full_disk_costs_nothing_but_the_time_that_it_is_full() {
    let disk = SmallDisk::new("8m");
    let (limits, clock) = (BusLimits::default(), Arc::new(SystemClock));
    let bus = EmbeddedBus::open(disk.path(), limits, clock).await.unwrap();
    let bus = Bus::Embedded(bus);
    let spec = events("backup");
    let mut consumer = bus.consume(&spec).await.unwrap();
    let (mut number, mut taken) = (0, 0);
    // Twice: the connection after a full disk is as good as the first.
    for _ in 0..2 {
        disk.fill();
        let refused = loop {
            number += 1;
            match bus.publish(vec![event(format!("e{number}"))]).await {
                Ok(()) => taken += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, BusError::Storage(_)), "{refused:?}");
        // Reading and acknowledging continue in memory.
        let deliveries = gather(&mut consumer, taken).await;
        ack_all(deliveries).await;
        disk.free();
        for _ in 0..20 {
            number += 1;
            bus.publish(vec![event(format!("e{number}"))]).await.unwrap();
        }
        bus.ready().await.unwrap();
        taken = 0;
        ack_all(gather(&mut consumer, 20).await).await;
        until_backlog(&bus, &spec, 0).await;
    }
    drop(consumer);
    bus.close().await;
}

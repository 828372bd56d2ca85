//! The shipped settings of NATS admit clients with the password, and nobody else.

use std::sync::Arc;

use chatkeep_bus::nats::NatsBus;
use chatkeep_bus::{Bus, BusLimits};
use chatkeep_core::time::SystemClock;
use chatkeep_workers::StageName;

use crate::harness::nats::Nats;
use crate::stack::DEADLINE;

const PASSWORD: &str = "n0123456789abcdef";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bus_needs_the_password() {
    // The tests have a folder of their own, and their server may be too old for the other line,
    // which is about power cuts.
    let left_out = ["sync_interval: always", "store_dir: \"/data\""];
    let shipped = include_str!("../../deploy/nats.conf").to_owned();
    let settings = left_out.iter().fold(shipped, |settings, line| {
        assert!(settings.contains(line), "{line} is not there");
        settings.replace(line, "")
    });
    let nats = Nats::configured(settings, PASSWORD).await;
    let connect = async |who: &str| {
        let url = format!("nats://{who}{}", nats.address());
        NatsBus::connect(&url, BusLimits::default(), Arc::new(SystemClock)).await
    };
    for who in ["", "chatkeep:wrong@", &format!("other:{PASSWORD}@")] {
        let refused = tokio::time::timeout(DEADLINE, connect(who)).await.unwrap();
        assert!(refused.is_err(), "{who:?} is let in");
    }
    let bus = Bus::Nats(connect(&format!("chatkeep:{PASSWORD}@")).await.unwrap());
    bus.ready().await.unwrap();
    for stage in StageName::ALL {
        bus.ensure(&stage.consumer(DEADLINE)).await.unwrap();
    }
    bus.close().await;
}

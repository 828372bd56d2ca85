//! Processor time of this process and of the servers that it started, by the names of their programs:
//! it says more than the clock where others use the machine, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

/// Ticks of the kernel's accounting in a second: 100 on every Linux, whatever its own clock has.
const TICKS: f64 = 100.0;

/// Ticks of each program, by its name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processor(BTreeMap<String, u64>);

/// A process, as the kernel tells of it.
struct Usage {
    id: u32,
    parent: u32,
    name: String,
    own: u64,
    /// Of children that have ended.
    ended: u64,
}

impl Processor {
    /// Reads what has been used until now.
    pub(crate) fn now() -> Self {
        let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
        let all: Vec<Usage> = folders
            .filter_map(|folder| {
                Usage::parse(&fs::read_to_string(folder.path().join("stat")).ok()?)
            })
            .collect();
        let mut family = BTreeSet::from([std::process::id()]);
        let mut known = 0;
        while known < family.len() {
            known = family.len();
            let children = all.iter().filter(|usage| family.contains(&usage.parent));
            let children: Vec<_> = children.map(|usage| usage.id).collect();
            family.extend(children);
        }
        let mut used = BTreeMap::new();
        for usage in all.into_iter().filter(|usage| family.contains(&usage.id)) {
            let ended = if usage.id == std::process::id() { 0 } else { usage.ended };
            *used.entry(usage.name).or_default() += usage.own + ended;
        }
        Self(used)
    }

    /// Returns the microseconds that each program has used since then for each of `count` messages.
    pub(crate) fn each(&self, count: usize) -> String {
        let (now, mut text, mut sum) = (Self::now(), String::new(), 0.0);
        for (name, ticks) in &now.0 {
            let ticks = ticks.saturating_sub(self.0.get(name).copied().unwrap_or_default());
            let micros = f64::from(u32::try_from(ticks).unwrap_or(u32::MAX)) / TICKS * 1e6
                / f64::from(u32::try_from(count).unwrap_or(u32::MAX));
            sum += micros;
            if ticks > 0 {
                let _ = write!(text, ", {name} {micros:.1}");
            }
        }
        format!("processor {sum:.1} µs each{text}")
    }
}

impl Usage {
    /// Parses `/proc/<id>/stat`; the name is in brackets and may hold anything.
    fn parse(stat: &str) -> Option<Self> {
        let (id, rest) = stat.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let field = |nth: usize| fields.get(nth)?.parse::<u64>().ok();
        Some(Self {
            id: id.parse().ok()?,
            parent: fields.get(1)?.parse().ok()?,
            name: name.to_owned(),
            own: field(11)? + field(12)?,
            ended: field(13)? + field(14)?,
        })
    }
}

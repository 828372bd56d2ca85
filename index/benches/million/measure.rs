//! Times, processors, memory and sizes.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Starting point of a measurement.
pub(crate) struct Clock {
    begun: Instant,
    /// Processor seconds used so far.
    used: f64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { begun: Instant::now(), used: processor_seconds() }
    }

    pub(crate) fn print(&self, what: &str, messages: usize) {
        let seconds = self.begun.elapsed().as_secs_f64();
        let (rate, used) = (messages as f64 / seconds, processor_seconds() - self.used);
        let each = used * 1e6 / messages as f64;
        let memory = peak_rss();
        println!(
            "{what}: {seconds:.2} s, {rate:.0} messages/s, {used:.1} s of processors \
             ({each:.1} µs each), peak RSS {memory} MB"
        );
    }
}

/// Returns the processor time that this process has used so far, in seconds.
pub(crate) fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name, in brackets, may hold anything.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    ticks / 100.0
}

pub(crate) fn print_size(what: &str, folder: &Path) {
    let segments = segments_of(folder);
    let size = size_of(folder) as f64 / 1e6;
    println!("{what}: {size:.0} MB in {segments} segments");
}

fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// Returns the number of segments of an index: each has one file of stored keys.
pub(crate) fn segments_of(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let parts = entries.map(|path| {
        if path.is_dir() {
            segments_of(&path)
        } else {
            usize::from(path.extension() == Some("store".as_ref()))
        }
    });
    parts.sum()
}

/// Returns the peak memory of this process so far, in MB.
fn peak_rss() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() / 1_000
}

/// Returns the memory of this process that belongs to no file, in MB.
pub(crate) fn own_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() / 1_000
}

/// Prints the median and the 99th percentile of times.
pub(crate) fn print_times(what: &str, mut times: Vec<Duration>, found: &str) {
    times.sort_unstable();
    let at = |share: usize| times[times.len() * share / 100].as_secs_f64() * 1e6;
    println!("{what:32} {:10.1} µs {:10.1} µs  {found}", at(50), at(99));
}

//! Memory that the settings allow a process, against what the machine or its container has.

use std::fs;
use std::path::{Path, PathBuf};

use chatkeep_core::config::{Config, Database};

use super::{ProcessRole, ProcessRoles};

/// Memory in bytes of everything that no setting bounds: code, connections, caches of names.
const UNBOUNDED_PARTS: u64 = 128 * MIB;
const MIB: u64 = 1024 * 1024;

/// Returns a warning if the settings allow more memory than there is.
pub(crate) fn memory_warning(config: &Config, process_roles: &ProcessRoles) -> Option<String> {
    exceeded(config, process_roles, available(Path::new("/"), machine()))
}

/// Returns the memory of the machine in bytes. Not from `/proc/meminfo`, which a service unit may
/// hide.
#[cfg(target_os = "linux")]
fn machine() -> u64 {
    let found = rustix::system::sysinfo();
    // Of the width of the machine's addresses.
    let units = usize::try_from(found.totalram).unwrap_or(usize::MAX);
    u64::try_from(units).unwrap_or(u64::MAX).saturating_mul(u64::from(found.mem_unit))
}

/// Returns the warning for that many bytes.
fn exceeded(config: &Config, process_roles: &ProcessRoles, available: u64) -> Option<String> {
    let bounds = bounds(config, process_roles);
    let sum = bounds.iter().fold(UNBOUNDED_PARTS, |sum, (_, bytes)| sum.saturating_add(*bytes));
    if sum <= available {
        return None;
    }
    let parts: Vec<_> =
        bounds.iter().map(|(name, bytes)| format!("{name} = {} MiB", bytes / MIB)).collect();
    Some(format!(
        "the settings allow this process {} MiB of memory ({}, and {} MiB for the rest), and it has \
         {} MiB: lower them, or give it more",
        sum / MIB,
        parts.join(", "),
        UNBOUNDED_PARTS / MIB,
        available / MIB
    ))
}

/// Returns the settings that bound the memory of a process with these roles.
fn bounds(config: &Config, process_roles: &ProcessRoles) -> Vec<(&'static str, u64)> {
    let has = |role| process_roles.roles.contains(&role);
    let bytes = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
    let memory = &config.memory;
    let all = [
        (
            has(ProcessRole::Ingress) || has(ProcessRole::Api),
            "http.max_bodies_bytes",
            bytes(config.http.max_bodies),
        ),
        (
            has(ProcessRole::Worker) || has(ProcessRole::Api),
            "memory.assistant_bytes",
            memory.assistant_bytes,
        ),
        // A rebuild takes as much once more.
        (
            has(ProcessRole::Search),
            "memory.index_bytes",
            bytes(memory.index_bytes).saturating_mul(2),
        ),
        (
            matches!(config.database, Database::Sqlite),
            "memory.database_bytes",
            memory.database_bytes,
        ),
    ];
    all.into_iter().filter(|(is_used, ..)| *is_used).map(|(_, name, bytes)| (name, bytes)).collect()
}

/// Returns no limit where the system has no such call.
#[cfg(not(target_os = "linux"))]
const fn machine() -> u64 {
    u64::MAX
}

/// Returns the memory in bytes that a process may use: the least limit of its control groups, of
/// either version, or that of the machine.
fn available(root: &Path, machine: u64) -> u64 {
    let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    let groups = read(root.join("proc/self/cgroup"));
    let limits = groups.lines().filter_map(control_group).flat_map(|(mount, file, group)| {
        let folder = root.join("sys/fs/cgroup").join(mount);
        let limit =
            move |group: &Path| read(folder.join(group).join(file)).trim().parse::<u64>().ok();
        Path::new(group).ancestors().filter_map(limit)
    });
    limits.fold(machine, u64::min)
}

/// Returns the folder of a hierarchy that bounds memory, the file with its limit, and the path of the
/// process' group, of a line of `/proc/self/cgroup`: `0::/path` in version 2, in version 1
/// `number:controllers:/path`.
fn control_group(line: &str) -> Option<(&'static str, &'static str, &str)> {
    let (number, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    let path = path.trim_start_matches('/');
    if number == "0" && controllers.is_empty() {
        return Some(("", "memory.max", path));
    }
    let bounds_memory = controllers.split(',').any(|controller| controller == "memory");
    bounds_memory.then_some(("memory", "memory.limit_in_bytes", path))
}

#[cfg(test)]
mod tests {
    use chatkeep_core::config::Sources;

    use super::*;

    #[test]
    fn the_least_limit_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(available(root.path(), 8 * MIB), 8 * MIB);
        write("proc/self/cgroup", "0::/system.slice/chatkeep.service\n");
        write("sys/fs/cgroup/system.slice/chatkeep.service/memory.max", "max\n");
        assert_eq!(available(root.path(), 8 * MIB), 8 * MIB);
        write("sys/fs/cgroup/system.slice/memory.max", "4194304\n");
        assert_eq!(available(root.path(), 8 * MIB), 4 * MIB);
        assert_eq!(available(root.path(), 2 * MIB), 2 * MIB);
    }

    #[test]
    fn a_limit_of_control_groups_of_version_1_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/self/cgroup", "11:cpu,cpuacct:/a\n5:memory:/a/b\n0::/a\n");
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(available(root.path(), 8 * MIB), 8 * MIB);
        write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4194304\n");
        assert_eq!(available(root.path(), 8 * MIB), 4 * MIB);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_memory_of_this_machine_is_known() {
        let text = fs::read_to_string("/proc/meminfo").unwrap();
        let kib = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.strip_suffix(" kB"));
        let kib: u64 = kib.unwrap().trim().parse().unwrap();
        // In a container the file may tell of that one.
        assert!(machine() + MIB > kib * 1_024, "{} and {kib} KiB", machine());
        assert!(machine() < 1 << 50, "{}", machine());
    }

    #[test]
    fn settings_that_allow_too_much_are_named_for_the_roles_that_use_them() {
        let config = Config::load(Sources::default()).unwrap();
        let all = ProcessRoles::default();
        let search = ProcessRoles { roles: [ProcessRole::Search].into(), ..all.clone() };
        assert_eq!(exceeded(&config, &all, 2_048 * MIB), None);
        let warning = exceeded(&config, &all, 512 * MIB).unwrap();
        for part in ["http.max_bodies_bytes = 256 MiB", "memory.assistant_bytes", "it has 512 MiB"]
        {
            assert!(warning.contains(part), "{warning}");
        }
        assert_eq!(exceeded(&config, &search, 512 * MIB), None);
        let warning = exceeded(&config, &search, 256 * MIB).unwrap();
        assert!(!warning.contains("http.") && warning.contains("memory.index_bytes"), "{warning}");
    }
}

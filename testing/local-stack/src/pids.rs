//! Processes by /proc: their parents, memory and connections, and how they are killed.

use std::{fs, path::Path, process::Command, time::Duration};

/// Kills a process, if it has not ended.
pub fn kill(pid: u32) {
    let sent = Command::new("kill").args(["-KILL", "--", &pid.to_string()]).status().unwrap();
    assert!(sent.success() || !Path::new("/proc").join(pid.to_string()).exists(), "{pid} cannot be killed");
}

/// The children of a process.
pub fn children(parent: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| parent_of(*pid) == Some(parent)).collect()
}

/// The name of a process's program.
pub fn program(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim().to_owned())
}

/// A process's resident memory, in KiB.
pub fn resident_kib(pid: u32) -> Option<u64> {
    memory_kib(pid, "VmRSS:")
}

/// The peak of a process's resident memory since its start, in KiB.
pub fn peak_resident_kib(pid: u32) -> Option<u64> {
    memory_kib(pid, "VmHWM:")
}

/// The processor time of a process, in user and kernel mode, to a hundredth of a second.
pub fn processor_time(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The 14th and the 15th field; the second is the name, which may contain spaces and parentheses.
    let ticks: Vec<u64> = stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(2).flat_map(str::parse).collect();
    Some(Duration::from_millis(10 * ticks.iter().sum::<u64>()))
}

fn memory_kib(pid: u32, field: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The process among these with the connection from `port` of 127.0.0.1.
pub fn owner_of(port: u16, among: &[u32]) -> Option<u32> {
    let socket = format!("socket:[{}]", inode_of(port)?);
    among.iter().copied().find(|pid| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.filter_map(|file| fs::read_link(file.path()).ok()).any(|target| target.as_os_str() == socket.as_str())
    })
}

/// Whether an open connection to or from `port` of 127.0.0.1 has unread data.
pub fn has_unread(port: u16) -> bool {
    const ESTABLISHED: &str = "01";
    const NOTHING: &str = "00000000:00000000";
    let end = format!("0100007F:{port:04X}");
    let is_unread = |[_, local, remote, state, queued, ..]: &[String; FIELDS]| {
        (*local == end || *remote == end) && state == ESTABLISHED && queued != NOTHING
    };
    connections().iter().any(is_unread)
}

fn inode_of(port: u16) -> Option<u64> {
    let end = format!("0100007F:{port:04X}");
    // A closed connection has no owner: its inode is 0.
    let inode =
        |[_, local, .., inode]: &[String; FIELDS]| inode.parse().ok().filter(|inode| *local == end && *inode != 0);
    connections().iter().find_map(inode)
}

/// The number of fields of the kernel's table that are read: number, local and remote address, state, queues, timer, retransmits,
/// user, timeout, and inode.
const FIELDS: usize = 10;

fn connections() -> Vec<[String; FIELDS]> {
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let fields =
        |line: &str| line.split_whitespace().take(FIELDS).map(str::to_owned).collect::<Vec<_>>().try_into().ok();
    table.lines().filter_map(fields).collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain spaces and parentheses.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

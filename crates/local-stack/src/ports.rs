//! Ports for servers that bind them later than they are chosen.
//!
//! A port is reserved for the life of this process by a lock on a file that all checkouts on the machine share, so that no
//! other test process takes it meanwhile, also while its server is stopped.

use std::{
    env,
    fs::{self, File},
    net::{TcpListener, UdpSocket},
    sync::Mutex,
};

/// The first port. All are below the range that Linux takes the ports of outgoing connections from, which begins at 32768.
const FIRST: u16 = 20_000;
/// How many ports there are.
const COUNT: u16 = 12_000;

/// Reserves a port that nothing uses, on either of the addresses that servers here listen on.
pub fn reserve() -> u16 {
    static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());
    // Test processes that run at the same time start looking at different places.
    let first = u16::try_from(std::process::id() % u32::from(COUNT / 64)).unwrap() * 64;
    let mut held = HELD.lock().unwrap();
    for port in (0..COUNT).map(|next| FIRST + (first + next) % COUNT) {
        if let Some(lock) = lock(port).filter(|_| is_free(port)) {
            held.push(lock);
            return port;
        }
    }
    panic!("none of the ports {FIRST} to {} is free", FIRST + COUNT - 1);
}

/// The lock on a port, unless some process has it.
fn lock(port: u16) -> Option<File> {
    let folder = env::temp_dir().join("ecs-mesh-controller-ports");
    fs::create_dir_all(&folder).unwrap();
    // A file of another user cannot be opened: that user's processes have the port.
    let file = File::options().create(true).append(true).open(folder.join(port.to_string())).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

fn is_free(port: u16) -> bool {
    let is_free = |address| TcpListener::bind((address, port)).is_ok() && UdpSocket::bind((address, port)).is_ok();
    ["127.0.0.1", "127.0.0.2"].into_iter().all(is_free)
}

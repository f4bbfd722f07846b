//! Reservations of ports for servers that bind them later.
//!
//! A port is reserved by a Unix socket with the port number in its name, in Linux's abstract namespace. All processes of a
//! machine share that namespace, and the socket is closed with the process. So no other test process reserves the port, also
//! while its server is stopped.

use std::{
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener},
    },
    sync::Mutex,
};

/// The first port. All ports are below Linux's ephemeral port range, which begins at 32768 by default
/// (`net.ipv4.ip_local_port_range`).
const FIRST: u16 = 20_000;
/// The number of ports.
const COUNT: u16 = 12_000;

/// Reserves a port that is free on both addresses that servers listen on.
pub fn reserve() -> u16 {
    static RESERVED: Mutex<Vec<UnixListener>> = Mutex::new(Vec::new());
    // Concurrent test processes begin at different ports.
    let first = u16::try_from(std::process::id() % u32::from(COUNT / 64)).unwrap() * 64;
    let mut reserved = RESERVED.lock().unwrap();
    for port in (0..COUNT).map(|next| FIRST + (first + next) % COUNT) {
        if let Some(reservation) = reservation(port).filter(|_| is_free(port)) {
            reserved.push(reservation);
            return port;
        }
    }
    panic!("none of the ports {FIRST} to {} is free", FIRST + COUNT - 1);
}

/// The reservation of a port, unless another process has reserved it.
fn reservation(port: u16) -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name(format!("ecs-mesh-controller-port-{port}")).unwrap();
    UnixListener::bind_addr(&name).ok()
}

fn is_free(port: u16) -> bool {
    let is_free = |address| TcpListener::bind((address, port)).is_ok() && UdpSocket::bind((address, port)).is_ok();
    ["127.0.0.1", "127.0.0.2"].into_iter().all(is_free)
}

//! A connection to the proxy that can be broken at any byte of an answer.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
};

use super::tally::Tally;

/// How a broken connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With a reset.
    Reset,
    /// As if all had been said.
    Close,
}

/// What a connection still lets through.
#[derive(Debug, Clone, Copy)]
enum Cut {
    Intact,
    /// The next answer's head, and so many bytes of its body.
    AfterBody(usize, End),
    /// So many bytes.
    AfterBytes(usize, End),
}

/// A connection, as a handler sees it.
#[derive(Clone)]
pub(crate) struct Connection {
    pub peer: SocketAddr,
    cut: Arc<Mutex<Cut>>,
}

impl Connection {
    /// Breaks the connection before the next byte of an answer.
    pub(crate) fn break_now(&self, end: End) {
        *self.cut.lock().unwrap() = Cut::AfterBytes(0, end);
    }

    /// Breaks it after so many bytes of the next answer's body.
    pub(crate) fn break_in_body(&self, bytes: usize, end: End) {
        *self.cut.lock().unwrap() = Cut::AfterBody(bytes, end);
    }
}

impl Connected<IncomingStream<'_, Gateway>> for Connection {
    fn connect_info(stream: IncomingStream<'_, Gateway>) -> Self {
        Self { peer: *stream.remote_addr(), cut: Arc::clone(&stream.io().cut) }
    }
}

/// Accepts breakable connections.
pub(crate) struct Gateway {
    pub listener: TcpListener,
    pub tally: Arc<Tally>,
}

impl Listener for Gateway {
    type Io = Wire;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Wire, SocketAddr) {
        let (stream, peer) = Listener::accept(&mut self.listener).await;
        // Small answers must not wait for more.
        let _ = stream.set_nodelay(true);
        self.tally.connected(peer);
        let wire = Wire { stream, peer, cut: Arc::new(Mutex::new(Cut::Intact)), tally: Arc::clone(&self.tally) };
        (wire, peer)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A breakable connection.
pub(crate) struct Wire {
    stream: TcpStream,
    peer: SocketAddr,
    cut: Arc<Mutex<Cut>>,
    tally: Arc<Tally>,
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.tally.disconnected(self.peer);
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let cut = *self.cut.lock().unwrap();
        let (allowed, end) = match cut {
            Cut::Intact => return Pin::new(&mut self.stream).poll_write(cx, bytes),
            Cut::AfterBytes(allowed, end) => (allowed, end),
            Cut::AfterBody(allowed, end) => match head_of(bytes) {
                Some(head) => (head + allowed, end),
                None => return Pin::new(&mut self.stream).poll_write(cx, bytes),
            },
        };
        if allowed == 0 {
            if end == End::Reset {
                // What is not read yet is thrown away, and the other side is told so.
                let _ = self.stream.set_zero_linger();
            }
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        let written = Pin::new(&mut self.stream).poll_write(cx, &bytes[..allowed.min(bytes.len())]);
        if let Poll::Ready(Ok(count)) = written {
            *self.cut.lock().unwrap() = Cut::AfterBytes(allowed - count, end);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Where an answer's head ends.
fn head_of(bytes: &[u8]) -> Option<usize> {
    const BLANK_LINE: &[u8] = b"\r\n\r\n";
    bytes.windows(BLANK_LINE.len()).position(|window| window == BLANK_LINE).map(|at| at + BLANK_LINE.len())
}

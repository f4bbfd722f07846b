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

use super::stats::Stats;

/// How a broken connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With a reset.
    Reset,
    /// With an orderly close.
    Close,
}

/// Where a connection is to break.
#[derive(Debug, Clone, Copy)]
enum Cut {
    Intact,
    /// After the next answer's head and this many bytes of its body.
    AfterBody(usize, End),
    /// After this many bytes.
    AfterBytes(usize, End),
}

/// A handler's reference to a connection.
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

    /// Breaks the connection after this many bytes of the next answer's body.
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
    pub stats: Arc<Stats>,
}

impl Listener for Gateway {
    type Io = BreakableStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (BreakableStream, SocketAddr) {
        let (stream, peer) = Listener::accept(&mut self.listener).await;
        // Small answers are sent at once.
        let _ = stream.set_nodelay(true);
        self.stats.connected();
        let stream = BreakableStream { stream, cut: Arc::new(Mutex::new(Cut::Intact)), stats: Arc::clone(&self.stats) };
        (stream, peer)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A breakable connection.
pub(crate) struct BreakableStream {
    stream: TcpStream,
    cut: Arc<Mutex<Cut>>,
    stats: Arc<Stats>,
}

impl Drop for BreakableStream {
    fn drop(&mut self) {
        self.stats.disconnected();
    }
}

impl AsyncRead for BreakableStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for BreakableStream {
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
                // Unread data is discarded, and the peer gets a reset.
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

/// The length of an answer's head.
fn head_of(bytes: &[u8]) -> Option<usize> {
    const BLANK_LINE: &[u8] = b"\r\n\r\n";
    bytes.windows(BLANK_LINE.len()).position(|window| window == BLANK_LINE).map(|at| at + BLANK_LINE.len())
}

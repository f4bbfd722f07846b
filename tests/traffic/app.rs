//! Answers to HTTP requests: the app of a task, and the metadata of a task.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// A server that answers every request with the same function, and ends when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Listens on a port of 127.0.0.1; 0 for any.
    pub(crate) async fn start(port: u16, body: impl Fn() -> String + Clone + Send + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, body()));
            }
        });
        Self { address, accepting }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The listener closes, as with a program that has ended.
        self.accepting.abort();
    }
}

/// Answers the one request of a connection.
async fn answer(mut stream: TcpStream, body: String) {
    let mut request = Vec::new();
    let mut buffer = [0; 2048];
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => request.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let _ = stream.write_all(answer.as_bytes()).await;
}

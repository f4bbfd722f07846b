//! A server at a distance: a relay with TLS in front of a real server, which delays everything by a round-trip time.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use test_harness::tls::certificate_for;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional, duplex, split},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::{Instant, sleep_until},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

/// The largest part that is relayed at once.
const PART: usize = 16 * 1024;

/// The certificate of all relays, for `localhost`.
pub(crate) struct Identity {
    /// PEM of its authority.
    pub(crate) authority: String,
    tls: TlsAcceptor,
}

impl Identity {
    pub(crate) fn generate() -> Self {
        let issued = certificate_for("localhost");
        let certificate = CertificateDer::from_pem_slice(issued.certificate.as_bytes()).expect("a certificate");
        let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).expect("a key");
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key);
        Self {
            authority: issued.authority,
            tls: TlsAcceptor::from(Arc::new(config.expect("a key of the certificate"))),
        }
    }
}

/// A relay, which ends with the runtime.
pub(crate) struct Relay {
    /// `https://localhost:port`.
    pub(crate) url: String,
    connections: Arc<AtomicUsize>,
}

impl Relay {
    /// Stands `round_trip` away in front of a server at `http://host:port`.
    pub(crate) async fn before(server: &str, identity: &Identity, round_trip: Duration) -> Self {
        let server: SocketAddr = server.trim_start_matches("http://").parse().expect("an address");
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let (connections, counted) = (Arc::new(AtomicUsize::new(0)), identity.tls.clone());
        let count = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(relay(client, server, counted.clone(), round_trip));
            }
        });
        Self { url: format!("https://localhost:{port}"), connections }
    }

    /// How many connections were opened.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

async fn relay(client: TcpStream, server: SocketAddr, tls: TlsAcceptor, round_trip: Duration) {
    let _ = client.set_nodelay(true);
    let (near, far) = duplex(PART);
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), split(near));
    // The kernel accepts the connection at once; over the distance that takes a round trip.
    let there = pump(from_client, to_server, round_trip / 2, round_trip);
    let back = pump(from_server, to_client, round_trip / 2, Duration::ZERO);
    let serve = async {
        let Ok(mut plain) = tls.accept(far).await else { return };
        let Ok(mut server) = TcpStream::connect(server).await else { return };
        let _ = server.set_nodelay(true);
        let _ = copy_bidirectional(&mut plain, &mut server).await;
    };
    tokio::join!(there, back, serve);
}

/// Copies with a delay. Parts that follow each other closely arrive as close.
async fn pump(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, delay: Duration, first: Duration) {
    let (sender, mut parts) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    let read = async move {
        let mut part = vec![0; PART];
        let opened = Instant::now() + first;
        while let Ok(length @ 1..) = from.read(&mut part).await {
            let arrives = Instant::now().max(opened) + delay;
            if sender.send((arrives, part[..length].to_vec())).is_err() {
                return;
            }
        }
    };
    let write = async move {
        while let Some((arrives, part)) = parts.recv().await {
            sleep_until(arrives).await;
            if to.write_all(&part).await.and(to.flush().await).is_err() {
                return;
            }
        }
        let _ = to.shutdown().await;
    };
    tokio::join!(read, write);
}

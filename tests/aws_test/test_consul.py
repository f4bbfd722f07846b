"""The connection to Consul, which make aws-test keeps from look to look."""

import datetime
import http.server
import ipaddress
import ssl
import threading

import pytest
from aws_test import consul
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def certificate(folder) -> tuple[str, str]:
    """The paths of a certificate for the server of dc1, and of its key."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.timezone.utc)
    names = x509.SubjectAlternativeName([x509.DNSName(consul.SERVER_NAME), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).add_extension(names, False)
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    signed = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), True).sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    (folder / "cert.pem").write_bytes(signed.public_bytes(pem))
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(private)
    return str(folder / "cert.pem"), str(folder / "key.pem")


class Server(http.server.ThreadingHTTPServer):
    """Answers everything with a list, and counts connections and requests."""

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.connections, self.requests, self.closes = 0, [], False
        cert, key = certificate(folder)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(cert, key)
        self.socket = tls.wrap_socket(self.socket, server_side=True)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.server.connections += 1

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append(f"{self.command} {self.path}")
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"[]")
        # As a server does that ends, or that has no use for idle connections: without a word in the answer.
        self.close_connection = self.server.closes

    do_PUT = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    server = Server(tmp_path)
    monkeypatch.setattr(consul, "PORT", server.server_port)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def client(tmp_path) -> consul.Consul:
    return consul.Consul("127.0.0.1", (tmp_path / "cert.pem").read_text(), "token")


def test_looks_share_a_connection(server, tmp_path):
    it = client(tmp_path)
    for _ in range(5):
        assert it.call("GET", "/v1/acl/tokens") == []
    assert server.connections == 1


def test_a_connection_that_the_server_has_closed_is_replaced_and_no_write_is_repeated(server, tmp_path):
    server.closes = True
    it = client(tmp_path)
    calls = [("GET", "/1"), ("GET", "/2"), ("PUT", "/3"), ("PUT", "/4"), ("GET", "/5")]
    for method, path in calls:
        assert it.call(method, path) == []
    assert server.requests == [f"{method} {path}" for method, path in calls]


def test_a_server_that_is_gone_is_unreachable(server, tmp_path):
    it = client(tmp_path)
    server.closes = True
    assert it.call("GET", "/1") == []
    server.shutdown()
    server.server_close()
    for method in ("GET", "PUT"):
        with pytest.raises(consul.Unreachable):
            it.call(method, "/2")

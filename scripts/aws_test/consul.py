"""Consul's HTTP API, as the scenarios need it."""

import http.client
import json
import socket
import ssl
from typing import Any

from . import Problem

# The name in the certificate that `consul tls cert create -server` makes for datacenter dc1.
SERVER_NAME = "server.dc1.consul"
PORT = 8501
# How long a call may take, in seconds.
TIMEOUT = 10


class Unreachable(Exception):
    """Consul does not answer, or has no leader."""


class NamedConnection(http.client.HTTPSConnection):
    """Connects to an address, and verifies the certificate for another name."""

    def __init__(self, host: str, ca: str):
        super().__init__(host, PORT, timeout=TIMEOUT)
        self.tls = ssl.create_default_context(cadata=ca)

    def connect(self) -> None:
        plain = socket.create_connection((self.host, self.port), self.timeout)
        self.sock = self.tls.wrap_socket(plain, server_hostname=SERVER_NAME)


class Consul:
    def __init__(self, host: str, ca: str, token: str):
        self.host, self.ca, self.token = host, ca, token
        self.address = f"https://{host}:{PORT}"
        # Kept from call to call: a handshake takes longer than a look.
        self.connection = NamedConnection(host, ca)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        # A kept connection may be closed by now. A read is repeated on a new one, and a write has a new one at once.
        if method != "GET":
            self.connection.close()
        is_kept = self.connection.sock is not None
        try:
            status, text = self.exchange(method, path, body)
        except Unreachable:
            if not is_kept:
                raise
            status, text = self.exchange(method, path, body)
        if status == 500 and "No cluster leader" in text:
            raise Unreachable(f"{self.address}: {text}")
        if status != 200:
            raise Problem(f"Consul refused {method} {path}: {status} {text.strip()}")
        return json.loads(text) if text else None

    def exchange(self, method: str, path: str, body: Any) -> tuple[int, str]:
        """The status and the text of an answer."""
        try:
            self.connection.request(method, path, body and json.dumps(body), {"X-Consul-Token": self.token})
            answer = self.connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            raise Unreachable(f"{self.address}: {error}") from error
        except BaseException:
            # Interrupted in the middle of an answer.
            self.connection.close()
            raise

    def instances(self, service: str) -> list[dict]:
        """The instances of a service, each with its checks."""
        return self.call("GET", f"/v1/health/service/{service}")

    def instance(self, service: str, task_id: str) -> dict | None:
        return next((it for it in self.instances(service) if it["Service"]["Meta"].get("task-id") == task_id), None)

    def login_tokens(self, task_id: str) -> list[dict]:
        return [token for token in self.call("GET", "/v1/acl/tokens") if task_id in token["Description"]]

    def allow(self, source: str, destination: str) -> None:
        """Lets a service call another: https://developer.hashicorp.com/consul/docs/reference/config-entry/service-intentions"""
        sources = [{"Name": source, "Action": "allow"}]
        self.call("PUT", "/v1/config", {"Kind": "service-intentions", "Name": destination, "Sources": sources})

    def deregister(self, node: str, service_id: str) -> None:
        self.call("PUT", "/v1/catalog/deregister", {"Node": node, "ServiceID": service_id})

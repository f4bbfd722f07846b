"""Downloads one file: fetch.py URL SHA256 DESTINATION.

Fails fast if the host does not answer, and leaves no file if the checksum differs.
"""

import hashlib
import os
import socket
import sys
import urllib.error
import urllib.parse
import urllib.request

CONNECT_SECONDS = 5
STALL_SECONDS = 30


def reachable(url: str) -> None:
    """Connects once: urllib has no separate connect timeout, and tries every address in turn."""
    if urllib.request.getproxies().get(urllib.parse.urlsplit(url).scheme):
        return
    host = urllib.parse.urlsplit(url).hostname
    socket.create_connection((host, 443), timeout=CONNECT_SECONDS).close()


def main() -> None:
    url, sha256, destination = sys.argv[1:]
    partial = destination + ".part"
    digest = hashlib.sha256()
    try:
        reachable(url)
        with urllib.request.urlopen(url, timeout=STALL_SECONDS) as response, open(partial, "wb") as file:
            while block := response.read(1 << 20):
                digest.update(block)
                file.write(block)
    except (OSError, urllib.error.URLError) as error:
        sys.exit(f"{url}: {error}")
    if digest.hexdigest() != sha256:
        os.remove(partial)
        sys.exit(f"{url}: checksum is {digest.hexdigest()}, expected {sha256}")
    os.replace(partial, destination)


if __name__ == "__main__":
    main()

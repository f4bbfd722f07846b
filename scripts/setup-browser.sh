#!/usr/bin/env bash
# Finds a Chromium for the tests that look at the HTML report, or installs Debian's where that is possible.
set -euo pipefail

for browser in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
    if [ -n "$browser" ] && command -v "$browser" >/dev/null; then
        exit
    fi
done

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    printf 'setup: installing chromium (about 100 MB)\n'
    apt-get update --quiet --quiet
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --quiet --no-install-recommends chromium >/dev/null
    exit
fi

printf 'setup: error: %s\n' 'no Chromium found, in which the tests look at the HTML report.' \
    'Install one, for example: sudo apt-get install chromium; or name it: CHROMIUM=/path/to/chromium make test' >&2
exit 1

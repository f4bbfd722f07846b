#!/usr/bin/env bash
# Finds a Chromium for the test that looks at the HTML report, or installs Debian's where that is possible. Where it is not,
# that test is skipped, and says so.
set -euo pipefail

for browser in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
    if [ -n "$browser" ] && command -v "$browser" >/dev/null; then
        exit
    fi
done

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    printf 'setup: installing chromium (about 100 MB)\n'
    if apt-get update --quiet --quiet &&
        DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --quiet --no-install-recommends chromium >/dev/null; then
        exit
    fi
fi

printf 'setup: %s\n' 'no Chromium found: the test that looks at the HTML report in one will be skipped.' \
    'Install one, for example: sudo apt-get install chromium; or name it: CHROMIUM=/path/to/chromium make test'

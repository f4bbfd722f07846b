#!/usr/bin/env bash
# Finds a Chromium for the tests of the HTML report and the site, or installs Debian's if possible. Without one, the tests are skipped
# with a message.
set -euo pipefail

# An installed program may not start: Ubuntu's chromium-browser only prints that a snap is to be installed.
starts() { "$1" --version >/dev/null 2>&1; }

if [ -n "${CHROMIUM:-}" ]; then
    if starts "$CHROMIUM"; then exit; fi
    printf 'setup: error: CHROMIUM=%s does not start: "%s" --version says why; or unset it\n' "$CHROMIUM" "$CHROMIUM" >&2
    exit 1
fi
for browser in chromium chromium-browser google-chrome; do
    if starts "$browser"; then exit; fi
done

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    printf 'setup: installing chromium (about 100 MB)\n'
    if apt-get update --quiet --quiet &&
        DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --quiet --no-install-recommends chromium >/dev/null &&
        starts chromium; then
        exit
    fi
fi

printf 'setup: %s\n' 'no Chromium found: the tests of the HTML report and the site will be skipped.' \
    'Install one, for example: sudo apt-get install chromium; or name it: CHROMIUM=/path/to/chromium make test'

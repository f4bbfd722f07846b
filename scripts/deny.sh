#!/usr/bin/env bash
# Checks the dependencies against deny.toml: licences, sources, bans, and known vulnerabilities, as far as the database of
# RustSec can be had.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo-deny --locked check licenses bans sources

databases=${CARGO_HOME:-$HOME/.cargo}/advisory-dbs
if reason=$(cargo-deny --locked fetch db 2>&1); then
    cargo-deny --locked check --disable-fetch advisories
elif compgen -G "$databases/advisory-db-*/crates" >/dev/null; then
    echo "advisories: the database cannot be fetched now; checking against the one of an earlier time, in $databases"
    cargo-deny --locked check --disable-fetch advisories
else
    echo "advisories: NOT CHECKED, because the database of RustSec cannot be fetched: $(tail -n 1 <<<"$reason")"
fi

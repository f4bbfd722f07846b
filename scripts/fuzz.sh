#!/usr/bin/env bash
# Feeds random input to every parser of the auditor: fuzz.sh [SECONDS for each target]
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
tools=$PWD/target/tools/cargo-fuzz
export CARGO_TARGET_DIR=$PWD/target/fuzz
# Instrumentation is a feature of the nightly compiler, which the stable one has as well when it is told so.
export RUSTC_BOOTSTRAP=1
export PATH=$tools/bin:$PATH

if [[ ! -x $tools/bin/cargo-fuzz ]]; then
  cargo install cargo-fuzz --locked --version 0.13.2 --root "$tools" --target-dir target/tools/build
fi

seed() { # TARGET FILE [PREFIX]: a file as a seed, with a byte before it that selects a name
  mkdir -p "fuzz/corpus/$1"
  { printf '%b' "${3:-}"; cat "$2"; } >"fuzz/corpus/$1/seed-${2//\//-}"
}

for file in src/audit/bases/*.json tests/audit_inputs/*.json tests/audit_inputs/*.template; do
  seed json "$file"
  seed repair "$file"
  seed read_source "$file" '\0'
done
for file in tests/audit_inputs/*.yaml; do
  seed yaml "$file"
  seed repair "$file"
  seed read_source "$file" '\1'
done
mkdir -p fuzz/corpus/embedded fuzz/corpus/configuration
grep -ho '"{\\"bootstrapDir.*"' src/audit/bases/*.json | awk '{ print > ("fuzz/corpus/embedded/seed-" NR) }'
cat >fuzz/corpus/configuration/seed <<'TOML'
fail-on = "warning"
[severity]
consul-network-mode = "info"
[[ignore]]
rule = "consul-volumes"
path = "legacy/**"
family = "web-*"
reason = "goes away in March"
TOML

# Without a sanitizer: all of this is safe Rust, and what is looked for are panics and endless loops.
for target in read_source json yaml embedded configuration repair; do
  echo "== $target, $seconds seconds"
  nice -n 10 cargo fuzz run --sanitizer none "$target" -- \
    -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=20000 -print_final_stats=1
done

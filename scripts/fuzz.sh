#!/usr/bin/env bash
# Fuzzes all parsers of external input: fuzz.sh [SECONDS for each target] [TARGET...]
#
# fuzz/corpus has the committed corpora; new inputs are added to target/fuzz/corpus. A failing input is left in fuzz/artifacts: minimise
# it with `TARGET=events cargo fuzz tmin target INPUT`, add it to fuzz/corpus, and fix the code.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
targets=("${@:2}")
all=(
  read_source json yaml embedded configuration repair
  events arns consul secrets ecs_config settings
)
[[ ${#targets[@]} -gt 0 ]] || targets=("${all[@]}")

export CARGO_TARGET_DIR=$PWD/target/fuzz
# Enables the nightly feature for instrumentation in the stable compiler.
export RUSTC_BOOTSTRAP=1
export PATH=$PWD/target/tools/bin:$PATH

"${PYTHON:-python3}" scripts/fetch.py cargo-fuzz

# Seeds: the repository's definitions and templates, with a first character that selects the file's name.
seeds=target/fuzz/seeds
seed() { # TARGET FILE [PREFIX]
  mkdir -p "$seeds/$1"
  { printf '%s' "${3:-}"; cat "$2"; } >"$seeds/$1/${2//\//-}"
}
for file in crates/audit/src/bases/*.json crates/audit/tests/audit_inputs/*.json crates/audit/tests/audit_inputs/*.template; do
  seed json "$file"
  seed repair "$file"
  seed read_source "$file" 0
done
for file in crates/audit/tests/audit_inputs/*.yaml; do
  seed yaml "$file"
  seed repair "$file"
  seed read_source "$file" 1
done
for file in crates/audit/tests/audit/terraform_source/modules/*.tf; do
  seed read_source "$file" 5
done

# Without a sanitizer: all code is safe Rust. The targets find panics, failed assertions, endless loops and memory out of proportion to
# the input (which they measure).
nice -n 10 cargo fuzz build --sanitizer none
for target in "${targets[@]}"; do
  echo "== $target, $seconds seconds"
  grown=target/fuzz/corpus/$target
  mkdir -p "$grown" "$seeds/$target"
  TARGET=$target nice -n 10 cargo fuzz run --sanitizer none target "$grown" "fuzz/corpus/$target" "$seeds/$target" -- \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=512 -max_len=20000 -print_final_stats=1
done

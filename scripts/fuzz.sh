#!/usr/bin/env bash
# Feeds random input to everything that reads what comes from outside: fuzz.sh [SECONDS for each target] [TARGET...]
#
# fuzz/corpus holds what is kept; what is found beyond it grows in target/fuzz/corpus. An input that does harm is left in
# fuzz/artifacts: make it small with `cargo fuzz tmin`, put it into fuzz/corpus, and mend the code.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
targets=("${@:2}")
all=(
  read_source json yaml embedded configuration repair
  events arns consul secrets ecs_config settings
)
[[ ${#targets[@]} -gt 0 ]] || targets=("${all[@]}")

tools=$PWD/target/tools/cargo-fuzz
export CARGO_TARGET_DIR=$PWD/target/fuzz
# Instrumentation is a feature of the nightly compiler, which the stable one has as well when it is told so.
export RUSTC_BOOTSTRAP=1
export PATH=$tools/bin:$PATH

if [[ ! -x $tools/bin/cargo-fuzz ]]; then
  cargo install cargo-fuzz --locked --version 0.13.2 --root "$tools" --target-dir target/tools/build
fi

# The repository's own definitions and templates, with a character before them that selects a file's name.
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

# Without a sanitizer: all of this is safe Rust, and what is looked for are panics, broken promises, endless loops and
# memory out of proportion to the input (which the targets measure themselves).
nice -n 10 cargo fuzz build --sanitizer none
for target in "${targets[@]}"; do
  echo "== $target, $seconds seconds"
  grown=target/fuzz/corpus/$target
  mkdir -p "$grown" "$seeds/$target"
  nice -n 10 cargo fuzz run --sanitizer none "$target" "$grown" "fuzz/corpus/$target" "$seeds/$target" -- \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=512 -max_len=20000 -print_final_stats=1
done

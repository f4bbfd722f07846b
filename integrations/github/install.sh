#!/usr/bin/env bash
# Builds ecs-mesh for the GitHub Action, unless it is installed.
set -euo pipefail

if command -v ecs-mesh; then
  exit
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cargo install --locked --path "$here/crates/cli" --root "$RUNNER_TEMP/ecs-mesh"
echo "$RUNNER_TEMP/ecs-mesh/bin" >> "$GITHUB_PATH"

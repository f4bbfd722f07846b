#!/usr/bin/env bash
# Builds ecs-mesh for the GitHub Action, unless it is installed.
set -euo pipefail

if command -v ecs-mesh; then
  exit
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# The reports link to the rules' pages of this version. The action has no repository if a workflow uses it by a path of
# its own checkout.
if [[ -n ${ACTION_REPOSITORY:-} ]]; then
  version="$ACTION_REPOSITORY/blob/$ACTION_REF"
else
  version="$GITHUB_REPOSITORY/blob/$GITHUB_SHA"
fi
export ECS_MESH_DOCS="${ECS_MESH_DOCS:-$GITHUB_SERVER_URL/$version/docs/rules}"
cargo install --locked --path "$here/crates/cli" --root "$RUNNER_TEMP/ecs-mesh"
echo "$RUNNER_TEMP/ecs-mesh/bin" >> "$GITHUB_PATH"

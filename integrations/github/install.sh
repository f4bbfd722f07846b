#!/usr/bin/env bash
# Installs ecs-mesh for the GitHub Action, unless it is installed: from the release of this version, or else by compiling it.
set -euo pipefail

if command -v ecs-mesh; then
  exit
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
installed="$RUNNER_TEMP/ecs-mesh/bin"
echo "$installed" >> "$GITHUB_PATH"
# Windows has no python3.
python=$(command -v python3 || command -v python || true)
code=3
if [[ -n $python ]]; then
  code=0
  "$python" "$here/integrations/python/released.py" "$installed" || code=$?
fi
# 3: no release. Anything else is an error, such as another checksum.
if [[ $code -ne 3 ]]; then
  exit "$code"
fi
# The reports link to the rules' pages of this version. The action has no repository if a workflow uses it by a path of
# its own checkout.
if [[ -n ${ACTION_REPOSITORY:-} ]]; then
  version="$ACTION_REPOSITORY/blob/$ACTION_REF"
else
  version="$GITHUB_REPOSITORY/blob/$GITHUB_SHA"
fi
export ECS_MESH_DOCS="${ECS_MESH_DOCS:-$GITHUB_SERVER_URL/$version/docs/reference/rules}"
cargo install --locked --path "$here/crates/cli" --root "$RUNNER_TEMP/ecs-mesh"

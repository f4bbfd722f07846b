#!/usr/bin/env bash
# Runs ecs-mesh for the GitHub Action: annotations of the pull request, a summary of the job, and a file for code scanning.
set -euo pipefail

# Words are separated by blanks and line breaks. ecs-mesh itself expands globs.
read -r -d '' -a paths < <(printf '%s\0' "${ECS_MESH_PATHS:-.}")
read -r -d '' -a arguments < <(printf '%s\0' "${ECS_MESH_ARGUMENTS:-}")
if [[ -n ${ECS_MESH_FAIL_ON:-} ]]; then
  arguments+=(--fail-on "$ECS_MESH_FAIL_ON")
fi
sarif="$RUNNER_TEMP/ecs-mesh.sarif"

report() {
  ecs-mesh check ${arguments[@]+"${arguments[@]}"} "$@" -- "${paths[@]}"
}

code=0
report --output github || code=$?
echo "exit-code=$code" >> "$GITHUB_OUTPUT"

# The same findings in other formats. Another exit code than before is an error; that of SARIF may be 0 in spite of findings.
report --output markdown 2> "$RUNNER_TEMP/ecs-mesh.errors" >> "$GITHUB_STEP_SUMMARY" || test $? -eq "$code"
report --output sarif --output-file "$sarif" 2> "$RUNNER_TEMP/ecs-mesh.errors" || test $? -eq "$code"
echo "sarif=$sarif" >> "$GITHUB_OUTPUT"

exit "$code"

#!/usr/bin/env bash
# Runs ecs-mesh for the GitHub Action: annotations of the pull request, a summary of the job, and a file for code scanning.
set -euo pipefail

# ecs-mesh itself expands globs. A path with blanks can be written in a value of several lines.
separators=$' \t\n'
if [[ ${ECS_MESH_PATHS:-} == *$'\n'* ]]; then
  separators=$'\n'
fi
IFS="$separators" read -r -d '' -a paths < <(printf '%s\0' "${ECS_MESH_PATHS:-.}")
read -r -d '' -a arguments < <(printf '%s\0' "${ECS_MESH_ARGUMENTS:-}")

refuse() {
  echo "::error title=ecs-mesh::the input arguments of the action cannot have $1: $2"
  echo "exit-code=2" >> "$GITHUB_OUTPUT"
  exit 2
}
for argument in ${arguments[@]+"${arguments[@]}"}; do
  case $argument in
    --output | --output=* | -o* | --output-file | --output-file=*) refuse "${argument%%=*}" 'the action sets it itself' ;;
    --statistics) refuse "$argument" 'the action shows the findings themselves' ;;
    --add-ignore | --add-ignore=*) refuse "${argument%%=*}" 'it changes files; run it in your checkout, and commit them' ;;
    --exit-zero | --fail-on | --fail-on=*)
      [[ -z ${ECS_MESH_FAIL_ON:-} ]] || refuse "${argument%%=*}" 'the input fail-on is set'
      ;;
    --help | -h) refuse "$argument" 'nothing would be checked' ;;
    --) refuse "$argument" 'write paths in the input paths' ;;
  esac
done

if [[ -n ${ECS_MESH_FAIL_ON:-} ]]; then
  arguments+=(--fail-on "$ECS_MESH_FAIL_ON")
fi
# Each step has its own files: the findings of an earlier one are not uploaded as those of this one.
temporary="$(mktemp -d "$RUNNER_TEMP/ecs-mesh.XXXXXXXX")"
sarif="$temporary/ecs-mesh.sarif"
messages="$temporary/errors"

report() {
  ecs-mesh check ${arguments[@]+"${arguments[@]}"} "$@" -- "${paths[@]}"
}

code=0
report --output github || code=$?
echo "exit-code=$code" >> "$GITHUB_OUTPUT"

# The same findings in other formats. The first run has printed the messages, unless this one ends with another exit code,
# which is an error; that of SARIF may be 0 in spite of findings.
again() {
  local ended=0
  report "$@" 2> "$messages" || ended=$?
  if [[ $ended -ne 0 && $ended -ne $code ]]; then
    cat "$messages" >&2
    exit "$ended"
  fi
}
again --output markdown >> "$GITHUB_STEP_SUMMARY"
again --output sarif --output-file "$sarif"
if [[ -s $sarif ]]; then
  echo "sarif=$sarif" >> "$GITHUB_OUTPUT"
fi

exit "$code"

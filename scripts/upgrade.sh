#!/usr/bin/env bash
# Builds the functions of an earlier version, in a worktree that is removed afterwards, and prints the folder with its template
# and its functions: NAME/bootstrap, as cargo-lambda writes them. Builds each commit once. Without a commit or a tag it is the last
# release before this one. Before the first release it is the commit after which nothing had to be compatible with earlier ones.
set -euo pipefail
from=${1:-$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null || echo bb5c098bece3)}
commit=$(git rev-parse --quiet --verify "$from^{commit}") || { echo "upgrade.sh: $from is no commit or tag" >&2; exit 1; }
upgrade=$PWD/target/upgrade
version=$upgrade/$commit
if [ ! -d "$version" ]; then
	source=$upgrade/source
	# What a build that was killed has left.
	rm -rf "$source"
	git worktree prune
	git worktree add --quiet --detach "$source" "$commit" >&2
	trap 'git worktree remove --force "$source"' EXIT
	export CARGO_TARGET_DIR=$upgrade/target
	(cd "$source" && cargo build --locked --package ecs-mesh-controller --package audit-function \
		--bin task-events --bin reconcile --bin audit) >&2
	mkdir -p "$version.new"
	cp "$source/template.yaml" "$version.new"
	for function in task-events reconcile audit; do
		install -D "$CARGO_TARGET_DIR/debug/$function" "$version.new/$function/bootstrap"
	done
	mv "$version.new" "$version"
fi
echo "$version"

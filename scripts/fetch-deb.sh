#!/usr/bin/env bash
# Unpacks one Debian package into DIRECTORY/root without installing it:
#
#     fetch-deb.sh DIRECTORY SUITE PACKAGE=VERSION SHA256
#
# apt uses its own lists, sources and state, so that it requires no root and changes nothing on this machine.
set -euo pipefail

directory=$1 suite=$2 package=$3 sha256=$4
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
python=${PYTHON:-python3}

archives=$("$python" "$scripts/debian_archives.py")
if [[ -z $archives ]]; then
    echo "no Debian archive in this machine's apt sources"
    exit 1
fi

rm -rf "$directory"
mkdir -p "$directory"/{state/lists/partial,cache/archives/partial,download,root}
directory=$(cd "$directory" && pwd)
: >"$directory/status"

apt_options=(
    -qq
    -o "Dir::Etc::sourcelist=$directory/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::Etc::preferencesparts=/dev/null
    -o "Dir::State=$directory/state" -o "Dir::State::status=$directory/status" -o "Dir::Cache=$directory/cache"
    # As root, apt would otherwise switch to a user that cannot write here.
    -o "APT::Sandbox::User=$(id -un)"
    # Only the list of packages; short timeouts for archives that do not answer.
    -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false
    -o Acquire::Retries=1 -o Acquire::http::Timeout=15 -o Acquire::https::Timeout=15
)

download() {
    local archive=$1 signed_by=""
    [[ -r $keyring ]] && signed_by="[signed-by=$keyring] "
    echo "deb $signed_by$archive $suite main" >"$directory/sources.list"
    apt-get "${apt_options[@]}" update && (cd "$directory/download" && apt-get "${apt_options[@]}" download "$package")
}

while read -r archive; do
    if download "$archive"; then
        deb=$(echo "$directory"/download/*.deb)
        echo "$sha256  $deb" | sha256sum --check --quiet --strict
        dpkg -x "$deb" "$directory/root"
        rm -rf "$directory"/{state,cache,download,status,sources.list}
        exit 0
    fi
done <<<"$archives"
exit 1

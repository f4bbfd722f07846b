#!/usr/bin/env bash
# Unpacks a release of Consul into TOOLS/consul-VERSION, verified by the checksums that HashiCorp publishes with it:
# fetch-consul.sh TOOLS VERSION
set -euo pipefail

tools=${1:?usage: fetch-consul.sh TOOLS VERSION} version=${2:?usage: fetch-consul.sh TOOLS VERSION}
directory=$tools/consul-$version
[[ -x $directory/consul ]] && exit
arch=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
address=https://releases.hashicorp.com/consul/$version
archive=consul_${version}_linux_$arch.zip
checksum=$(curl --fail --silent --show-error --max-time 60 "$address/consul_${version}_SHA256SUMS" |
    awk -v name="$archive" '$2 == name { print $1 }')
mkdir -p "$directory"
python3 "$(dirname "${BASH_SOURCE[0]}")/fetch.py" "$address/$archive" "$checksum" "$directory.zip"
python3 -m zipfile -e "$directory.zip" "$directory"
rm "$directory.zip"
chmod +x "$directory/consul"

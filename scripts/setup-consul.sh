#!/usr/bin/env bash
# Links TOOLS/bin/consul to a Consul for the tests, the first of these that works:
#   1. the program that CONSUL_BIN names;
#   2. consul on PATH;
#   3. HashiCorp's release archive;
#   4. Debian's package, which is in the bullseye suite only, from the archive that this machine's apt uses.
# Downloads are verified by the checksums below, and nothing is installed outside TOOLS.
set -euo pipefail

consul_version=1.16.0
declare -A consul_sha256=(
    [amd64]=c112d1b2ffcfa7d98cde5508bec3bce383ed3650290cc8be3cfe682b79bb13f1
    [arm64]=e9b926bcd71f53ef0266141338e75c381a76d769756cc1a02b5250bbf6b7195e
)

debian_version=1.8.7+dfsg1-2+b3
declare -A debian_sha256=(
    [amd64]=e4e888bba104daba1d9161f49bfc52649a7e4efd45b1a7ead5bc54f2cb9c89d9
    [arm64]=7318cfa77a7ba6f71dd096e44353279de246ffc6561216ace42353685dcf8255
)

tools=${1:?usage: setup-consul.sh TOOLS}
python=${PYTHON:-python3}
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
link=$tools/bin/consul
tried=()

say() { printf 'setup: %s\n' "$*"; }

case $(uname -m) in
x86_64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) arch=unknown ;;
esac

# Prints "major.minor" of a Consul program, or nothing if it does not run.
version_of() { "$1" version 2>/dev/null | sed -nE '1s/^Consul v?([0-9]+\.[0-9]+).*/\1/p'; }

is_fit() {
    local version
    version=$(version_of "$1")
    [[ $version == 1.* && ${version#1.} -ge 8 ]] || [[ -n $version && ${version%%.*} -ge 2 ]]
}

# Links bin/consul to a program, if that is a Consul that the tests can use.
take() {
    local program=$1 origin=$2
    if ! is_fit "$program"; then
        say "$origin: $program is not Consul 1.8 or newer; trying the next"
        tried+=("$origin: $program is not Consul 1.8 or newer")
        return 1
    fi
    ln -sfn "$program" "$link"
    say "Consul $(version_of "$program") from $origin"
}

already_there() {
    [[ -x $link ]] && is_fit "$link" || return 1
    [[ -z ${CONSUL_BIN:-} || $(readlink -f "$link") == $(readlink -f "$CONSUL_BIN") ]]
}

from_environment() {
    if [[ -z ${CONSUL_BIN:-} ]]; then
        tried+=("CONSUL_BIN: not set")
        return 1
    fi
    take "$(readlink -f "$CONSUL_BIN")" CONSUL_BIN
}

from_path() {
    local program
    # TOOLS/bin may be on PATH as well.
    program=$(type -aP consul | grep -vxF "$link" | head -n 1) || true
    if [[ -z $program ]]; then
        tried+=("PATH: no consul on it")
        return 1
    fi
    take "$program" PATH
}

from_hashicorp() {
    local origin="HashiCorp's release $consul_version for $arch"
    local url=https://releases.hashicorp.com/consul/$consul_version/consul_${consul_version}_linux_$arch.zip
    local directory=$tools/consul-$consul_version problem
    if [[ $arch == unknown ]]; then
        tried+=("HashiCorp's release: no checksum for $(uname -m)")
        return 1
    fi
    say "fetching $origin"
    if ! problem=$("$python" "$scripts/fetch.py" "$url" "${consul_sha256[$arch]}" "$tools/consul.zip" 2>&1); then
        tried+=("$origin: $problem")
        return 1
    fi
    mkdir -p "$directory"
    "$python" -m zipfile -e "$tools/consul.zip" "$directory"
    rm "$tools/consul.zip"
    chmod +x "$directory/consul"
    take "$directory/consul" "$origin"
}

from_debian() {
    local origin="Debian's package $debian_version for $arch"
    local directory=$tools/consul-debian problem
    if [[ $arch == unknown ]] || ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
        tried+=("Debian's package: requires apt-get and dpkg on amd64 or arm64")
        return 1
    fi
    say "fetching $origin"
    if ! problem=$(PYTHON=$python "$scripts/fetch-deb.sh" "$directory" \
        bullseye "consul=$debian_version" "${debian_sha256[$arch]}" 2>&1); then
        tried+=("$origin: $problem")
        return 1
    fi
    take "$directory/root/usr/bin/consul" "$origin"
}

mkdir -p "$tools/bin"
if already_there || from_environment || from_path || from_hashicorp || from_debian; then
    exit 0
fi

{
    echo "setup: error: no Consul server found. Tried:"
    printf '  - %s\n' "${tried[@]}"
    echo "Install Consul 1.8 or newer (https://developer.hashicorp.com/consul/install) and put it on PATH, or run"
    echo "  CONSUL_BIN=/path/to/consul make setup"
} >&2
exit 1

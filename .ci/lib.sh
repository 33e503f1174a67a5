# Shared by ./demo and ./test: a virtual environment of the project's own, with the package built into it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

need() {
    command -v "$1" >/dev/null || { echo "missing: $1 ($2)" >&2; exit 2; }
}

environment() {
    export PATH="$PWD/.venv/bin:$PATH"
    need cargo "Rust, stable, 1.89 or later: https://rustup.rs"
    need cc "a C compiler"
    need python3 "Python 3.11 or later, with venv"
    [ -x .venv/bin/python ] || python3 -m venv .venv
    [ -x .venv/bin/maturin ] || .venv/bin/pip install --quiet maturin==1.16.0
    # Build only when a source is newer than the installed package.
    local stamp=.venv/built
    if [ ! -e "$stamp" ] || [ -n "$(find Cargo.toml Cargo.lock pyproject.toml crates machines validation capture python -newer "$stamp" -type f -print -quit)" ]; then
        echo "building (a few minutes the first time) ..." >&2
        .venv/bin/pip install --quiet --no-build-isolation ".[test,docs]"
        touch "$stamp"
    fi
}

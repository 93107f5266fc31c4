#!/bin/sh
# Makes .venv with deepgrep installed editable. Usage: sh scripts/venv.sh run|dev
#   run  what a search needs          dev  also what the tests and the linters need
# Does nothing when .venv is as it should be: made in this folder (a moved one has wrong paths inside), finished, and from
# this pyproject.toml.
set -eu
cd -- "$(dirname -- "$0")/.."
level=$1
oldest="3, 11"
candidates="python3.14 python3.13 python3.12 python3.11 python3 python"

fail() {
    echo "deepgrep: $*" >&2
    exit 1
}

is_new() { "$1" -c "import sys; sys.exit(sys.version_info < ($oldest))" >/dev/null 2>&1; }
is_whole() { "$1" -c "import venv, ensurepip" >/dev/null 2>&1; }
build_of() { "$1" -c "import sys; print(sys.base_prefix, sys.version.split()[0])" 2>/dev/null; }

# Sets `python` to the interpreter that makes .venv.
choose() {
    python=
    bare=
    if [ -n "${PYTHON:-}" ]; then
        candidates=
        is_new "$PYTHON" || fail "PYTHON=$PYTHON is not a Python 3.11 or newer."
        is_whole "$PYTHON" || fail "PYTHON=$PYTHON has no venv or no ensurepip (on Debian and Ubuntu: apt install python3-venv)."
        python=$PYTHON
    fi
    for candidate in $candidates; do
        is_new "$candidate" || continue
        if is_whole "$candidate"; then
            python=$candidate
            break
        fi
        bare=${bare:-$candidate}
    done
    [ -n "$python" ] || [ -z "$bare" ] || fail "$bare has no venv or no ensurepip (on Debian and Ubuntu: apt install python3-venv)."
    [ -n "$python" ] || fail "needs Python 3.11 or newer, and none is on PATH; install one, or name it: make PYTHON=/path/to/python"
}

key="$(pwd -P) $(cksum <pyproject.toml)"
is_current() { [ -f ".venv/.stamp-$1" ] && [ "$(cat ".venv/.stamp-$1")" = "$key" ]; }

# .busy stands while something is being installed: found here, an install was cut short, and nothing in .venv is believed.
usable=no
if [ -x .venv/bin/python ] && [ -f .venv/.made ] && [ ! -e .venv/.busy ] && [ "$(head -n 1 .venv/.made)" = "$(pwd -P)" ]; then
    usable=yes
    if [ -n "${PYTHON:-}" ] && [ "$(build_of "$PYTHON")" != "$(tail -n 1 .venv/.made)" ]; then
        usable=no
    fi
fi
searches=no # can it search as it is?
if [ $usable = yes ] && { is_current run || is_current dev; }; then
    searches=yes
    if [ "$level" = run ] || is_current dev; then
        exit 0
    fi
fi

trap 'exit 130' INT TERM # .busy stays
if [ $usable = no ]; then
    choose
    build=$(build_of "$python")
    echo "Making .venv with Python ${build##* } (once) ..." >&2
    rm -rf .venv
    mkdir .venv
    : >.venv/.busy
    "$python" -m venv .venv || fail "could not make .venv; the lines above say why."
    printf '%s\n' "$(pwd -P)" "$build" >.venv/.made
else
    echo "Bringing .venv up to date ..." >&2
    : >.venv/.busy
fi

target=.
[ "$level" = run ] || target='.[dev]'
status=0
PIP_USER=0 .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable "$target" || status=$?
if [ $status -ne 0 ]; then
    # pip undoes what it could not finish, so what was able to search still is: do not throw it away for a missing network.
    [ $searches = no ] || [ $status -ge 128 ] || rm -f .venv/.busy
    fail "pip could not install deepgrep into .venv; the lines above say why. Run the same command to try again."
fi
printf '%s\n' "$key" >".venv/.stamp-$level"
rm -f .venv/.busy

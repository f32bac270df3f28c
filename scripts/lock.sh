#!/bin/sh
# Rewrite requirements.lock for every Python and platform at once: names, versions and markers, nothing else.
# Pins stay as they are as long as pyproject.toml allows; UPGRADE=1 takes the newest of everything.
set -eu
cd "$(dirname "$0")/.."
python=${1:-.venv/bin/python}
tools=.run/lock
[ -x "$tools/bin/uv" ] || {
    "$python" -m venv "$tools"
    "$tools/bin/python" -m pip install --quiet --disable-pip-version-check uv
}
uv() { "$tools/bin/uv" pip compile --quiet --no-header --no-annotate "$@"; }

body=.run/lock/body.txt
sed '/^#/d' requirements.lock > "$body" 2> /dev/null || : > "$body"
uv --universal --python-version 3.11 --all-extras --group build ${UPGRADE:+--upgrade} pyproject.toml -o "$body" > /dev/null

# A package without a wheel would ask a learner for a compiler. Resolving with wheels only finds it now.
for platform in linux aarch64-unknown-linux-gnu windows aarch64-apple-darwin x86_64-apple-darwin; do
    for version in 3.11 3.12 3.13 3.14; do
        uv --only-binary :all: --python-version $version --python-platform $platform "$body" -o "$tools/probe.txt" \
            > /dev/null || { echo "no wheel for Python $version on $platform: see above" >&2; exit 1; }
    done
done
{
    echo "# Made by \`make lock\` from pyproject.toml. Names and versions only; valid on Python 3.11 to 3.14."
    cat "$body"
} > requirements.lock
grep -c == requirements.lock | sed 's/$/ packages pinned in requirements.lock/'

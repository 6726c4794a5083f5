# Sourced by the scripts: what they need on a fresh Debian or Ubuntu machine, installed once.
# Sets $venv, the virtual environment that holds remedy and its development tools.

say() { printf '\n== %s\n' "$*" >&2; }

need_packages() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [[ ${#missing[@]} -eq 0 ]] && return
    if [[ $(id -u) -ne 0 ]]; then
        echo "these packages are missing: ${missing[*]}" >&2
        echo "install them, or run this as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    say "apt-get install ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# pystemd is built from source by pip: it needs libsystemd's headers, pkg-config and a C compiler.
need_packages python3 python3-venv python3-dev gcc pkg-config libsystemd-dev git ca-certificates

venv=.venv
stamp=$(cat pyproject.toml scripts/setup.sh | sha256sum | cut -d' ' -f1)
if [[ $(cat "$venv/.stamp" 2>/dev/null) != "$stamp" ]]; then
    say "virtual environment in $venv"
    /usr/bin/python3 -m venv --clear "$venv"
    "$venv/bin/python" -m pip install -qq --disable-pip-version-check -e '.[dev]'
    echo "$stamp" >"$venv/.stamp"
fi

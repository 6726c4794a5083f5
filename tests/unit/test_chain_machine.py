"""The launch chain and edits against live systemd: what the program at the chain's end really gets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest

from remedy.facts.files import Files
from remedy.unit.edit import set_environment
from remedy.unit.launch import launch
from remedy.unit.load import load
from remedy.unit.manager import manager_from
from remedy.unit.types import Launch, Manager, Service
from tests.lab import recipe
from tests.lab.machine import Machine
from tests.unit import live

pytestmark = pytest.mark.machine

SHOW = """import json, os, sys
print(json.dumps([sys.executable, sys.argv[1:], dict(os.environ)]))
"""
# systemd, shells, stdbuf and activate set these for themselves, and no build reads them.
OWN = live.VOLATILE | frozenset(
    ("PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE", "LD_PRELOAD", "_STDBUF_O", "PS1", "VIRTUAL_ENV_PROMPT")
)
HEAD = "[Service]\nType=oneshot\nStandardOutput=truncate:/out/{name}\n"
VENV = "/opt/chain/venv"
PYTHON = f"{VENV}/bin/python3"
SCRIPT = f"""#!/bin/bash
set -euo pipefail
HERE="$(cd "$(dirname "${{BASH_SOURCE[0]}}")" && pwd)"
source {VENV}/bin/activate
export CUDA_HOME=${{CUDA_HOME:-/usr/local/cuda-12.8}}
export LD_LIBRARY_PATH="$CUDA_HOME/lib64${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
ARGS=(--port "${{PORT:-30000}}")
[[ -f /etc/hostname ]] && ARGS+=("--host name")
for extra in a 'b c'; do ARGS+=("$extra"); done
exec python3 "$HERE/show.py" "${{ARGS[@]}}" "$@"
"""
FILES = {
    "/opt/chain/show.py": SHOW,
    "/opt/chain/start.sh": SCRIPT,
    "/opt/chain/serve": f"#!{PYTHON} -u\n" + SHOW,
    "/opt/chain/long": f"#!/bin/sh\n'''exec' {PYTHON} \"$0\" \"$@\"\n' '''\n" + SHOW,
    "/opt/chain/env-s": "#!/usr/bin/env -S A=${HOME}x B='c d' python3 -u\n" + SHOW,
    "/etc/default/chain": "A=from file\nPATH=/usr/local/cuda-12.8/bin:/usr/bin:/bin\n",
    "/etc/profile.d/chain.sh": "export FROM_PROFILE=$USER\n",
}
CHAINS = [
    f"{PYTHON} /opt/chain/show.py $W ${{W}} a${{W}}b $NONE $$W",
    f":{PYTHON} /opt/chain/show.py $W",
    "/opt/chain/serve x",
    "/opt/chain/long x 'y z'",
    "/opt/chain/env-s x",
    f"/usr/bin/env -u W A=1 'B=2 3' PATH={VENV}/bin:/bin python3 /opt/chain/show.py",
    f"/usr/bin/env -i C=1 nice -n 1 ionice -c2 -n 7 {PYTHON} /opt/chain/show.py",
    f"/usr/bin/taskset -c 0 stdbuf -oL setsid -w timeout -k 5 60 {PYTHON} /opt/chain/show.py",
    f"/usr/bin/chrt --batch 0 setpriv --no-new-privs flock /tmp/lock nohup {PYTHON} /opt/chain/show.py",
    f"/bin/sh -c 'export A=$$W; exec {PYTHON} /opt/chain/show.py \"$$@\"' sh ${{W}}",
    f"/bin/bash -lc 'exec {PYTHON} /opt/chain/show.py'",
    "/opt/chain/start.sh last",
    "/bin/bash /opt/chain/start.sh",
]
LINES = ["Environment='W=x \"y z\"' PORT=1", "EnvironmentFile=/etc/default/chain", "User=llm"]


@pytest.fixture(scope="module")
def chains() -> Iterator[tuple[Machine, Manager]]:
    """A machine with a user, a venv and units for all chains."""
    with Machine(recipe.build("bookworm")) as machine:
        machine.exec("useradd -m llm; mkdir -p /out; chmod 777 /out")
        machine.exec(f"python3 -m venv --without-pip {VENV}")
        for path, text in FILES.items():
            machine.write(path, text, mode=0o755)
        for number, command in enumerate(CHAINS):
            name = f"chain{number}.service"
            text = HEAD.format(name=name) + "\n".join([*LINES, f"ExecStart={command}", ""])
            machine.write(f"/etc/systemd/system/{name}", text)
        machine.exec("systemctl daemon-reload")
        view = Files(str(machine.disk))
        yield machine, manager_from(view, live.version_of(machine))


def start(machine: Machine, name: str) -> tuple[str, list[str], dict[str, str]]:
    """The interpreter, arguments and environment of the process that a start leads to."""
    machine.exec(["systemctl", "start", name])
    interpreter, arguments, environment = json.loads(machine.read(f"/out/{name}"))
    return interpreter, arguments, {k: v for k, v in environment.items() if k not in OWN}


def read(machine: Machine, manager: Manager, name: str) -> tuple[Service, Launch]:
    view = Files(str(machine.disk))
    service = load(name, view, manager)
    return service, launch(service, view)


@pytest.mark.parametrize("number", range(len(CHAINS)), ids=[chain[:60] for chain in CHAINS])
def test_launch(chains: tuple[Machine, Manager], number: int) -> None:
    machine, manager = chains
    name = f"chain{number}.service"
    interpreter, arguments, environment = start(machine, name)
    found = read(machine, manager, name)[1]
    assert found.unknown is None
    assert found.interpreter == interpreter
    script = next(i for i, word in enumerate(found.argv) if word in FILES)
    assert list(found.argv[script + 1 :]) == arguments
    assert {k: v for k, v in found.variables().items() if k not in OWN} == environment


WANTED: Mapping[str, str | None] = {
    "CUDA_HOME": "/usr/local/cuda-13.0",
    "A": 'it\'s 100% "new" \\ $W',
    "PORT": None,
    "NEW": "1 2",
}


@pytest.mark.parametrize("number", [0, 2, 5, 9, 11])
@pytest.mark.parametrize("style", ["in-place", "drop-in", None])
def test_edits(chains: tuple[Machine, Manager], number: int, style: str | None) -> None:
    machine, manager = chains
    original, name = f"chain{number}.service", f"edit{number}-{style}.service"
    file = f"/etc/default/{name}"
    text = machine.read(f"/etc/systemd/system/{original}").decode()
    text = text.replace(f"/out/{original}", f"/out/{name}").replace("/etc/default/chain", file)
    machine.write(f"/etc/systemd/system/{name}", text)
    machine.write(file, FILES["/etc/default/chain"])
    service, _ = read(machine, manager, name)
    view = Files(str(machine.disk))
    edits, refused = set_environment(service, view, manager, WANTED, style)  # type: ignore[arg-type]
    for edit in edits:
        machine.write(edit.path, edit.after)
    machine.exec("systemctl daemon-reload")
    environment = start(machine, name)[2]
    unreachable = {one.name for one in refused}
    for variable, value in WANTED.items():
        assert (environment.get(variable) == value) is (variable not in unreachable), variable
    assert "CUDA_HOME" not in unreachable

"""The launch chain: each row a way to start a server that people use."""

from __future__ import annotations

import pytest

from remedy.unit.launch import expand, launch
from remedy.unit.load import load
from remedy.unit.manager import manager_from
from remedy.unit.types import Launch
from tests.memory import MemoryView

UNIT = "/etc/systemd/system/s.service"
PYTHON = "/venv/bin/python3"
FILES: dict[str, bytes | str] = {
    "/venv/bin/sglang": "#!/venv/bin/python3\nimport sys\nfrom sglang.cli.main import main\nsys.exit(main())\n",
    "/venv/bin/torchrun": "#!/venv/bin/python3\nfrom torch.distributed.run import main\n",
    "/venv/bin/long": """#!/bin/sh
'''exec' /venv/bin/python3 "$0" "$@"
' '''
import re
from vllm.cli import main
if __name__ == '__main__':
    sys.exit(main('it''s'))
""",
    "/venv/bin/moved": """#!/bin/sh
'''exec' "$(dirname -- "$(realpath -- "$0")")"/'python3' "$0" "$@"
' '''
""",
    "/venv/bin/activate": 'VIRTUAL_ENV="/venv"\nexport VIRTUAL_ENV\nPATH="$VIRTUAL_ENV/bin:$PATH"\n',
    "/venv/pyvenv.cfg": "home = /usr/bin\n",
    "/opt/env-s": "#!/usr/bin/env -S python3 -u\n",
    "/opt/native": b"\x7fELF\x02",
    "/etc/passwd": "llm:x:1001:1001::/srv/llm:/bin/bash\n",
    "/opt/conda/envs/vllm/conda-meta/history": "",
    "/opt/conda/envs/vllm/etc/conda/activate.d/cuda.sh": "export CUDA_HOME=$CONDA_PREFIX\n",
    "/opt/app/pyproject.toml": "",
    "/root/.pyenv/shims/python3": """#!/usr/bin/env bash
set -e
[ -n "$PYENV_DEBUG" ] && set -x
program="${0##*/}"
export PYENV_ROOT="/root/.pyenv"
exec "/root/.pyenv/libexec/pyenv" exec "$program" "$@"
""",
    "/root/.pyenv/version": "3.12.1\n",
    "/opt/app/.venv/pyvenv.cfg": "",
}
PROGRAMS = (
    "/venv/bin/python3", "/venv/bin/sglang", "/venv/bin/torchrun", "/venv/bin/long", "/venv/bin/moved", "/bin/sh",
    "/usr/bin/env", "/bin/bash", "/opt/env-s", "/opt/native", "/usr/bin/python3", "/opt/conda/bin/conda",
    "/opt/conda/envs/vllm/bin/python", "/opt/app/.venv/bin/python3",
    "/root/.pyenv/shims/python3", "/root/.pyenv/versions/3.12.1/bin/python3",
)  # fmt: skip


def follow(exec_start: str, *lines: str, files: dict[str, bytes | str] | None = None) -> Launch:
    """The launch of a unit with this ExecStart=, these lines and files."""
    unit = "\n".join(["[Service]", f"ExecStart={exec_start}", *lines, ""])
    view = MemoryView({**FILES, **(files or {}), UNIT: unit}, programs=PROGRAMS)
    return launch(load("s.service", view, manager_from(view, 252)), view)


@pytest.mark.parametrize(
    ("exec_start", "interpreter", "module"),
    [
        ("/venv/bin/python3 -m sglang.launch_server --port 1", PYTHON, "sglang.launch_server"),
        ("/venv/bin/python3 -u -X faulthandler -Im vllm.main", PYTHON, "vllm.main"),
        ("/venv/bin/python3 /srv/serve.py", PYTHON, None),
        ("/venv/bin/sglang serve", PYTHON, "sglang.cli.main"),
        ("/venv/bin/long serve", PYTHON, "vllm.cli"),
        ("/venv/bin/moved serve", "/venv/bin/python3", None),
        ("/opt/env-s x", "/usr/bin/python3", None),
        ("/usr/bin/env python3 -m a.b", "/usr/bin/python3", "a.b"),
        ("/usr/bin/env PATH=/venv/bin python3 -m a", PYTHON, "a"),
        ("/usr/bin/env -i PATH=/venv/bin python3 -m a", PYTHON, "a"),
        ("/usr/bin/numactl --cpunodebind=0 -m 0 /venv/bin/python3 -m a", PYTHON, "a"),
        ("/usr/bin/nice -n 5 /usr/bin/ionice -c2 -n 0 /venv/bin/python3 -m a", PYTHON, "a"),
        ("/usr/bin/taskset -c 0-7 stdbuf -oL setsid -w timeout -k 5 60 /venv/bin/python3 -m a", PYTHON, "a"),
        ("/usr/bin/chrt -f 10 /usr/bin/time -p /venv/bin/python3 -m a", PYTHON, "a"),
        ("/usr/bin/chrt --batch 0 /usr/bin/setpriv --reuid 1 --no-new-privs /venv/bin/python3 -m a", PYTHON, "a"),
        ("/bin/bash -c 'exec /venv/bin/python3 -m a --x \"$0\"' y", PYTHON, "a"),
        ("/bin/bash -c 'source /venv/bin/activate && python3 -m a'", PYTHON, "a"),
        ("/bin/bash -ceu 'cd /venv/bin; exec ./python3 -m a 2>&1 | tee /x'", PYTHON, "a"),
        ("/venv/bin/torchrun --nproc-per-node 8 --standalone -m x.y --z", PYTHON, "x.y"),
        ("/venv/bin/torchrun --nproc-per-node=8 train.py", PYTHON, "torch.distributed.run"),
        ("/venv/bin/python3 -m torch.distributed.run -m x.y", PYTHON, "x.y"),
        ("/opt/conda/bin/conda run --no-capture-output -n vllm python -m v", "/opt/conda/envs/vllm/bin/python", "v"),
        ("/opt/conda/bin/conda run -p /opt/conda/envs/vllm python -m v", "/opt/conda/envs/vllm/bin/python", "v"),
        ("/usr/bin/uv run --project /opt/app -m v", "/opt/app/.venv/bin/python", "v"),
        ("/usr/bin/uv run --directory /opt/app python3 -m v", "/opt/app/.venv/bin/python3", "v"),
        ("/usr/bin/poetry -C /opt/app run python3 -m v", "/opt/app/.venv/bin/python3", "v"),
        ("/root/.pyenv/shims/python3 -m v", "/root/.pyenv/versions/3.12.1/bin/python3", "v"),
        ("/usr/bin/screen -DmS name /venv/bin/python3 -m a", PYTHON, "a"),
        ("/opt/native --x", None, None),
    ],
)
def test_interpreter(exec_start: str, interpreter: str | None, module: str | None) -> None:
    found = follow(exec_start)
    assert (found.interpreter, found.module, found.unknown) == (interpreter, module, None)
    assert found.hops


@pytest.mark.parametrize(
    ("exec_start", "container"),
    [
        ("/usr/bin/docker run --rm --gpus all vllm/vllm-openai", "docker"),
        ("/usr/bin/podman run x", "podman"),
        ("/bin/sh -c 'exec docker run -e CUDA_HOME=/x img'", "docker"),
        ("/usr/bin/apptainer exec --nv x.sif python3", "apptainer"),
    ],
)
def test_containers_are_told_apart(exec_start: str, container: str) -> None:
    found = follow(exec_start)
    assert found.container == container and found.interpreter is None


def test_a_wrapper_script() -> None:
    script = """#!/bin/bash
# Start the server.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
export CUDA_HOME=/usr/local/cuda-12.8
source /venv/bin/activate
export LD_LIBRARY_PATH="$CUDA_HOME/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" CONF=$HERE/conf
PORT=${PORT:-30000}
ARGS=(--port "$PORT")
if [ -f /etc/sglang.extra ]; then
  ARGS+=(--extra)
fi
for f in a b; do ARGS+=("--$f"); done
echo "starting" >&2
exec python3 -m sglang.launch_server "${ARGS[@]}" "$@" 2>&1
"""
    files: dict[str, bytes | str] = {"/opt/bin/start.sh": script, "/etc/sglang.extra": ""}
    found = follow("/opt/bin/start.sh 'x y'", "Environment=LD_LIBRARY_PATH=/old PORT=1", files=files)
    assert found.unknown is None
    assert found.interpreter == PYTHON
    assert found.argv[2:] == ("sglang.launch_server", "--port", "1", "--extra", "--a", "--b", "x y")
    values = {name: (v.value, str(v.source)) for name, v in found.environment.items()}
    assert values["CUDA_HOME"] == ("/usr/local/cuda-12.8", "/opt/bin/start.sh:5")
    assert values["LD_LIBRARY_PATH"] == ("/usr/local/cuda-12.8/lib64:/old", "/opt/bin/start.sh:7")
    assert [str(p) for p in found.environment["LD_LIBRARY_PATH"].overrides] == [f"{UNIT}:3"]
    assert values["VIRTUAL_ENV"] == ("/venv", "/opt/bin/start.sh:6")
    assert found.variables()["PATH"].startswith("/venv/bin:/usr/local/sbin:")
    assert values["CONF"][0] == "/opt/bin/conf"
    assert "ARGS" not in values


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("export A=1\nexport A=2\nexec /venv/bin/python3", {"A": "2"}),
        ("A=1 exec /venv/bin/python3", {"A": "1"}),
        ("A=1\n/venv/bin/python3", {"A": None}),
        ("A=1\nexport A\n/venv/bin/python3", {"A": "1"}),
        ("set -a\nA=1\n/venv/bin/python3", {"A": "1"}),
        ("set -a; . /etc/default/x; set +a\nexec /venv/bin/python3", {"B": "from file", "C": None}),
        ("export A='$x' B=\"\\$x\" C=a\\ b\nexec /venv/bin/python3", {"A": "$x", "B": "$x", "C": "a b"}),
        ("unset U\nexec /venv/bin/python3", {"U": None}),
        ("U=changed\nexec /venv/bin/python3", {"U": "changed"}),
        ("export A=~/x B=x:~ C='~'\nexec /venv/bin/python3", {"A": "/root/x", "B": "x:/root", "C": "~"}),
        ("if [[ $U == un* && -n $U ]]; then export A=y; else export A=n; fi\n/venv/bin/python3", {"A": "y"}),
        ("[ -d /nowhere ] && export A=1\nexec /venv/bin/python3", {"A": None}),
        ("[ -d /nowhere ] || export A=1\nexec /venv/bin/python3", {"A": "1"}),
        ("case $U in x) export A=x;; u*) export A=u;; esac\n/venv/bin/python3", {"A": "u"}),
        ("f() { export A=$1; }\nf 5\nexec /venv/bin/python3", {"A": "5"}),
        ("(export A=1)\nexec /venv/bin/python3", {"A": None}),
        ("while true; do\n A=1 /venv/bin/python3 || sleep 5\ndone", {"A": "1"}),
        ("cat <<EOF\nexport A=1\nEOF\nexec /venv/bin/python3", {"A": None}),
        ("export A=${U%set}x B=${U#un} C=${U/un/re} D=${#U}\nexec /venv/bin/python3",
         {"A": "unx", "B": "set", "C": "reset", "D": "5"}),
        ("export A=${N:-d} B=${N-d} C=${U:+y} D=${E:-d} E=${E-d}\nexec /venv/bin/python3",
         {"A": "d", "B": "d", "C": "y", "D": "d", "E": ""}),
        ("eval 'export A=1'\nexec /venv/bin/python3", {"A": "1"}),
        ("export A=$(basename /a/b.c .c)`echo x`\nexec /venv/bin/python3", {"A": "bx"}),
        ("exec env A=1 nice /venv/bin/python3", {"A": "1"}),
    ],
)  # fmt: skip
def test_shell_environment(script: str, expected: dict[str, str | None]) -> None:
    files: dict[str, bytes | str] = {"/opt/s": "#!/bin/bash\n" + script, "/etc/default/x": 'B="from file"\n# C=1\n'}
    found = follow("/opt/s", "Environment=U=unset E=", files=files)
    assert found.interpreter == PYTHON
    assert found.unknown is None
    assert {name: found.variables().get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("source /nowhere\nexec /venv/bin/python3", "/opt/s:2: /nowhere, which this sources, is not there"),
        ("if grep -q x /y; then export A=1; fi\nexec /venv/bin/python3", "/opt/s:2: this condition is known only"),
        ("export CUDA_HOME=$(find_cuda)\nexec /venv/bin/python3", "/opt/s:2: the value of CUDA_HOME is known only"),
        ("module load cuda/12.8\nexec /venv/bin/python3", "/opt/s:2: `module load cuda/12.8`"),
        ("eval \"$(find_cuda)\"\nexec /venv/bin/python3", "/opt/s:2: what eval is given"),
        ("nvidia-smi || export A=1\nexec /venv/bin/python3", "/opt/s:2: whether this part after ||"),
    ],
)  # fmt: skip
def test_what_can_not_be_followed_is_named(script: str, why: str) -> None:
    found = follow("/opt/s", files={"/opt/s": "#!/bin/bash\n" + script})
    assert found.interpreter == PYTHON
    assert found.unknown is not None and found.unknown.startswith(why)


@pytest.mark.parametrize(
    "script", ["if then", "a() {", "'", "$(", "((", "case x in", "f() { f; }; f", "while :; do :; done"]
)
def test_odd_scripts_end(script: str) -> None:
    found = follow("/opt/s", files={"/opt/s": "#!/bin/sh\n" + script + "\n"})
    assert found.interpreter is None
    assert found.unknown is not None and "/opt/s" in found.unknown


def test_login_shell_reads_the_profile() -> None:
    profile = 'if [ "$(id -u)" -eq 0 ]; then\n  PATH="/venv/bin:/bin"\nelse\n  PATH="/x"\nfi\nexport PATH\n'
    files: dict[str, bytes | str] = {"/etc/profile": profile}
    found = follow("/bin/bash -lc 'exec python3 -m a'", "Environment=PATH=/usr/bin", files=files)
    assert found.interpreter == PYTHON
    assert str(found.environment["PATH"].source) == "/etc/profile:2"


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["a", "$L", "b"], ["a", "x", "y z", "b"]),
        (["${L}", "p${A}s", "p$A"], ["x 'y z'", "p1s", "p$A"]),
        (["$$A", "$NONE", "${NONE}", "$"], ["$A", "", "$"]),
    ],
)
def test_expand(argv: list[str], expected: list[str]) -> None:
    assert expand(argv, {"L": "x 'y z'", "A": "1"}) == expected


def test_prefix_colon_expands_nothing() -> None:
    assert follow(":/venv/bin/python3 ${HOME}").argv[1] == "${HOME}"
    assert follow("/venv/bin/python3 ${HOME}", "User=llm").argv[1] == "/srv/llm"

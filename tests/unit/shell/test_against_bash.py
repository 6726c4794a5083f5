"""The reader against the real bash: the same scripts, and the environment that a program at their end gets."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from remedy.unit.launch_shell import follow_shell
from remedy.unit.launch_stage import Stage
from remedy.unit.types import Place, Variable
from tests.memory import MemoryView

BASH = shutil.which("bash") or ""
pytestmark = pytest.mark.skipif(not BASH, reason="bash is not installed")

START = {"PATH": "/usr/bin:/bin", "HOME": "/root", "U": "un set", "E": "", "P": "/a/b.c:/d/e.c"}
END = '\'/usr/bin/env -0; printf "%s\\\\0" "$@"\''
# bash keeps these for itself.
OWN = {"PWD", "OLDPWD", "SHLVL", "_"}


class NotComparable(Exception):
    """bash takes the script for an error, or the reader says that it does not know."""


def by_bash(script: str, arguments: list[str]) -> list[str]:
    """The environment and arguments that a program executed at the script's end gets."""
    done = subprocess.run(
        [BASH, "-c", f"{script}\nexec /bin/sh -c {END} - \"$@\"", "s", *arguments],
        env=START, capture_output=True, check=False, timeout=10, cwd="/",
    )  # fmt: skip
    if done.returncode or done.stderr:
        raise NotComparable(done.stderr.decode() or f"exit status {done.returncode}")
    return sorted(v for v in done.stdout.decode().split("\0") if v and v.partition("=")[0] not in OWN)


def by_reader(script: str, arguments: list[str]) -> list[str]:
    place = Place("/u", 1)
    environment = {name: Variable(name, value, place) for name, value in START.items()}
    argv = ("/bin/bash", "-c", script + '\nexec /opt/end "$@"', "s", *arguments)
    view = MemoryView({"/etc/x": ""}, programs=("/opt/end",))
    stage = follow_shell(Stage(argv, environment, "/", place), view)
    if stage.notes:
        raise NotComparable(stage.notes[0])
    assert stage.argv[0] == "/opt/end"
    found = [f"{name}={variable.value}" for name, variable in stage.environment.items()]
    return sorted(v for v in [*found, *(word for word in stage.argv[1:] if word)] if v.partition("=")[0] not in OWN)


SCRIPTS = [
    "export A=$U B=\"$U\" C='$U' D=$'a\\tb' F=a\\ b",
    "A=1; export A; A=2",
    "export A=${U#un} B=${U##*s} C=${U% *} D=${P%%:*} F=${P##*/} G=${U/n/N} H=${U//[ n]/_} I=${#U} J=${U^^}",
    "export A=${E:-d} B=${E-d} C=${N:-$U} D=${N:+y} F=${U:+y} G=${N:=new}; export N",
    "export A=${U:1} B=${U:1:2} C=${U: -2}",
    "set -- a 'b c' d; shift; export A=$1 B=$# C=$* D=\"$@\"",
    "X=(a 'b c' d); X+=(e); export A=${X[1]} B=${#X[@]} C=\"${X[*]}\"; set -- \"${X[@]:1}\"",
    "for i in 1 2 3; do A=$A$i; done; export A",
    "for i in $U; do A=$A[$i]; done; export A",
    "for i; do A=$A-$i; done; export A",
    "if [ -z \"$N\" ] && [[ $U == un* ]]; then export A=1; elif true; then export A=2; else export A=3; fi",
    "if test \"$U\" = x -o 1 -lt 2; then export A=y; fi",
    "case $U in un*t) export A=1 ;; *) export A=2 ;; esac",
    "case $E in a|b) export A=1 ;; '') export A=2 ;; esac",
    "f() { local x=$1; export A=$x$#; return; export A=9; }\nf 1 2",
    "f() { local U=1 N=2; declare -a L=(1 2); declare E=5; export E; }; f; export A=$U B=${N-} C=${L-}",
    "f() { declare -g Q=1; R=2; }; f; export Q R",
    "function g { B=$1; }\ng 5; export B",
    "(export A=1; U=2); export B=$U",
    "{ A=1; B=2; }; export A B",
    "A=1 true; export B=${A-none}",
    "set -a; A=1; set +a; B=2",
    "unset U; export A=${U-gone}",
    "export -n U; A=$U; export A",
    "declare -x A=1; typeset B=2; readonly C=3; export C",
    "eval \"export A='x y'\"; eval export B=1",
    "export A=$(echo hi) B=`echo $U` C=$(basename /x/y.z .z) D=$(dirname /x/y) F=$(cd /usr && pwd)",
    "export A=$(printf %s x)y B=\"$(echo \"$(echo deep)\")\"",
    "true && export A=1 || export A=2; false && export B=1; false || export C=1",
    "! false && export A=1",
    "while true; do export A=1; break; done",
    "until false; do export A=2; break; done",
    "cat > /dev/null <<EOF\nexport A=1\nEOF\nexport B=2",
    "export A=\\\n1 B='x\ny' # comment\n# export C=1",
    "export A=~ B=~/x C=x:~/y D='~' F=\"~\"",
    "A=a B=$A; export A B; export C=$A$B",
    "export LD=/c/lib${LD:+:$LD}; export LD=/d/lib${LD:+:$LD}",
    "export A=\"a\"'b'c\"$E\"; export B=a#b C=\"#\" ",
    "set -euo pipefail; export A=1 >/dev/null 2>&1",
    "[ -d /nowhere ] || export A=1; [ -e /etc ] && export B=1",
    "[[ -n $U && ( -z $E || $U = x ) ]] && export A=1",
    "export A=${U:-\"a b\"} B=${N:-\"a b\"} C=${N:-'a b'} D=\"${N:-'a b'}\"",
    "source /dev/null; : ${Q:=z}; export Q",
    "x=5; A=${x}y; export A; export B=$x$x ${N:+C=1}",
]  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS)
def test_table(script: str) -> None:
    arguments = ["p", "q r"]
    assert by_reader(script, arguments) == by_bash(script, arguments)


WORD = st.sampled_from(
    ["a", "'b c'", '"d  $U"', "$U", "$E", "$N", "${U%t}", "${P#*/}", "${N:-'x y'}", "${U:+z}",
     '"${N-}"', "\\$x", "~/k", "$1",
     '"$@"', "$#", "${A}", '"$A$B"', "$(echo $A q)", "$'\\x'", '""', "''", "a=b", "*nomatch*",
     "${P//\\//-}", "${#A}", "k:~"]
)  # fmt: skip
TEST = st.sampled_from(["-n $A", '-z "$N"', '"$A" = a', '"$U" != x', "$# -gt 1", '! -n "$E"', '-n "$U" -a -z "$E"'])


def statements(depth: int) -> st.SearchStrategy[str]:
    name = st.sampled_from(["A", "B", "C"])
    simple = st.one_of(
        st.tuples(name, WORD, WORD).map(lambda t: f"{t[0]}={t[1]}{t[2]}"),
        st.tuples(name, WORD).map(lambda t: f"export {t[0]}={t[1]}"),
        st.tuples(name, WORD).map(lambda t: f"{t[0]}+={t[1]}"),
        st.tuples(WORD, WORD).map(lambda t: f"set -- {t[0]} {t[1]}"),
        name.map(lambda n: f"unset {n}"),
        st.just("export A B C"),
        st.just("shift $(( $# > 0 ))").map(lambda _: "[ $# -gt 0 ] && shift"),
        st.tuples(WORD, name).map(lambda t: f"f() {{ {t[1]}={t[0]}; }}; f {t[0]} y"),
    )
    if not depth:
        return simple
    inner = st.lists(statements(depth - 1), min_size=1, max_size=3).map("\n".join)
    return st.one_of(
        simple,
        st.tuples(TEST, inner, inner).map(lambda t: f"if [ {t[0]} ]; then\n{t[1]}\nelse\n{t[2]}\nfi"),
        st.tuples(WORD, WORD, inner).map(lambda t: f"for i in {t[0]} {t[1]}; do\nC=$C$i\n{t[2]}\ndone"),
        st.tuples(WORD, inner, inner).map(lambda t: f"case {t[0]} in\na*|'b c') {t[1]};;\n*) {t[2]};;\nesac"),
        inner.map(lambda t: f"(\n{t}\n)"),
        st.tuples(TEST, simple, simple).map(lambda t: f"[ {t[0]} ] && {t[1]} || {t[2]}"),
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(statements(2), min_size=1, max_size=6).map("\n".join))
def test_generated(script: str) -> None:
    arguments = ["p", "q r"]
    try:
        expected, found = by_bash(script, arguments), by_reader(script, arguments)
    except NotComparable:
        reject()
    assert found == expected


def test_bash_is_really_asked(tmp_path: Path) -> None:
    assert "A=1" in by_bash("export A=1", []) and tmp_path.is_dir()

"""Python at the end of the launch chain: which interpreter, and which module it runs."""

from __future__ import annotations

import posixpath
import re

from remedy.unit.launch_stage import Stage
from remedy.value import replace
from remedy.view import View

_NAME = r"(?:python|pypy)(?:[0-9]+(?:\.[0-9]+)*)?t?d?"
_SCRIPT_IMPORT = rb"(?m)^[ \t]*from[ \t]+([A-Za-z_][\w.]*)[ \t]+import[ \t]"
_LAUNCHERS = {
    "torchrun": "nnodes nproc-per-node nproc_per_node rdzv-backend rdzv_backend rdzv-endpoint rdzv_endpoint rdzv-id"
    " rdzv_id rdzv-conf rdzv_conf max-restarts max_restarts monitor-interval monitor_interval start-method"
    " start_method role log-dir log_dir r redirects t tee node-rank node_rank master-addr master_addr master-port"
    " master_port local-addr local_addr logs-specs logs_specs local-ranks-filter local_ranks_filter",
}
#: python(1): the options without a value, which may stand before the m of -m in one word.
_FLAGS = frozenset("bBdEhiIOqsSuvVx")
_LAUNCHER_MODULES = frozenset({"torch.distributed.run", "torch.distributed.launch", "torch.distributed.elastic"})


def is_python(name: str) -> bool:
    """Whether a program's name is a Python's: python3.11, python3.13t, pypy3."""
    return name == "python3" or (name.startswith(("python", "pypy")) and re.fullmatch(_NAME, name) is not None)


def finish_python(stage: Stage, interpreter: str, view: View) -> Stage:
    """The chain's end: what the interpreter is told to run."""
    words = list(stage.argv[1:])
    module: str | None = None
    while words:
        word = words[0]
        if word == "-c":
            break
        if word[:1] == "-" and word[-1:] == "m" and _FLAGS.issuperset(word[1:-1]):
            module = words[1] if len(words) > 1 else None
            rest = words[2:]
            if module in _LAUNCHER_MODULES:
                module = _launched(rest) or module
            break
        if word in ("-W", "-X", "--check-hash-based-pycs"):
            del words[:2]
        elif word.startswith("-") and len(word) > 1:
            words.pop(0)
        else:
            module = _module_of(stage.absolute(word), words[1:], view)
            break
    done = replace(stage, interpreter=interpreter, module=module)
    return done.hop(f"runs the module {module}" if module else "runs the interpreter", interpreter).end()


def _module_of(script: str, arguments: list[str], view: View) -> str | None:
    """The module that a console script imports its entry point from."""
    name = posixpath.basename(script)
    if name in _LAUNCHERS:
        return _launched(arguments) or "torch.distributed.run"
    if not posixpath.dirname(script).endswith("bin"):
        return None
    try:
        match = re.search(_SCRIPT_IMPORT, view.read(script, 1 << 20)[:4096])
    except OSError:
        return None
    return match[1].decode("ascii", "replace") if match else None


def _launched(arguments: list[str]) -> str | None:
    """The module that torchrun is told to start in each process."""
    valued = set(_LAUNCHERS["torchrun"].split())
    words = list(arguments)
    as_module = False
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in ("-m", "--module"):
            as_module = True
        elif "=" not in word and word.lstrip("-") in valued:
            words[:1] = []
    return words[0] if words and as_module else None

"""The options that a server takes from a configuration file of its own, beside those of its command line.

SGLang (srt/server_args_config_parser.py, 0.5.10) and vLLM (utils/argparse_utils.py, 0.11) read a YAML mapping, put
``--key value`` for each entry before the options of the command line, and let the later one win.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from remedy.hints import Final

# An entry of the outermost mapping whose value is a scalar that needs no more of YAML than this, or is none.
_ENTRY: Final = (
    r"(?P<key>[A-Za-z_][\w-]*):(?:[ \t]+(?:\"(?P<double>[^\"\\]*)\"|'(?P<single>[^']*)'"
    r"|(?P<plain>[\w./~+-](?:[^\s#:]|:(?=\S)|[ \t]+(?!#)|(?<=\S)#)*)|(?P<other>\[.*\]|\{.*\}|[|>].*)))?[ \t]*(?:#.*)?"
)
_FLAGS: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NOTHING: Final = ("", "null", "~")


def options(text: str) -> Iterator[str]:
    """``--key value`` for each scalar of a YAML mapping, the key alone for a true one; what is written in other ways
    (lists, nested mappings, blocks of lines) is left out. Raises ValueError for what is no such mapping."""
    nests = True
    for line in text.splitlines():
        inner = line.startswith("- ") or (line[:1].isspace() and nests)
        if inner or not line.strip() or line.lstrip()[0] == "#" or line.startswith("---"):
            continue
        entry = re.fullmatch(_ENTRY, line.rstrip())
        if entry is None:
            raise ValueError(f"not a plain entry: {line}")
        nests = line.rstrip().endswith(":") or bool(entry["other"])
        quoted = next((entry[name] for name in ("double", "single") if entry[name] is not None), None)
        plain = (entry["plain"] or "").rstrip()
        key = f"--{entry['key'].replace('_', '-')}"
        if quoted is not None:
            yield from (key, quoted)
        elif plain.lower() in _FLAGS:
            yield from (key,) if _FLAGS[plain.lower()] else ()
        elif plain not in _NOTHING:
            yield from (key, plain)

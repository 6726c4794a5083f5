"""What is never printed, stored or sent: the values of secrets, wherever they turn up.

A secret is known by the name that it is given (a variable, an option, a JSON key or a header) or by its own form
(the prefixes that issuers give their tokens). The rules err on the side of hiding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

HIDDEN = "***"

_WORDS = frozenset(
    (
        "AUTH", "AUTHORIZATION", "BEARER", "COOKIE", "CREDENTIAL", "CREDENTIALS", "CREDS", "JWT", "KEY", "KEYS",
        "PASSPHRASE", "PASSWD", "PASSWORD", "PASSWORDS", "SECRET", "SECRETS", "TOKEN",
    )
)  # fmt: skip
_ENDINGS = (
    "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "ACCESSKEY", "AUTHKEY", "SECRETKEY", "PRIVATEKEY",
)  # fmt: skip
#: One of these is in every name of a secret.
_TELLING = (*_WORDS, *_ENDINGS, "PASS", "PWD")
#: Last words that make it the place or a property of a secret, not the secret.
_ABOUT = frozenset(
    (
        "DIR", "DIRECTORY", "ENABLE", "ENABLED", "FILE", "FORMAT", "LENGTH", "METHOD", "MODE", "PATH", "SIZE", "SOCK",
        "SOCKET", "TIMEOUT", "TYPE",
    )
)  # fmt: skip
#: Words beside which a token is one that language models count, or a key one that caches are looked up by.
_COUNTED = {
    "TOKEN": frozenset(("BATCH", "BATCHED", "BUDGET", "COUNT", "LIMIT", "MAX", "MIN", "NUM", "PER", "TOTAL")),
    "KEY": frozenset(("CUDA", "KV", "NCCL")),
}

_FORMS = (
    # hf_… (Hugging Face), sk-… (OpenAI, Anthropic), gh?_…/github_pat_…, glpat-…, xox?-… (Slack), AKIA… (AWS),
    # nvapi-… (NVIDIA), AIza… (Google), ya29.…, JSON web tokens.
    r"\bhf_[A-Za-z0-9]{8,}|\bsk-[A-Za-z0-9_-]{12,}|\bgh[opsur]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{12,}"
    r"|\bxox[a-z]-[\w-]{10,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bnvapi-[\w-]{16,}|\bAIza[\w-]{30,}|\bya29\.[\w-]{16,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
)
#: What each of the forms holds at least.
_STARTS = (
    "hf_", "sk-", "gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xox", "AKIA", "ASIA", "nvapi-",
    "AIza", "ya29.", "eyJ",
)  # fmt: skip
_PEM = r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
_SCHEME = r"(?i:\b(bearer|basic)\s+)[\w.~+/=-]{6,}"
_USERINFO = r"(?P<scheme>\b[A-Za-z][\w+.-]{0,30}://)(?P<user>[^\s/:@'\"]*):[^\s/@'\"]*@"
_USER_ONLY = r"(?P<scheme>\b[A-Za-z][\w+.-]{0,30}://)[^\s/:@'\"]{16,}@"
# What a secret stands behind: NAME=, --name, "name": or Name:. Names begin where no letter stands before them, and are
# bounded: else each letter of a long word is tried as a beginning, and all of its rest as the name.
_ASSIGNED = r"(?<![A-Za-z_])(?P<name>[A-Za-z_][\w.-]{0,200})="
_OPTION = r"(?P<name>--?[A-Za-z][\w-]{0,200})[ \t]+(?![-\s])"
_KEYED = r"(?<![A-Za-z_])(?P<name>[\"']?[A-Za-z_][\w-]{0,200}[\"']?)\s*:\s*"
_VALUE = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^\s\"',;}]+"
#: Up to the quote that was opened before the name, as in "NAME=some value".
_UNTIL = {'"': r'(?:[^"\\\n]|\\.)*(?=")', "'": r"(?:[^'\\\n]|\\.)*(?=')"}
#: Words that stand before a colon in plain messages without being secrets ("Unexpected key: …").
_CHATTY = frozenset({"KEY", "KEYS", "TOKEN", "AUTH"})


def is_secret(name: str) -> bool:
    """Whether a variable, option or key of this name holds a secret: HF_TOKEN does, TOKENIZERS_PARALLELISM doesn't."""
    if not name.isupper():
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()
    words = name.replace("-", "_").replace(".", "_").strip("_").split("_")
    if words[-1] in _ABOUT:
        return False
    if words[-1] in ("PASS", "PWD") and len(words) > 1:
        return True
    telling = [word for word in words if word in _WORDS or word.endswith(_ENDINGS)]
    return any(_COUNTED.get(word, frozenset()).isdisjoint(words) for word in telling)


def redact(text: str) -> str:
    """The text with every secret in it replaced by ``***``. What is not secret stays byte for byte."""
    if not _may_hold_one(text):
        return text
    if "PRIVATE KEY" in text:
        text = _pattern(_PEM, re.DOTALL).sub(HIDDEN, text)
    if "://" in text and "@" in text:
        text = _pattern(_USERINFO).sub(lambda found: f"{found['scheme']}{found['user']}:{HIDDEN}@", text)
        text = _pattern(_USER_ONLY).sub(lambda found: f"{found['scheme']}{HIDDEN}@", text)
    if any(word in text.casefold() for word in ("bearer", "basic")):
        text = _pattern(_SCHEME).sub(lambda found: f"{found[1]} {HIDDEN}", text)
    if any(start in text for start in _STARTS):
        text = _pattern(_FORMS).sub(HIDDEN, text)
    if _may_name_one(text):
        for head, mark in ((_ASSIGNED, "="), (_OPTION, "-"), (_KEYED, ":")):
            if mark in text:
                text = _hide_behind(head, text)
    return text


def redact_argv(argv: Iterable[str]) -> list[str]:
    """A command line's words with secrets hidden, also where name and value are two words."""
    shown: list[str] = []
    hide_next = False
    for word in argv:
        if hide_next and not word.startswith("-"):
            shown.append(HIDDEN)
            hide_next = False
            continue
        hide_next = word.startswith("-") and "=" not in word and is_secret(word.lstrip("-"))
        shown.append(redact(word))
    return shown


def redact_value(name: str, value: str) -> str:
    """The value of a variable as it may be shown."""
    return HIDDEN if value and is_secret(name) else redact(value)


def _hide_behind(head: str, text: str) -> str:
    """Hide the values behind the names of secrets; a name that is none is looked into again: A=TOKEN=x."""
    parts: list[str] = []
    done = 0
    for found in _pattern(head).finditer(text):
        if found.start() < done or not _names_secret(found["name"], head):
            continue
        before = text[found.start() - 1 : found.start()]
        form = _UNTIL[before] if head is _ASSIGNED and before in _UNTIL else _VALUE
        value = _pattern(form).match(text, found.end())
        # "Authorization: Bearer ***" has lost its secret already, and "user credentials: No such process" has none.
        if (
            value is not None
            and value[0]
            and value[0].lower() not in ("bearer", "basic")
            and not _is_error(text, value)
        ):
            parts += (text[done : found.end()], _quoted_like(value[0]))
            done = value.end()
    return "".join((*parts, text[done:])) if parts else text


def _is_error(text: str, value: re.Match[str]) -> bool:
    """Whether the C library's words for an error begin here (errno(3))."""
    return any(text.startswith(words, value.start()) for words in _errors())


@cache
def _errors() -> tuple[str, ...]:
    from os import strerror

    return tuple(words for number in range(1, 134) if " " in (words := strerror(number)))


def _names_secret(name: str, head: str) -> bool:
    bare = name.strip("\"'")
    if head is _KEYED and bare == name and name.upper() in _CHATTY:
        return False
    return is_secret(bare.lstrip("-"))


def _quoted_like(value: str) -> str:
    quote = value[0] if value[:1] in "\"'" and len(value) > 1 else ""
    return f"{quote}{HIDDEN}{quote}"


def _may_hold_one(text: str) -> bool:
    """A quick look that lets most texts pass untouched."""
    return any(
        mark in text for mark in ("=", "--", ":", "_", "sk-", "AKIA", "ASIA", "eyJ", "AIza", " ", "pat-", "api-")
    )


def _may_name_one(text: str) -> bool:
    """Whether the text holds a word that names secrets, in whatever name."""
    upper = text.upper()
    return any(word in upper for word in _TELLING)


@cache
def _pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Compiled when first needed: most runs print no text that could hold a secret."""
    return re.compile(text, flags)

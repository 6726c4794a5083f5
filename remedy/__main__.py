"""``remedy`` and ``python -m remedy``: run a command, and turn every error into one clear line and an exit code."""

from __future__ import annotations

import gc
import io
import os
import sys

import remedy
from remedy.hints import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """Run the command line. Never lets a traceback through unless REMEDY_DEBUG is set."""
    from remedy import listing

    listing.Finder(remedy.__name__, remedy.__spec__).install()
    from remedy.errors import Exit, RemedyError

    # Few commands live long enough to have garbage in cycles; looking for it costs a start several milliseconds.
    gc.set_threshold(100_000)
    leave: Callable[[int], object] = sys.exit
    try:
        _open_standard_streams()
        code, leave = _run(sys.argv[1:])
        sys.stdout.flush()
    except RemedyError as error:
        code = error.exit_code
        _say(error.message, error.hint)
    except BrokenPipeError:
        # A reader that has enough (``remedy show … | head``) is no error of ours.
        _let_go_of_output()
        code = Exit.DONE
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except Exception as error:
        if os.environ.get("REMEDY_DEBUG"):
            raise
        code = Exit.INTERNAL
        _say(f"a fault of its own: {type(error).__name__}: {error}", "REMEDY_DEBUG=1 shows where")
    leave(int(code))


def _run(arguments: list[str]) -> tuple[int, Callable[[int], object]]:
    """Run a command line; returns its exit code, and how the process is to be left."""
    from remedy.cli import quick

    found = quick.run(arguments)
    if found is not None:
        # These commands leave nothing to be closed, and taking the interpreter apart costs a tenth of a diagnosis.
        return found, os._exit
    from remedy.cli.app import run

    return run(arguments), sys.exit


def _open_standard_streams() -> None:
    """Make the standard streams such that nothing is lost silently.

    A descriptor that was closed is taken, or the next file that is opened takes its place. Raises RemedyError where
    standard output is closed: a result would be lost, or a change be made that nobody hears of.
    """
    from remedy.errors import RemedyError

    while (taken := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(taken)
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BufferedReader(io.FileIO(0)))
    sys.stderr = sys.stderr or io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "w")), line_buffering=True)
    if sys.stdout is None:
        raise RemedyError("standard output is closed", hint="with >/dev/null a command runs without showing its result")
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Output(1, "w", closefd=False)),
        encoding=sys.stdout.encoding,
        # A locale without these characters shows them escaped, as on standard error.
        errors="backslashreplace",
        line_buffering=bool(sys.stdout.line_buffering),
    )


class _Output(io.FileIO):
    """Standard output; a write that fails is told from all other errors by the one who writes."""

    def write(self, data: Any, /) -> int:
        """As FileIO.write. Raises RemedyError where nothing can be written, BrokenPipeError where nobody reads."""
        from remedy.errors import RemedyError

        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            _let_go_of_output()
            hint = "is the device full? the result is lost; run the command again"
            raise RemedyError(f"standard output can't be written: {error.strerror}", hint=hint) from None


def _let_go_of_output() -> None:
    """Let what is still in a buffer go nowhere, instead of failing once more at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _say(message: str, hint: str | None) -> None:
    from remedy.show.host import typed
    from remedy.show.text import plain

    # Names and paths in it may be anybody's.
    print(f"remedy: {plain(message)}", file=sys.stderr)
    if hint:
        print(f"  {typed(plain(hint))}", file=sys.stderr)


if __name__ == "__main__":
    main()

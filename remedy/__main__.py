"""``remedy`` and ``python -m remedy``: run a command, and turn every error into one clear line and an exit code."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable


def main() -> None:
    """Run the command line. Never lets a traceback through unless REMEDY_DEBUG is set."""
    from remedy.cli import quick
    from remedy.errors import Exit, RemedyError

    # Few commands live long enough to have garbage in cycles; looking for it costs a start several milliseconds.
    gc.set_threshold(100_000)
    leave: Callable[[int], object] = sys.exit
    # A closed pipe (``remedy show … | head``) is no error of ours.
    try:
        found = quick.run(sys.argv[1:])
        if found is None:
            from remedy.cli.app import run

            code = run(sys.argv[1:])
        else:
            # These commands leave nothing to be closed, and taking the interpreter apart costs a tenth of a diagnosis.
            code, leave = found, os._exit
        sys.stdout.flush()
    except RemedyError as error:
        code = error.exit_code
        print(f"remedy: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"  {error.hint}", file=sys.stderr)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = Exit.DONE
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except Exception as error:
        if os.environ.get("REMEDY_DEBUG"):
            raise
        code = Exit.INTERNAL
        print(f"remedy: a fault of its own: {type(error).__name__}: {error}", file=sys.stderr)
        print("  nothing more was done; REMEDY_DEBUG=1 shows where", file=sys.stderr)
    leave(int(code))


if __name__ == "__main__":
    main()

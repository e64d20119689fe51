"""`specscope …`, also `python -m core.cli`. Exit codes: 0; 1 the environment's trouble; 2 the user's mistake; 130 interrupted."""
from __future__ import annotations

import io
import os
import sys
from contextlib import suppress

from core import assets
from core.cli.parser import parser
from core.errors import EnvironmentFailure, UserError


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code. Every known failure is one line on stderr, never a traceback."""
    _speak_utf8()
    argv = sys.argv[1:] if argv is None else argv
    try:
        args = parser(argv).parse_args(argv)
        code = args.act(args)
        sys.stdout.flush()              # a full disk or a closed pipe is found here, not while the interpreter exits
        return code
    except UserError as error:
        return _fail(str(error), 2)
    except EnvironmentFailure as error:
        return _fail(str(error), 1)
    except ModuleNotFoundError as error:        # in an environment with torch alone, for one; a missing module of ours is a bug
        if str(error.name).partition(".")[0] in ("core", "spec_ui"):
            raise
        return _fail(f"This command needs a package that is not installed: pip install {error.name}.", 1)
    except (MemoryError, RuntimeError) as error:        # any other error of torch is a bug
        from core.checkpoints import memory
        if not memory.is_out(error):
            raise
        return _fail("Not enough memory: take a smaller model or a shorter prompt.", 1)
    except KeyboardInterrupt:
        return _fail("Interrupted.", 130)
    except BrokenPipeError:             # `| head` has read enough
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        if isinstance(error, FileNotFoundError) and assets.holds(error.filename):
            return _fail(str(assets.missing(error.filename)), 1)
        return _fail(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}.", 1)


def _speak_utf8() -> None:
    """Write UTF-8 into pipes and files whatever the locale says; for a character that a terminal lacks, write its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace", **({} if stream.isatty() else {"encoding": "utf-8"}))


def _drop_output() -> None:
    """Throw away what stdout still holds: it cannot be written, and Python would try again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(sentence: str, code: int) -> int:
    from core.cli.terminal import visible
    print(f"specscope: {visible(sentence, newlines=False)}", file=sys.stderr)
    return code

"""Where a command's result goes: --json FILE, - for stdout, or a table for people."""
from __future__ import annotations

from pathlib import Path

from core.errors import UserError


def check_writable(name: str | None) -> None:
    """Raises UserError if the file that --json names cannot be made. Commands ask before a run of minutes, not after it."""
    if name not in (None, "-"):
        path = Path(name)
        try:
            trouble = "it is a folder" if path.is_dir() else "" if path.parent.is_dir() else f"there is no folder {path.parent}"
        except OSError as error:                # a name too long, for one
            trouble = error.strerror or str(error)
        if trouble:
            raise UserError(f"Cannot write {name[:200]}: {trouble}.")


def give(name: str | None, data: object, table: str) -> None:
    """The data as JSON into the file `name`, `-` for stdout; the table on stdout wherever stdout is not taken by the JSON."""
    from core.trace import dumps, write_text
    if name == "-":
        print(dumps(data))
        return
    if name:
        write_text(Path(name), dumps(data) + "\n")
    print(table)

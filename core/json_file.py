"""JSON files that came from somewhere else."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.errors import UserError


def read_object(path: Path) -> dict[str, Any]:
    """A file that holds one JSON object. Raises UserError, one sentence that names the file, whatever is wrong with it."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}).") from None
    except (ValueError, RecursionError) as error:       # not JSON, not UTF-8, a number of thousands of digits, brackets without end
        raise UserError(f"{path} is not JSON ({str(error)[:120]}).") from None
    if not isinstance(data, dict):
        raise UserError(f"{path} is not a JSON object.")
    return data

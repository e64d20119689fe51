"""Reads JSON files of other programs: config.json, tokenizer_config.json, index files."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.errors import UserError


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file. Raises UserError that names the file if it cannot be read or holds no JSON object."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}).") from None
    except (ValueError, RecursionError) as error:       # not JSON, not UTF-8, a number of thousands of digits; nested too deeply
        raise UserError(f"{path} is not JSON ({str(error)[:120]}).") from None
    if not isinstance(data, dict):
        raise UserError(f"{path} is not a JSON object.")
    return data

"""Single values of a config.json, checked: of the right type, and within what the arithmetic can hold."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from core.errors import UserError

FLOAT32 = torch.finfo(torch.float32)
MOST = 2 ** 31 - 1


@dataclass(frozen=True)
class ConfigValues:
    """A config.json. `where`, the subject of every refusal, says whose it is."""
    data: dict[str, Any]
    where: str

    def get(self, name: str, default: Any = None) -> Any:
        return self.data.get(name, default)

    def whole(self, name: str, default: int | None = None, least: int = 1) -> int:
        """A size or count; `default` where it is missing or null. Raises UserError."""
        value = self._given(name, default)
        if type(value) is not int or not least <= value <= MOST:
            raise UserError(f"{self.where} gives {name} as {short(value)}; it must be a whole number from {least} to {MOST}.")
        return value

    def number(self, name: str) -> float:
        """A number above 0 that float32 holds, since a config's numbers are computed with in float32: 1e-320 would be 0 there, 1e300
        infinite. Raises UserError."""
        value = self._given(name)
        if type(value) not in (int, float) or not FLOAT32.tiny <= value <= FLOAT32.max:
            raise UserError(f"{self.where} gives {name} as {short(value)}; it must be a number above 0 that float32 can hold "
                            f"({FLOAT32.tiny:.1e} to {FLOAT32.max:.1e}).")
        return float(value)

    def flag(self, name: str) -> bool:
        """A switch, off where it is missing or null. Raises UserError."""
        value = self.data.get(name)
        if value is not None and type(value) is not bool:
            raise UserError(f"{self.where} gives {name} as {short(value)}; it must be true or false.")
        return bool(value)

    def _given(self, name: str, default: Any = None) -> Any:
        value = self.data.get(name) if self.data.get(name) is not None else default
        if value is None:
            raise UserError(f"{self.where} lacks {name!r}.")
        return value


def end_ids(value: Any, where: str) -> tuple[int, ...]:
    """An `eos_token_id`: one token id, a list of them, or null. Raises UserError naming `where` it stands."""
    ids = value if isinstance(value, list) else [] if value is None else [value]
    if not all(type(i) is int and 0 <= i <= MOST for i in ids):
        raise UserError(f"{where} gives eos_token_id as {short(value)}; it must be a token id (a whole number from 0 up), a list of them, or null.")
    return tuple(ids)


def short(value: Any) -> str:
    """A value in a sentence, also a number of thousands of digits."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= 60 else text[:60] + "…"

"""A method's own options: declared by its proposer, offered by the command line and the page, checked here."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import UserError


@dataclass(frozen=True)
class Setting:
    """One option of a method."""
    name: str                       # snake_case; --kebab-case on the command line
    kind: type                      # int, float, str or bool
    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    def check(self, value: Any) -> Any:
        """The value, converted to `kind`; None gives the default. Raises UserError if it cannot be converted or is out of range."""
        if value is None or value == self.default:
            return self.default
        try:
            good = self.kind(value)
        except (TypeError, ValueError):
            raise UserError(f"{self.flag} wants a {'whole ' if self.kind is int else ''}number, not {value!r}.") from None
        if self.choices and good not in self.choices:
            raise UserError(f"{self.flag} must be one of {', '.join(self.choices)}, not {value!r}.")
        low, high = self.low, self.high
        if (low is not None and not good >= low) or (high is not None and not good <= high):
            raise UserError(f"{self.flag} must be " + (f"from {low} to {high}" if None not in (low, high) else f"at least {low}" if high is None
                                                       else f"at most {high}") + f", not {value!r}.")
        return good


def complete(settings: Sequence[Setting], given: dict[str, Any], method: str) -> dict[str, Any]:
    """All settings of a method with their values, given or default. Raises UserError for one that the method does not have."""
    known = {s.name: s for s in settings}
    for name, value in given.items():
        if value is not None and name not in known:
            raise UserError(f"--{name.replace('_', '-')} has no meaning for --method {method}.")
    return {name: s.check(given.get(name)) for name, s in known.items()}

"""What the server says, one file a language (`en.py`, `ru.py`, ...): a third language is one more file with the same keys.

The sentences of the drawn parts are in assets/js/words_*_<language>.js.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache

DEFAULT = "en"
LANGUAGES = tuple(sorted(m.name for m in pkgutil.iter_modules(__path__)))


def clean(lang: object) -> str:
    """A language that there is: whatever a visitor sends."""
    return lang if isinstance(lang, str) and lang in LANGUAGES else DEFAULT


@lru_cache
def table(lang: str) -> dict[str, str]:
    return importlib.import_module(f"spec_ui.words.{clean(lang)}").WORDS


def text(lang: object, key: str, **values: object) -> str:
    """The sentence of a key. Values are put in as they are: they are never patterns themselves."""
    return table(clean(lang))[key].format(**values)


def names() -> list[tuple[str, str]]:
    """(the language's own name, its code)."""
    return [(table(code)["language.name"], code) for code in sorted(LANGUAGES, key=lambda c: (c != DEFAULT, c))]

"""What the server says, one file a language (`en.py`, `ru.py`, ...): a third language is one more file with the same keys.

The sentences of the drawn parts are in assets/js/words/<language>/.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache

from core.errors import Failure

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


def setting(lang: object, name: str) -> str:
    """A method's own setting as its field is called; one that the page does not know by its own name."""
    return table(clean(lang)).get(f"setting.{name}", name.replace("_", " "))


def failure(error: Failure, lang: object) -> str:
    """What went wrong in the page's words, or else in the engine's."""
    key = f"wrong.{error.reason}"
    if key not in table(clean(lang)):
        return str(error)
    values = {name: setting(lang, str(value)) if name in ("setting", "other") else value for name, value in error.values.items()}
    return text(lang, key, **values)


def again(sentence: object, lang: object) -> str:
    """A sentence of ours, in whatever language, in this one; nothing for one that is not ours or has values in it."""
    key = next((key for code in LANGUAGES for key, said in table(code).items() if said == sentence), None)
    return table(clean(lang))[key] if key else ""


def names() -> list[tuple[str, str]]:
    """(the language's own name, its code)."""
    return [(table(code)["language.name"], code) for code in sorted(LANGUAGES, key=lambda c: (c != DEFAULT, c))]

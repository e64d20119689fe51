"""The server's sentences, one file a language (`en.py`, `ru.py`, ...): a third language is one more file with the same keys.

What the browser draws has its sentences in assets/js/words/<language>/.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache

from core.errors import Failure

DEFAULT = "en"
LANGUAGES = tuple(sorted(m.name for m in pkgutil.iter_modules(__path__)))


def clean(lang: object) -> str:
    """The code of a language that the page has, whatever a visitor sends."""
    return lang if isinstance(lang, str) and lang in LANGUAGES else DEFAULT


@lru_cache
def table(lang: str) -> dict[str, str]:
    return importlib.import_module(f"spec_ui.words.{clean(lang)}").WORDS


def text(lang: object, key: str, **values: object) -> str:
    """The sentence of a key. A value is put in as it is and never read as a pattern."""
    return table(clean(lang))[key].format(**values)


def setting(lang: object, name: str) -> str:
    """The name of a method's own setting on the page; for a setting that the page does not know, its name in the code."""
    return table(clean(lang)).get(f"setting.{name}", name.replace("_", " "))


def failure(error: Failure, lang: object) -> str:
    """What went wrong, in the page's words where it has them, else in the engine's."""
    key = f"wrong.{error.reason}"
    if key not in table(clean(lang)):
        return str(error)
    values = {name: setting(lang, str(value)) if name in ("setting", "other") else value for name, value in error.values.items()}
    return text(lang, key, **values)


def again(sentence: object, lang: object) -> str:
    """The same sentence in another language; "" for a text that is no sentence of ours, or one with values in it."""
    key = next((key for code in LANGUAGES for key, said in table(code).items() if said == sentence), None)
    return table(clean(lang))[key] if key else ""


def names() -> list[tuple[str, str]]:
    """(name, code) of each language, its name in that language."""
    return [(table(code)["language.name"], code) for code in sorted(LANGUAGES, key=lambda c: (c != DEFAULT, c))]

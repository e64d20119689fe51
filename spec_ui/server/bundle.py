"""The player's small JavaScript modules as one script, and its style sheets as one text: no build step, no request per file.

The modules are plain ES modules (Node's test runner imports them as they are). Joined, each becomes a function that returns what it
exports, and `import { a } from "./x.js"` becomes a look-up in that: the result runs inline, from a file, anywhere.
"""

from __future__ import annotations

import re
from functools import lru_cache

from core.assets import ASSETS

ENTRY = "gradio_glue.js"
IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.M)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|let|class) (\w+))", re.M)


def modules(*entries: str) -> list[tuple[str, str]]:
    """(name, source) of every module the entries need, each after those it imports."""
    done: dict[str, str] = {}

    def visit(name: str) -> None:
        if name in done:
            return
        source = (ASSETS / "js" / name).read_text(encoding="utf-8")
        for _, needed in IMPORT.findall(source):
            visit(f"{needed}.js")
        done[name] = source

    for entry in entries or (ENTRY,):
        visit(entry)
    return list(done.items())


def _scoped(name: str, source: str) -> str:
    exports = ", ".join(EXPORT.findall(source))
    body = EXPORT.sub("", IMPORT.sub(r"const {\1} = $\2;", source))
    return f"const ${name.removesuffix('.js')} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();"


@lru_cache
def script(*entries: str) -> str:
    """One classic script that puts what the entries export, and `mount`, on `window.Specscope`."""
    entries = entries or (ENTRY,)
    body = "\n".join(_scoped(name, source) for name, source in modules(*entries))
    exports = ", ".join(f"...${entry.removesuffix('.js')}" for entry in entries)
    return f'(() => {{\n"use strict";\n{body}\nwindow.Specscope = {{ ...$player, {exports} }};\n}})();\n'


def inline(name: str, call: str) -> str:
    """One module that imports nothing, and a call of what it exports, as a classic script that leaves no names behind."""
    return f"(() => {{\n{EXPORT.sub('', (ASSETS / 'js' / name).read_text(encoding='utf-8'))}\n{call};\n}})();"


@lru_cache
def styles(*names: str) -> str:
    return "\n".join((ASSETS / "css" / f"{name}.css").read_text(encoding="utf-8") for name in names)

"""The page's JavaScript modules as one script, and its style sheets as one text: no build step, no request per file.

The modules in assets/js are plain ES modules (Node's test runner imports them as they are). Joined, each becomes a function that
returns what it exports, and `import { a } from "../room/x.js"` becomes a look-up in that. The result runs inline, also from a file.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from core.assets import ASSETS

SCRIPTS = ASSETS / "js"
ENTRY = "entry/specscope.js"
IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]*)";', re.M)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|let|class) (\w+))", re.M)
STRAY = re.compile(r"^\s*(?:import|export)\b.*", re.M)


class BundleError(ValueError):
    """A module that cannot be joined: the message names the file and what is wrong in it."""


def modules(entry: str = ENTRY, root: Path = SCRIPTS) -> dict[str, str]:
    """{path under `root`: source} of every module that `entry` needs, each after those it imports. Raises BundleError."""
    done: dict[str, str] = {}
    trail: list[str] = []  # the modules whose imports are being followed

    def visit(name: str, importer: str) -> None:
        if name in trail:
            raise BundleError(f"{importer} imports in a circle: {' -> '.join([*trail[trail.index(name) :], name])}")
        if name in done:
            return
        try:
            source = (root / name).read_text(encoding="utf-8")
        except OSError:
            raise BundleError(f"{importer} imports {name}, which is not there.") from None
        trail.append(name)
        for names, path in IMPORT.findall(source):
            needed = _resolve(name, path, root)
            visit(needed, name)
            for wanted in _names(names, name):
                if wanted not in EXPORT.findall(done[needed]):
                    raise BundleError(f"{name} imports {wanted} from {needed}, which does not export it.")
        trail.pop()
        done[name] = source

    visit(entry, "the page")
    return done


def _resolve(importer: str, path: str, root: Path) -> str:
    """The path under `root` of what a module imports by a relative path."""
    target = (root / importer).parent.joinpath(path).resolve()
    if not path.startswith(("./", "../")) or not target.is_relative_to(root.resolve()):
        raise BundleError(f'{importer} imports "{path}": only relative paths to files in {root.name}/ can be bundled.')
    return target.relative_to(root.resolve()).as_posix()


def _names(names: str, importer: str) -> list[str]:
    found = [name.strip() for name in names.split(",") if name.strip()]
    for name in found:
        if not re.fullmatch(r"\w+", name):
            raise BundleError(f'{importer} imports "{name}": a name cannot be changed by an import.')
    return found


def _variable(name: str) -> str:
    """The variable that holds a module's exports. Files of one name in two folders get two variables."""
    return "$" + name.removesuffix(".js").replace("/", "$")


def _scoped(name: str, source: str, root: Path) -> str:
    """A module as a function of its own, called at once."""

    def look_up(found: re.Match) -> str:
        return f"const {{ {', '.join(_names(found[1], name))} }} = {_variable(_resolve(name, found[2], root))};"

    body = EXPORT.sub("", IMPORT.sub(look_up, source))
    if stray := STRAY.search(body):
        raise BundleError(f'{name}: "{stray[0].strip()}" cannot be bundled: write `import {{ a }} from "./x.js";` and `export const a`.')
    return f"const {_variable(name)} = (() => {{\n{body}\nreturn {{ {', '.join(EXPORT.findall(source))} }};\n}})();"


@lru_cache
def script(entry: str = ENTRY, root: Path = SCRIPTS) -> str:
    """One classic script of the entry and all it imports. Raises BundleError."""
    body = "\n".join(_scoped(name, source, root) for name, source in modules(entry, root).items())
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


def inline(name: str, call: str) -> str:
    """One module that imports nothing, and a call of what it exports, as a classic script that leaves no names behind."""
    return f"(() => {{\n{EXPORT.sub('', (SCRIPTS / name).read_text(encoding='utf-8'))}\n{call};\n}})();"


@lru_cache
def styles(*names: str) -> str:
    return "\n".join((ASSETS / "css" / f"{name}.css").read_text(encoding="utf-8") for name in names)

"""The rooms of assets/js: imports between them only go down, and whoever names a script names one that is there."""

import ast
import re
from pathlib import Path

from spec_ui.server import bundle

ROOT = Path(__file__).resolve().parents[2]
# Each room imports from those before it; the rooms of one line know nothing of each other.
LEVELS = (
    ("page",),                                     # what every picture is made of: nodes, numbers, charts, tables, the address
    ("trace",),                                    # a run as data: reading, steps, totals, theory, files
    ("distributions",),                            # p and q at one position: the rule of acceptance, and its pictures
    ("words", "whatif"),                           # all sentences in each language; the panel "What if"
    ("watch", "lossless", "faster", "methods"),    # the tabs
    ("lesson",),                                   # the tab that has a player in it
    ("entry",),                                    # what Gradio and the saved page call
)


def room(name: str) -> str:
    return name.split("/")[0]


def test_imports_between_rooms_only_go_down():
    level = {name: n for n, names in enumerate(LEVELS) for name in names}
    files = [path.relative_to(bundle.SCRIPTS).as_posix() for path in bundle.SCRIPTS.rglob("*.js")]
    assert {room(name) for name in files} == set(level) and all("/" in name for name in files)
    for name in files:
        for _, path in bundle.IMPORT.findall((bundle.SCRIPTS / name).read_text(encoding="utf-8")):
            needed = room(((bundle.SCRIPTS / name).parent / path).resolve().relative_to(bundle.SCRIPTS).as_posix())
            assert needed == room(name) or level[needed] < level[room(name)], f"{name} imports {path}"


def test_every_module_is_part_of_the_page():
    alone = {"entry/quiet_frames.js"}  # put into the page by itself, before Gradio's own scripts
    files = {path.relative_to(bundle.SCRIPTS).as_posix() for path in bundle.SCRIPTS.rglob("*.js")}
    assert set(bundle.modules()) | alone == files


def test_every_proposer_names_the_picture_that_draws_it():
    named = set()
    for path in sorted((ROOT / "core/methods").glob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        classes = [node for node in module.body if isinstance(node, ast.ClassDef)]
        drafts = any(isinstance(x, ast.FunctionDef) and x.name == "propose" for node in classes for x in node.body)
        pictures = re.findall(r"assets/js/[\w/]+\.js", ast.get_docstring(module) or "")
        if drafts and path.name != "base.py":
            assert pictures, f"{path.name} does not say what draws it"
            named.add(path.stem)
        assert all((ROOT / picture).is_file() for picture in pictures), f"{path.name}: {pictures}"
    assert {"draft_model", "prompt_lookup", "suffix", "early_exit", "medusa", "eagle", "combined"} <= named


def test_every_script_that_is_named_is_there():
    places = [ROOT / "README.md", *(p for folder in ("core", "spec_ui", "tests", "assets/css") for p in (ROOT / folder).rglob("*.[pc][ys]*"))]
    named = {(path.name, script) for path in places if path.suffix in (".py", ".css", ".md") and path != Path(__file__)
             for script in re.findall(r"assets/js/[\w/*]+\.js", path.read_text(encoding="utf-8"))}
    assert len(named) > 5
    assert [pair for pair in named if not [*ROOT.glob(pair[1])]] == []

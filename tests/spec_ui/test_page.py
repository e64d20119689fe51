"""The page as a whole, without a browser: launch arguments, the bundle, what is queued, and what must never be imported."""

import ast
import subprocess
import sys
from pathlib import Path

from spec_ui.server import bundle
from tests.spec_ui.fake_engine import FakeEngine

ROOT = Path(__file__).resolve().parents[2]


def test_importing_the_page_touches_no_model_library():
    code = "\n".join(
        (
            "import os, sys, spec_ui.page",
            "assert not {'torch', 'transformers', 'gguf'} & set(sys.modules)",
            "assert os.environ['GRADIO_ANALYTICS_ENABLED'] == 'False'",
        )
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True)
    assert run.returncode == 0, run.stderr[-800:]


def test_core_never_imports_gradio_and_the_page_never_imports_torch():
    for path in (ROOT / "core").rglob("*.py"):
        assert "import gradio" not in path.read_text(encoding="utf-8"), path
    for path in (ROOT / "spec_ui").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "import torch" not in text and "transformers" not in text.replace("never imports torch or transformers", "").replace(
            "imports torch or transformers", ""
        ), path


def test_the_bundle_is_one_script_that_can_stand_inline():
    script = bundle.script()
    assert "</script" not in script.lower() and "import {" not in script and "\nexport " not in script
    order = list(bundle.modules())
    assert order[-1] == bundle.ENTRY and order.index("trace/trace.js") < order.index("trace/steps.js") < order.index("watch/player.js")
    assert "</style" not in bundle.styles("player", "frame", "page").lower()
    for danger in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "http://", "https://"):
        assert danger not in script.replace("http://www.w3.org/2000/svg", ""), danger
    for sheet in ("player", "frame", "page"):
        assert "url(" not in bundle.styles(sheet) and "@import" not in bundle.styles(sheet)


def test_nothing_on_the_page_comes_from_outside_and_templates_are_constant():
    from spec_ui.page import LAUNCH_KWARGS, build

    assert LAUNCH_KWARGS["ssr_mode"] is False and LAUNCH_KWARGS["run_history"] is False and LAUNCH_KWARGS["footer_links"] == []
    demo = build(FakeEngine(), ROOT / "nowhere")
    config = demo.get_config_file()
    ids = {c["props"].get("elem_id") for c in config["components"]}
    assert {"prompt", "method", "draft-len", "temperature", "top-p", "seed", "max-new", "run", "stop", "player"} <= ids
    for c in config["components"]:
        if c["type"] == "html" and c["props"].get("elem_id") in ("player", "notice", "model-state", "settings", "lesson"):
            assert "$" not in c["props"]["html_template"] and "{" not in c["props"]["html_template"]
    queued = [d for d in config["dependencies"] if d["queue"] is not False]
    assert [d["api_name"] for d in queued] == ["run", "branch", "measure"], "only what needs the model may wait in the queue"
    assert demo.max_size == 40 if hasattr(demo, "max_size") else demo._queue.max_size == 40
    assert demo.analytics_enabled is False


def test_imports_only_go_down():
    """The page's folders stand on one another, and none imports from one above it."""
    floors = ("words", "server", "components", "tabs", "page")
    arrows = {}
    for path in (ROOT / "spec_ui").rglob("*.py"):
        folder = path.parent.name if path.parent != ROOT / "spec_ui" else "page"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "spec_ui":
                names = [f"{node.module}.{a.name}" for a in node.names]
                for part in (name.split(".")[1] for name in names):
                    other = part if part in floors else "page"
                    arrows.setdefault((folder, other), set()).add(path.relative_to(ROOT).as_posix())
    assert {a for a in arrows if floors.index(a[0]) < floors.index(a[1])} == set(), arrows
    assert len(arrows) > 8

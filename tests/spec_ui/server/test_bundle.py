"""The modules of assets/js as one script: paths, imports over several lines, equal names in two folders, and mistakes told at once."""

import json
import subprocess

import pytest

from spec_ui.server import bundle
from tests.assets.test_js import node

MAIN = """import {
  first,
  second,
} from "./a/model.js";
import { third } from "./b/model.js";
globalThis.got = [first, second(), new third().x];
"""
A_MODEL = """import { third } from "../b/model.js";
export const first = 1;
export async function later() {}
export function second() { return new third().x + 1; }
"""
B_MODEL = """const first = 7;
export class third { x = first; }
"""
IMPORT_A = 'import { a } from "./x.js";'
OUTSIDE = "only relative paths to files in"
CANNOT = "cannot be bundled: write `import { a }"


def write(root, files):
    for name, source in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(source, encoding="utf-8")
    return root


@pytest.mark.skipif(node() is None, reason="No Node: pip install playwright (its package carries one).")
def test_paths_imports_over_several_lines_and_equal_names_in_two_folders(tmp_path):
    root = write(tmp_path, {"main.js": MAIN, "a/model.js": A_MODEL, "b/model.js": B_MODEL})
    assert list(bundle.modules("main.js", root)) == ["b/model.js", "a/model.js", "main.js"]
    code = bundle.script("main.js", root) + "process.stdout.write(JSON.stringify([globalThis.got, typeof first, typeof $a$model]));"
    run = subprocess.run([node(), "-e", code], text=True, capture_output=True, timeout=60)
    assert json.loads(run.stdout) == [[1, 8, 7], "undefined", "undefined"], run.stderr


@pytest.mark.parametrize(("files", "message"), [
    ({"main.js": 'import { a } from "./b/x.js";'}, "main.js imports b/x.js, which is not there."),
    ({"main.js": IMPORT_A, "x.js": "export const b = 1;"}, "main.js imports a from x.js, which does not export it."),
    ({"main.js": IMPORT_A, "x.js": "export const b = 1, a = 2;"}, "main.js imports a from x.js, which does not export it."),
    ({"main.js": 'import { a } from "../x.js";'}, f'main.js imports "../x.js": {OUTSIDE}'),
    ({"main.js": 'import { a } from "plotly";'}, f'main.js imports "plotly": {OUTSIDE}'),
    ({"main.js": 'import { a as b } from "./x.js";', "x.js": "export const a = 1;"}, 'main.js imports "a as b": a name cannot be changed'),
    ({"main.js": 'import * as x from "./x.js";'}, f'main.js: "import * as x from "./x.js";" {CANNOT}'),
    ({"main.js": "export default 1;"}, f'main.js: "export default 1;" {CANNOT}'),
    ({"main.js": IMPORT_A, "x.js": 'import { b } from "./y.js";\nexport const a = 1;', "y.js": f"{IMPORT_A}\nexport const b = 1;"},
     "y.js imports in a circle: x.js -> y.js -> x.js"),
])
def test_a_mistake_is_told_when_the_page_is_built(tmp_path, files, message):
    root = write(tmp_path, files)
    with pytest.raises(bundle.BundleError) as told:
        bundle.script("main.js", root)
    assert str(told.value).startswith(message)

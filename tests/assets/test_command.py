"""*Copy as command*: what the page writes, put through a shell, is what the command line's own parser understands."""

import json
import shutil
import subprocess

import pytest

from tests.assets.test_js import SCRIPTS, node
from tests.spec_ui import fake_trace

PROMPTS = [
    "Explain rain.",
    'it\'s "so" $HOME `id` $(id) \\n !x',
    "--method=plain",
    "two\nlines\tand a tab",
    "\x1b[31m\u202e\u2028 </script>",
    "Почему 👩\u200d👩 ${x} {{y}}",
]
SCRIPT = """
import { readFileSync } from "node:fs";
const { commandFor } = await import(process.argv[1]);
process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map((run) => commandFor({ run, plain: {} }))));
"""


@pytest.mark.skipif(node() is None or shutil.which("bash") is None, reason="Needs Node (pip install playwright) and bash.")
def test_a_shell_and_our_parser_read_it_back():
    from core.cli import main  # its options are the methods' own: torch comes with them

    runs = []
    for prompt in PROMPTS:
        run = fake_trace.header(prompt, 0.7, 7, 4, False)
        run["target"] = "SmolLM2-135M-Instruct (Q4_1)"
        run.update(settings={"tree": "chain", "ngram_max": 5, "lookup_match": "first"}, max_new_tokens=64, stop=["\n\n"], ignore_eos=True)
        run["sampling"].update(top_p=0.9, min_p=0.0, repetition_penalty=1.0)
        runs.append(run)
    module = (SCRIPTS / "trace" / "command.js").as_uri()
    made = subprocess.run([node(), "--input-type=module", "-e", SCRIPT, module], input=json.dumps(runs), text=True, capture_output=True, timeout=60)
    assert made.returncode == 0, made.stderr[-800:]
    for prompt, command in zip(PROMPTS, json.loads(made.stdout)):
        shell = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
        words = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, timeout=20, env=shell)
        name, *args = words.stdout.decode().split("\0")[:-1]
        assert name == "specscope"
        got = main.parser().parse_args(args)
        assert (got.prompt, got.method, got.draft_len, got.temperature, got.top_p, got.seed) == (prompt, "draft", 4, 0.7, 0.9, 7)
        assert (got.max_new_tokens, got.stop, got.ignore_eos, got.baseline) == (64, ["\n\n"], True, True)
        assert (got.tree, str(got.ngram_max), got.lookup_match) == ("chain", "5", "first")

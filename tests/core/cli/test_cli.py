"""The command line as a person uses it: what is on stdout, which exit code, one clear line for every mistake, and no traceback."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core import trace
from core.cli import commands, main
from core.models import graphs
from core.trace import Trace
from tests.core import check, tiny
from tests.core.models.test_text import TEMPLATE

ROOT = Path(__file__).resolve().parents[3]
VOCAB = {"vocab_size": 260, "max_positions": 256}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Folders: a target with a tokenizer, drafts for it, a bare target."""
    root = tmp_path_factory.mktemp("models")
    tiny.checkpoint(root / "target", 0, tiny.tokenizer(), **VOCAB)
    (root / "target" / "chat_template.jinja").write_text(TEMPLATE)
    tiny.checkpoint(root / "draft", 7, tiny.tokenizer(), num_layers=1, **VOCAB)
    tiny.checkpoint(root / "same", 0, tiny.tokenizer(), **VOCAB)
    tiny.checkpoint(root / "bare")
    tiny.checkpoint(root / "bare draft", 7)
    return root


def argv(models, *more: str, command: str = "run", draft: str = "draft") -> list[str]:
    return [command, "--target", str(models / "target"), "--draft", str(models / draft), "--dtype", "float32", "--threads", "1", "--device", "cpu",
            "--max-new-tokens", "12", *more]


def run(capsys, args: list[str]) -> tuple[int, str, str]:
    code = main.main(args)
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


def process(args: list[str], **options) -> subprocess.CompletedProcess:
    done = subprocess.run([sys.executable, "-m", "core.cli", *args], cwd=ROOT, capture_output=True, timeout=120, **options)
    assert b"Traceback" not in done.stderr and b"Exception ignored" not in done.stderr
    return done


def test_json_on_stdout_and_nothing_else(models, capsys):
    code, out, _ = run(capsys, argv(models, "--prompt", "Hi", "--json", "-", "--baseline"))
    made = trace.parse(out)
    assert code == 0 and out.count("\n") == 1 and json.loads(out)["version"] == 1
    assert made.totals.new_tokens == 12 and made.totals.stop == "length" and made.plain["elapsed_s"] == sorted(made.plain["elapsed_s"])
    assert len(made.plain["elapsed_s"]) == 12
    facts = made.run
    assert (facts["prompt"], facts["method"], facts["lossless"], facts["draft_len"], facts["seed"]) == ("Hi", "draft", True, 4, 0)
    assert len(facts["prompt_ids"]) == len("user:Hi\nA:") + 1 and facts["dtype"] == "float32" and len(facts["weights"]) == 2
    for r in made.rounds:
        check.round_(r, True, made.totals.stop if r is made.rounds[-1] else None)
        check.tables(r)


@pytest.mark.parametrize("name", ["t.json", "t.ndjson"])
def test_json_into_a_file(models, capsys, tmp_path, name):
    code, out, err = run(capsys, argv(models, "--prompt", "Hi", "--json", str(tmp_path / name)))
    made = trace.read(tmp_path / name)
    assert code == 0 and made.totals.new_tokens == 12 and os.listdir(tmp_path) == [name]
    assert out == cli_text(made) and "12 tokens" in err and err.count("\n") == 1


def cli_text(made: Trace) -> str:
    from core.cli.terminal import visible
    return visible(made.totals.text) + "\n"


@pytest.mark.parametrize("method", ["plain", "draft"])
def test_greedy_text_is_the_same_for_every_method_and_baseline(models, capsys, method):
    texts = {run(capsys, argv(models, "--prompt", "Hi", "--method", method, *more, draft=d))[1] for d in ("draft", "same") for more in ([],
        ["--baseline"])}
    plain = run(capsys, argv(models, "--prompt", "Hi", "--method", "plain"))[1]
    assert texts == {plain}


def test_a_perfect_draft_is_told_so(models, capsys):
    _, _, err = run(capsys, argv(models, "--prompt", "Hi", "--temperature", "0.9", draft="same"))
    assert "100% of tested" in err


def test_prompts_as_text_raw_with_a_system_turn_and_as_ids(models, capsys):
    def ids(*more):
        return trace.parse(run(capsys, argv(models, "--json", "-", "--max-new-tokens", "1", *more))[1]).run["prompt_ids"]
    tokenizer = tiny.tokenizer()
    assert ids("--prompt", "Hi", "--raw") == tokenizer.encode("Hi").ids
    assert tokenizer.decode(ids("--prompt", "Hi", "--system", "S")) == "system:S\nuser:Hi\nA:"
    assert ids("--prompt-ids", "5, 9,7") == [5, 9, 7]


def test_a_target_without_a_tokenizer_runs_on_ids(models, capsys):
    args = ["run", "--target", str(models / "bare"), "--draft", str(models / "bare draft"), "--prompt-ids", "3,1,4", "--max-new-tokens", "6",
            "--dtype", "float64", "--threads", "1"]
    code, out, _ = run(capsys, args)
    want = tiny.greedy(weights_of(models / "bare"), [3, 1, 4], 6)
    assert code == 0 and out == "".join(f"<{t}>" for t in want) + "\n"


def weights_of(folder):
    import torch

    from core.checkpoints import weights
    return weights.load_decoder(folder, torch.float64, "cpu")


def test_same_seed_same_trace(models, capsys):
    def rounds(seed):
        made = trace.parse(run(capsys, argv(models, "--prompt", "Hi", "--json", "-", "--temperature", "1", "--seed", seed))[1])
        return [(r.drafted, r.emitted, r.tables) for r in made.rounds]
    assert rounds("0") == rounds("0") and rounds("0") != rounds("1")


def test_no_tables(models, capsys):
    made = trace.parse(run(capsys, argv(models, "--prompt", "Hi", "--json", "-", "--no-tables"))[1])
    assert all(r.tables == [] for r in made.rounds) and any(r.drafted for r in made.rounds)


def test_the_trace_says_what_was_captured(models, capsys, monkeypatch):
    def said(*more):
        code, out, err = run(capsys, argv(models, "--prompt", "abab", "--json", "-", *more))
        assert code == 0, err
        return json.loads(out)["run"]["graphs"]

    assert said().startswith("off: a CPU") and said("--no-graphs") == "off: --no-graphs"
    monkeypatch.setattr(graphs, "CPU_BY_DEFAULT", True)
    assert said() == "static" and said("--no-graphs") == "off: --no-graphs"


@pytest.mark.parametrize("n", [0, 1])
def test_hardly_any_tokens(models, capsys, n):
    code, out, _ = run(capsys, argv(models, "--prompt", "Hi", "--json", "-", "--baseline", "--max-new-tokens", str(n)))
    made = trace.parse(out)
    assert code == 0 and made.totals.new_tokens == n and len(made.rounds) == n
    code, out, err = run(capsys, argv(models, "--prompt", "Hi", "--max-new-tokens", str(n)))
    assert code == 0 and f"{n} tokens" in err


def test_a_stop_string_is_cut_from_the_text(models, capsys):
    whole = run(capsys, argv(models, "--prompt", "Hi", "--json", "-"))[1]
    text = trace.parse(whole).totals.text
    at = next((i for i in range(2, len(text) - 1) if text[i] != "\ufffd"), None)
    assert at is not None
    _, out, err = run(capsys, argv(models, "--prompt", "Hi", "--stop", text[at]))
    from core.cli.terminal import visible
    assert out == visible(text[:text.index(text[at])]) + "\n" and "stop_string" in err


def test_compare(models, capsys, tmp_path):
    args = argv(models, "--prompt", "Hi", "--methods", "draft, draft,plain", "--repeats", "2", command="compare")
    code, out, _ = run(capsys, [*args, "--json", "-"])
    data = json.loads(out)
    assert code == 0 and out.count("\n") == 1
    assert set(data) >= {"version", "run", "results", "plain", "repeats"} and data["version"] == 1 and data["repeats"] == 2
    assert [r["method"] for r in data["results"]] == ["draft", "plain"]
    for r in data["results"]:
        assert r["identical"] is True and r["first_difference"] is None and r["totals"]["new_tokens"] == 12 == data["plain"]["new_tokens"]
        assert r["spread"][0] <= r["spread"][1] and r["ratio"] > 0
    code, out, _ = run(capsys, [*args, "--json", str(tmp_path / "c.json")])
    assert code == 0 and "identical" in out and json.loads((tmp_path / "c.json").read_text())["repeats"] == 2


def test_compare_of_sampled_runs_does_not_claim_identity(models, capsys):
    code, out, _ = run(capsys, argv(models, "--prompt", "Hi", "--temperature", "1", "--repeats", "1", "--json", "-", command="compare"))
    assert code == 0 and json.loads(out)["results"][0]["identical"] is None


def test_traces_show(models, capsys, tmp_path):
    path = str(tmp_path / "t.ndjson")
    _, out, err = run(capsys, argv(models, "--prompt", "Hi", "--json", path))
    assert run(capsys, ["traces", "show", path]) == (0, out, err)


BAD = {
    "no command": [], "unknown command": ["decode"], "unknown option": ["run", "--prompt", "x", "--fast"], "shortened option": ["run", "--prom", "x"],
    "no prompt": ["run"], "empty prompt": ["run", "--prompt", ""], "blank prompt": ["run", "--prompt", " \n"], "no value": ["run", "--prompt"],
    "both prompts": ["run", "--prompt", "x", "--prompt-ids", "1"], "ids with a gap": ["run", "--prompt-ids", "1,,2"],
    "no ids": ["run", "--prompt-ids", ""],
    "ids that are words": ["run", "--prompt-ids", "a,b"], "fractional ids": ["run", "--prompt-ids", "1.5"],
    "ids and system": ["run", "--prompt-ids", "1", "--system", "x"],
    "ids and raw": ["run", "--prompt-ids", "1", "--raw"], "surrogate": ["run", "--prompt", "a\udcff"],
    "surrogate stop": ["run", "--prompt", "x", "--stop", "\udcff"],
    **{f"{option} {value}": ["run", "--prompt", "x", option, value] for option, values in {
        "--temperature": ["-1", "nan", "inf", "1e400", "x", "", "1e-9", "101"], "--top-k": ["-1", "1.5", "nan", "x", "²"],
        "--top-p": ["0", "-0.1", "1.1", "nan", "inf"],
        "--min-p": ["-0.1", "1.1", "nan"], "--repetition-penalty": ["0", "-1", "nan", "inf", "1e300"],
        "--seed": ["-1", "1.5", str(2 ** 63), "9" * 5000],
        "--max-new-tokens": ["-1", "1.5", "x"], "--draft-len": ["-1", "x", "1e3", ""], "--threads": ["0", "-1", "100000000"],
        "--verify": ["luck", "", "tree"],
        "--method": ["magic", "", "Draft", "draft,plain"], "--pair": ["magic"], "--device": ["gpu", "", "mps"], "--dtype": ["int8", ""],
        "--stop": [""],
        "--json": ["/no/such/folder/t.json", "/tmp", ".", "x" * 300]}.items() for value in values},
    "a tree and a length": ["run", "--prompt", "x", "--method", "medusa", "--draft-len", "3"],
    "trees alone and a length": ["compare", "--prompt", "x", "--methods", "medusa,eagle", "--tree", "auto", "--draft-len", "3"],
    "missing target": ["run", "--prompt", "x", "--target", "no/such/model/here"], "target that is a file": ["run", "--prompt", "x", "--target",
        __file__],
    "no repeats": ["compare", "--prompt", "x", "--repeats", "0"], "no methods": ["compare", "--prompt", "x", "--methods", " , "],
    "unknown method": ["compare", "--prompt", "x", "--methods", "draft,magic"], "show what": ["traces", "show"],
    "show nothing": ["traces", "show", "/no/such.json"],
    "show a folder": ["traces", "show", "/tmp"], "traces what": ["traces"], "bad json place": ["compare", "--prompt", "x", "--json",
        "/no/such/folder/x"]}


@pytest.mark.parametrize("args", BAD.values(), ids=[k[:40] for k in BAD])
def test_mistakes_are_one_line_and_exit_2(args, capsys, models):
    if args[:1] in (["run"], ["compare"]) and "--target" not in args and "--pair" not in args:
        args = [*args, "--target", str(models / "target"), "--draft", str(models / "draft"), *([] if "--threads" in args else ["--threads", "1"])]
    code, out, err = run(capsys, args)
    assert (code, out) == (2, "")
    assert err.startswith("specscope: ") and err.count("\n") == 1 and 20 < len(err) < 700
    assert "_whole" not in err and "error:" not in err


MODEL_MISTAKES = {
    "ids out of range": ["--prompt-ids", "1,258"], "negative ids": ["--prompt-ids=-1"], "huge ids": ["--prompt-ids", "9" * 30],
    "a prompt longer than the context": ["--prompt", "x" * 300], "ids longer than the context": ["--prompt-ids", ",".join(["5"] * 256)]}


@pytest.mark.parametrize("more", MODEL_MISTAKES.values(), ids=MODEL_MISTAKES)
@pytest.mark.parametrize("command", ["run", "compare"])
def test_prompts_that_the_target_cannot_take(more, command, capsys, models):
    code, out, err = run(capsys, argv(models, *more, command=command))
    assert (code, out) == (2, "") and err.count("\n") == 1


def test_text_for_a_target_without_a_tokenizer(models, capsys):
    code, out, err = run(capsys, ["run", "--target", str(models / "bare"), "--method", "plain", "--prompt", "x", "--threads", "1"])
    assert (code, out) == (2, "") and "--prompt-ids" in err


def test_a_target_without_a_draft(models, capsys):
    code, out, err = run(capsys, ["run", "--target", str(models / "target"), "--prompt", "x", "--threads", "1"])
    assert (code, out) == (2, "") and "--draft" in err


@pytest.mark.parametrize("content", ["", "{}", "not json", "[" * 100_000, "\ud800".encode("utf-8", "surrogatepass"), '{"version": 9}'], ids=range(6))
def test_files_that_are_no_trace(content, capsys, tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, err = run(capsys, ["traces", "show", str(path)])
    assert (code, out) == (2, "") and err.count("\n") == 1


def test_a_gguf_file_that_is_none(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("SPECSCOPE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "x.gguf").write_bytes(b"not a gguf")
    code, out, err = run(capsys, ["run", "--prompt", "x", "--target", str(tmp_path / "x.gguf")])
    assert (code, out) == (2, "") and "x.gguf" in err and err.count("\n") == 1


def test_the_environments_trouble_is_exit_1(models, capsys, tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(trace.os, "replace", full)
    code, _, err = run(capsys, argv(models, "--prompt", "Hi", "--json", str(tmp_path / "t.json")))
    assert code == 1 and "No space left" in err and os.listdir(tmp_path) == []


def test_no_memory_is_exit_1(models, capsys, monkeypatch):
    def empty(*args):
        raise MemoryError
    monkeypatch.setattr(commands, "_load", empty)
    code, out, err = run(capsys, argv(models, "--prompt", "Hi"))
    assert (code, out) == (1, "") and "memory" in err and err.count("\n") == 1


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("to", ["-", "t.json"])
def test_interrupted_between_rounds(models, capsys, tmp_path, monkeypatch, at, to):
    """Ctrl-C is raised where it falls: here while a round runs. What was decoded so far is written."""
    from core.decoding.loop import Decoding
    real, calls = Decoding._launch, []

    def launch(self):
        calls.append(1)
        if len(calls) > at:
            raise KeyboardInterrupt
        return real(self)
    monkeypatch.setattr(Decoding, "_launch", launch)
    code, out, err = run(capsys, argv(models, "--prompt", "Hi", "--json", to if to == "-" else str(tmp_path / to)))
    made = trace.parse(out) if to == "-" else trace.read(tmp_path / to)
    assert code == 130 and made.totals.stop == "cancelled" and len(made.rounds) == at and err.endswith("kept.\n")


# -- as processes ------------------------------------------------------------------------------------------------------------------


def slow_target(tmp_path) -> list[str]:
    folder = tiny.checkpoint(tmp_path / "slow", tokenizer=tiny.tokenizer(), vocab_size=260, max_positions=100_000)
    return ["run", "--target", str(folder), "--method", "plain", "--prompt", "Hi", "--dtype", "float32", "--threads", "1", "--max-new-tokens",
            "90000",
            "--no-tables"]


def test_ctrl_c_writes_the_trace_so_far(tmp_path):
    path = tmp_path / "t.json"
    env = os.environ | {"FORCE_COLOR": "1"}
    # a shell that starts this suite in the background may ignore SIGINT, and a child inherits that
    child = subprocess.Popen([sys.executable, "-m", "core.cli", *slow_target(tmp_path), "--json", str(path)], cwd=ROOT, env=env,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        assert child.stdout.read(1), child.stderr.read()        # the first token is out
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130 and b"Traceback" not in err
    made = trace.read(path)
    assert made.totals.stop == "cancelled" and 0 < made.totals.new_tokens == len(made.emitted_ids) < 90000


@pytest.mark.parametrize("json_", [True, False])
def test_a_reader_that_leaves_is_no_error(models, json_):
    """`| head -c 1`: also where all output fits the buffer and the pipe is found broken at the very end."""
    args = argv(models, "--prompt", "Hi", *(["--json", "-"] if json_ else []))
    child = subprocess.Popen([sys.executable, "-m", "core.cli", *args], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.close()
    err = child.stderr.read()
    assert child.wait(60) == 0 and b"Traceback" not in err and b"Exception ignored" not in err


def test_a_full_disk_behind_stdout(models):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with open("/dev/full", "w") as full:
        child = subprocess.run([sys.executable, "-m", "core.cli", *argv(models, "--prompt", "Hi", "--json", "-")], cwd=ROOT, stdout=full,
                               stderr=subprocess.PIPE, timeout=120)
    assert child.returncode == 1 and child.stderr.count(b"\n") == 1 and b"No space left" in child.stderr


def test_output_is_utf8_whatever_the_locale(models):
    env = os.environ | {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = process(argv(models, "--prompt", "Grüße \N{SEEDLING}", "--json", "-"), env=env)
    assert done.returncode == 0 and trace.parse(done.stdout.decode("utf-8")).run["prompt"] == "Grüße \N{SEEDLING}"


@pytest.mark.parametrize(("given", "code"), [("Gr\u00fc\u00dfe\n".encode(), 0), (b"\xff\xfe", 2), (b"", 2)])
def test_a_prompt_from_stdin(models, given, code):
    done = process(argv(models, "--prompt", "-", "--json", "-"), input=given, env=os.environ | {"PYTHONUTF8": "1"})
    assert done.returncode == code and (code == 0 or (done.stdout == b"" and done.stderr.count(b"\n") == 1))
    if not code:
        assert trace.parse(done.stdout.decode()).run["prompt"] == given.decode()


def test_arguments_that_are_not_utf8(models):
    done = process([*argv(models), b"--prompt", b"a\xff"])
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1


def test_ansi_only_where_a_person_watches(models):
    args = argv(models, "--prompt", "Hi")
    assert b"\x1b[" in process(args, env=os.environ | {"FORCE_COLOR": "1"}).stdout
    assert b"\x1b" not in process(args, env=os.environ | {"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout


@pytest.mark.parametrize("args", [["--help"], ["run", "--help"], ["compare", "--help"], ["traces", "--help"], ["train", "--help"]], ids=" ".join)
def test_help(args, capsys):
    with pytest.raises(SystemExit) as left:
        main.main(args)
    assert left.value.code == 0 and "usage: specscope" in capsys.readouterr().out


def test_costs_of_a_trace_are_replayed(models, capsys, tmp_path):
    first = tmp_path / "first.json"
    run(capsys, argv(models, "--prompt", "Hi", "--draft-len", "auto", "--json", str(first)))
    costs = trace.read(first).run["costs"]
    _, out, _ = run(capsys, argv(models, "--prompt", "Hi", "--draft-len", "auto", "--costs", str(first), "--json", "-"))
    again = trace.parse(out)
    assert again.run["costs"] == costs
    assert [r.draft_len for r in again.rounds] == [r.draft_len for r in trace.read(first).rounds]
    for text in ("[]", "{}", '{"verify_s": {"1": 0}}', '{"run": 5}', '{"verify_s": {"a": 1, "2": 2}}'):
        (tmp_path / "bad.json").write_text(text)
        code, _, err = run(capsys, argv(models, "--prompt", "Hi", "--costs", str(tmp_path / "bad.json")))
        assert code == 2 and err.count("\n") == 1, (text, err)


def test_a_draft_for_another_method_is_refused(models, capsys):
    code, _, err = run(capsys, argv(models, "--prompt", "Hi", "--method", "lookup"))
    assert code == 2 and "--method draft" in err


def test_a_package_that_is_missing_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert main.main(["run", "--prompt", "hello"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "pip install tqdm." in said

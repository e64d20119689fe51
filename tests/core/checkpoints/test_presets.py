"""Every ready pair on a tiny stand-in of the same architecture and format; the list itself; what is fetched for which name."""
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from core.checkpoints import formats, load, presets, resolve
from core.cli import main
from core.decoding.loop import Options
from core.errors import UserError
from core.runs.runner import Request, Run
from tests.core import heads, tiny

SHAPE = {"vocab_size": heads.V, "num_layers": heads.L, "max_positions": 128}
OWN = {"llama": ({}, {}), "qwen2": ({"qkv_bias": True}, {"model_type": "qwen2"}), "qwen3": ({"qk_norm": True}, {"model_type": "qwen3"})}
DRAFTS = {"eagle3": heads.eagle3, "speculators": heads.speculators, "medusa": heads.medusa}


def stand_in(folder: Path, kind: str, seed: int, **changes) -> Path:
    own, hf = OWN[kind]
    return tiny.checkpoint(folder, seed, hf=hf, **SHAPE | own | changes)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A Hub of stand-ins; returns the (id, revision) that were asked for."""
    asked = []

    def resolve(name, report, revision=None):
        asked.append((name, revision))
        return tmp_path / name

    for p in presets.all_().values():
        stand_in(tmp_path / p.target, p.target_type, 0)
        if p.draft_format == "model":
            stand_in(tmp_path / p.draft, p.target_type, 7, num_layers=2)
        elif p.draft and p.draft != "assets":
            DRAFTS[p.draft_format](tmp_path / p.draft)
    heads.eagle3(tmp_path / "assets" / "smollm2" / "eagle")
    stand_in(tmp_path / "assets" / "smollm2" / "draft", "llama", 3)
    monkeypatch.setattr(load, "ASSETS", tmp_path / "assets")
    monkeypatch.setattr(load, "resolve", resolve)
    return asked


@pytest.mark.parametrize("name", list(presets.all_()))
def test_every_pair_runs_its_method_and_gives_plain_tokens(name, hub):
    preset = presets.get(name)
    pair = load.load(name, dtype="float64", device="cpu")
    wanted = [(preset.target, preset.target_revision)]
    if preset.draft not in ("", "assets"):
        wanted.append((preset.draft, preset.draft_revision))
    assert hub == wanted and pair.target_name == preset.target
    if preset.draft:
        folder = pair.drafts[preset.method]
        assert formats.sniff(folder) == preset.draft_format
    assert ("draft" in pair.drafts) == (preset.method == "draft")
    ids, options = (3, 1, 4, 1, 5), Options(16, record=False)
    plain = Run(pair, Request(prompt_ids=ids, method="plain", options=options), {})
    expected = tiny.emitted(list(plain.rounds()))
    run = Run(pair, Request(prompt_ids=ids, method=preset.method, options=options), {"verify_s": {"1": 1.0, "2": 1.0}, "draft_step_s": 0.1})
    rounds = list(run.rounds())
    assert tiny.emitted(rounds) == expected and any(r.drafted for r in rounds)
    assert run.facts["pair"] == name and run.facts.get("note") == (preset.note or None)


def test_a_pair_named_alone_runs_what_it_is_for(hub, capsys):
    asked = ["--device", "cpu", "--dtype", "float32", "--threads", "1", "--prompt-ids", "3,1,4", "--max-new-tokens", "4", "--json", "-"]
    assert main.main(["run", "--pair", "llama3.1-8b-eagle3", *asked]) == 0
    record = json.loads(capsys.readouterr().out)["run"]
    assert (record["method"], record["pair"]) == ("eagle", "llama3.1-8b-eagle3")
    assert main.main(["compare", "--pair", "layerskip-llama3.2-1b", "--repeats", "1", *asked]) == 0
    assert [r["method"] for r in json.loads(capsys.readouterr().out)["results"]] == ["early-exit"]
    assert main.main(["run", "--pair", "llama3.1-8b-eagle3", "--method", "", *asked]) == 2


def test_the_list_names_real_formats_licences_and_whole_commits():
    for p in presets.all_().values():
        assert p.method in ("draft", "eagle", "medusa", "early-exit") and p.target_type in OWN
        assert all(re.fullmatch(r"[\w.-]+/[\w.-]+", name) for name in (p.target, p.draft) if name not in ("", "assets"))
        assert all(r == "main" or re.fullmatch(r"[0-9a-f]{40}", r) for r in (p.target_revision, p.draft_revision) if r)
        assert p.target_licence and (p.draft in ("", "assets") or (p.draft_licence and p.draft_revision))
        assert p.needs_gb < 0.9 * p.gpu_gb
        assert p.draft in ("", "assets") or formats.METHOD_OF[p.draft_format] == p.method
        assert p.pinned == ("main" not in (p.target_revision, p.draft_revision))
    assert {p.gpu_gb for p in presets.all_().values()} == {8, 16, 24, 80}
    one = {}
    for p in presets.all_().values():       # the same repository is never pinned to two commits
        for name, revision in ((p.target, p.target_revision), (p.draft, p.draft_revision)):
            assert one.setdefault(name, revision) == revision or name in ("", "assets")


def test_what_fits_and_the_printed_list(capsys):
    fits = [p.name for p in presets.fitting(16 * 10 ** 9)]
    assert "qwen3-4b" in fits and "qwen3-8b" not in fits and presets.fitting(0) == []
    table = presets.table(16 * 10 ** 9)
    assert table.count("does not fit here") == len(presets.all_()) - len(fits)
    assert main.main(["check", "presets"]) == 0
    out = capsys.readouterr().out
    assert all(f"--pair {name} --method" in out for name in presets.all_()) and "not pinned" in out


def test_an_unknown_pair_and_a_file_with_unknown_keys(tmp_path, monkeypatch):
    with pytest.raises(UserError, match="known: smollm2, smollm2-hub"):
        presets.get("llama-405b")
    file = tmp_path / "presets.toml"
    file.write_text('[[pair]]\nname = "x"\nweights = "y"\n')
    monkeypatch.setattr(presets, "FILE", file)
    presets.all_.cache_clear()
    try:
        with pytest.raises(UserError, match="weights"):
            presets.all_()
    finally:
        presets.all_.cache_clear()


def test_a_snapshot_is_named_by_its_repository():
    assert resolve.readable(Path("/c/hub/models--Qwen--Qwen3-0.6B/snapshots/c1899de")) == "Qwen/Qwen3-0.6B"
    assert resolve.readable(Path("/here/my-model")) == "my-model"


def test_a_revision_goes_to_the_hub(monkeypatch, tmp_path):
    import huggingface_hub
    asked = []
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, **k: asked.append((name, k["revision"])) or str(tmp_path))
    assert resolve.resolve("owner/name", lambda *_: None, "abc") == tmp_path and asked == [("owner/name", "abc")]

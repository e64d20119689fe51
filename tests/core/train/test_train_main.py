"""`specscope train` as a command: from a checkpoint folder and a file (or no file) to a draft that loads."""
from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
import torch

from core.checkpoints import draft_format, formats, weights
from core.errors import UserError
from core.train import data, generate, main
from core.train.data import Text
from tests.core import tiny


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    main.add_arguments(parser)
    return parser.parse_args([*words, "--device", "cpu"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.checkpoint(tmp_path_factory.mktemp("target"), tokenizer=tiny.tokenizer(), vocab_size=258, num_layers=4, max_positions=512)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = torch.Generator().manual_seed(0)
    made = tmp_path_factory.mktemp("data") / "texts.jsonl"
    data.write(made, [Text(tuple(torch.randint(0, 258, (5,), generator=rng).tolist()), tuple(torch.randint(0, 40, (20,), generator=rng).tolist()))
                      for _ in range(80)])
    return made


@pytest.mark.parametrize("kind", main.KINDS)
def test_from_file_to_a_draft_that_loads(kind: str, folder: Path, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    words = [kind, "--target", str(folder), "--data", str(file), "--out", str(out), "--tokens", "300", "--vocab-size", "30", "--neurons", "16"]
    assert main.main(arguments(*words)) == 0
    assert "Done." in capsys.readouterr().out
    target = weights.load_decoder(folder, torch.bfloat16, "cpu")
    if kind == "draft":
        draft, ids = draft_format.load_draft(out, target, torch.bfloat16, "cpu")
        assert len(ids) == 30 and draft.config.num_layers == 2
    elif kind == "eagle":
        head = formats.eagle.read(out, formats.sniff(out), target.config)
        assert head.version == 3 and head.aux_layers == (2, 3) and len(head.token_map) == 30
    else:
        heads = formats.medusa.read(out, formats.sniff(out), target.config)
        assert len(heads.blocks) == 4 and len(heads.token_map) == 30
    record = json.loads((out / "training.json").read_text())
    assert record["data"] == data.sha256([file]) and record["tokens_seen"] >= 300 and record["kind"] == kind
    with pytest.raises(UserError, match="--resume"):
        main.main(arguments(*words))
    assert main.main(arguments(*words, "--resume", "--tokens", "500")) == 0       # continues after the end
    assert json.loads((out / "training.json").read_text())["tokens_seen"] >= 500


def test_a_cache_with_more_layers_sets_them_for_new_files(folder: Path, file: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.jsonl"
    data.write(more, [Text((1, 2, 3), (4, 5, 6, 7))] * 8)
    def words(out: str, *rest: str) -> argparse.Namespace:
        return arguments("eagle", "--target", str(folder), "--cache", str(tmp_path / "cache"), "--out", str(tmp_path / out), "--tokens", "100",
                         "--vocab-size", "30", "--neurons", "16", *rest)
    assert main.main(words("a", "--data", str(file), "--taps", "1,2,3")) == 0
    assert main.main(words("b", "--data", str(file), str(more), "--taps", "2,3")) == 0
    made = sorted((tmp_path / "cache").glob("*/meta.json"))
    assert len(made) == 2 and all(json.loads(m.read_text())["taps"] == [1, 2, 3, 4] for m in made)


def test_the_target_writes_its_own_text(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "MAX_NEW", 8)
    monkeypatch.setattr(generate.generate, "__defaults__", (8, lambda texts: None))
    words = ["draft", "--target", str(folder), "--generate", "40", "--out", str(tmp_path), "--tokens", "100", "--vocab-size", "30", "--neurons", "16"]
    assert main.main(arguments(*words)) == 0
    texts = data.read(tmp_path / "generated.jsonl", 258)
    assert len(texts) == 40 and len({t.prompt for t in texts}) == 40
    assert json.loads((tmp_path / "training.json").read_text())["data"] == data.sha256([tmp_path / "generated.jsonl"])


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "0", "1e-320", "5e-46", "1e300", "1e-11", "x", ""])
@pytest.mark.parametrize("option", ["--matrix-lr", "--rest-lr", "--tv", "--seed"])
def test_numbers_that_training_cannot_use_are_refused(option: str, value: str) -> None:
    """nan spoils the weights, 1e-320 is 0 in them, and a rate of 0 meant the default."""
    if value == "0" and option in ("--tv", "--seed"):
        assert getattr(arguments("draft", "--out", "x", option, value), option[2:]) == 0
        return
    with pytest.raises(argparse.ArgumentError, match=option):
        arguments("draft", "--out", "x", f"{option}={value}")


@pytest.mark.parametrize("words, says", [
    ([], "--data FILE"), (["--generate", "999999"], "at most"), (["--data", "nowhere.jsonl"], "nowhere.jsonl"),
    (["--data", "FILE", "--taps", "3,2"], "--aux-layers"), (["--data", "FILE", "--layers", "0,9"], "--layers"),
    (["--data", "FILE", "--resume"], "to resume from"), (["--data", "FILE", "--vocab-size", "40000"], "--vocab-size")])
def test_mistakes_are_one_sentence(words: list[str], says: str, folder: Path, file: Path, tmp_path: Path) -> None:
    words = [str(file) if w == "FILE" else w for w in words]
    with pytest.raises(UserError, match=says):
        main.main(arguments("draft", "--target", str(folder), "--out", str(tmp_path), "--vocab-size", "30", *words))

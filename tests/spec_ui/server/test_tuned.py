"""What `specscope tune` measured, as the page reads it."""

import json

from spec_ui.server import tuned


def report(**more) -> dict:
    row = {"flags": "--exit-layer 15 --draft-len 3", "exit_layer": "15", "draft_len": 3, "ratio": 0.61, "agreement": 0.4, "tokens_per_round": 1.7}
    skipping = {**row, "flags": "--skip-layers 8-20", "skip_layers": "8-20", "ratio": 0.55}
    del skipping["exit_layer"]
    return {"version": 1, "target": "T", "method": "early-exit", "new_tokens": 64, "prompts": 5, "temperature": 0.0, "rows": [row, skipping], **more}


def test_a_report_is_read_as_tune_writes_it(tmp_path):
    (tmp_path / "tune-early-exit.json").write_text(json.dumps(report()), encoding="utf-8")
    got = tuned.load("early-exit", tmp_path)
    assert (got["target"], got["prompts"], got["new_tokens"], got["temperature"]) == ("T", 5, 64, 0.0)
    first, second = got["rows"]
    assert (first["exit_layer"], first["skip_layers"], first["ratio"]) == ("15", None, 0.61)
    assert (second["exit_layer"], second["skip_layers"]) == (None, "8-20")
    assert tuned.load("eagle", tmp_path) is None


def test_a_broken_report_is_left_out_with_a_line_in_the_log(tmp_path, caplog):
    for bad in ("{", "[]", json.dumps({"rows": 3}), json.dumps(report(rows=[7])), json.dumps(report(target=None) | {"prompts": "x"})):
        (tmp_path / "tune-early-exit.json").write_text(bad, encoding="utf-8")
        caplog.clear()
        assert tuned.load("early-exit", tmp_path) is None and "tune-early-exit.json was left out" in caplog.text, bad
    nan = report(rows=[{"exit_layer": "3", "ratio": float("nan"), "agreement": 1, "tokens_per_round": 1}])
    (tmp_path / "tune-early-exit.json").write_text(json.dumps(nan), encoding="utf-8")
    assert tuned.load("early-exit", tmp_path) is None

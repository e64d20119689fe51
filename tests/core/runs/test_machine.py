"""`specscope check machine`: the arithmetic chosen anew and each method's first shape, as JSON and as text."""
from core.cli.main import main
from core.json_file import read_object
from tests.core import tiny


def test_it_says_arithmetic_and_shapes(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SPECSCOPE_CACHE", str(tmp_path / "cache"))
    folder = tiny.checkpoint(tmp_path / "target", tokenizer=tiny.tokenizer(), vocab_size=260, max_positions=256)
    assert main(["check", "machine", "--target", str(folder), "--device", "cpu", "--json", str(tmp_path / "out.json")]) == 0
    made = read_object(tmp_path / "out.json")
    assert made["arithmetic"]["name"] in ("float32", "bfloat16") and made["row_exact"] is False and {"lookup", "suffix"} <= set(made["methods"])
    for method in made["methods"].values():
        assert method["nodes"] >= method["levels"] >= 0 and method["gain"] > 0 and method["expected"][0]["levels"] == 0
    assert main(["check", "machine", "--target", str(folder), "--device", "cpu"]) == 0
    said = capsys.readouterr().out
    assert "lookup" in said and "Not row-exact" in said

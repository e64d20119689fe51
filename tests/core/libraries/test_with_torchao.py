"""The real torchao: int8 on a CPU. Its int4 kernels are CUDA's."""
from __future__ import annotations

from tests.core.libraries import quantised


def test_int8_runs_and_stays_near_the_whole_model(tmp_path, monkeypatch):
    quantised.check("torchao", "int8", "bfloat16", 0.1, tmp_path, monkeypatch)
    quantised.check("torchao", "int8", "float16", 0.1, tmp_path, monkeypatch)


def test_int8_of_a_model_of_transformers(tmp_path, monkeypatch):
    quantised.check_hf("torchao", "int8", tmp_path, monkeypatch)

"""The real bitsandbytes: int8 and int4 on a CPU."""
from __future__ import annotations

import logging

import pytest

from tests.core.libraries import quantised

# of a random tiny model's largest logit; its int4 rounds each weight by some 9 % in the mean
FAR = {"int8": 0.2, "int4": 1.2}


@pytest.mark.parametrize("kind", FAR)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_it_runs_and_stays_near_the_whole_model(kind, dtype, tmp_path, monkeypatch, caplog):
    quantised.check("bitsandbytes", kind, dtype, FAR[kind], tmp_path, monkeypatch)
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


@pytest.mark.parametrize("kind", FAR)
def test_a_model_of_transformers(kind, tmp_path, monkeypatch):
    quantised.check_hf("bitsandbytes", kind, tmp_path, monkeypatch)

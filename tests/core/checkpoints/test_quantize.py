"""`--quantize`: the wiring, with stand-ins that have torchao's and bitsandbytes' documented interfaces and round for real."""
from __future__ import annotations

import sys
import types
from contextlib import contextmanager

import pytest
import torch
from torch import nn

from core.checkpoints import load, quantize, weights
from core.decoding.loop import Options
from core.errors import EnvironmentFailure, UserError
from core.methods import registry
from core.models.linear import Linear
from core.models.target import graph_runner
from core.runs import runner
from core.runs.runner import Request, Run
from tests.core import tiny

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
BF16, F16 = torch.bfloat16, torch.float16

TORCHAO = '''
import torch
from dataclasses import dataclass

@dataclass
class Int8WeightOnlyConfig:
    pass

@dataclass
class Int4WeightOnlyConfig:
    group_size: int
    int4_packing_format: str

seen = []

def quantize_(model, config, filter_fn=None, device=None):
    seen.append((config, device))
    for name, module in model.named_modules():
        if filter_fn(module, name):
            w = module.weight.detach()
            step = w.abs().amax(1, keepdim=True) / 127
            module.weight = torch.nn.Parameter(((w / step).round() * step).to(w.dtype), requires_grad=False)
'''


@contextmanager
def fresh(package):
    """As if nothing had imported the package yet, be it the real one; afterwards as before."""
    def take():
        return {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == package}
    before = take()
    try:
        yield
    finally:
        take()
        sys.modules.update(before)


@pytest.fixture
def torchao(tmp_path, monkeypatch):
    (tmp_path / "site" / "torchao").mkdir(parents=True)
    (tmp_path / "site" / "torchao" / "__init__.py").write_text("")
    (tmp_path / "site" / "torchao" / "quantization.py").write_text(TORCHAO)
    about = tmp_path / "site" / "torchao-9.8.7.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: torchao\nVersion: 9.8.7\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    with fresh("torchao"):
        yield


@pytest.mark.parametrize(("kind", "device", "dtype", "error", "words"), [
    ("int2", CUDA, BF16, UserError, "int8, int4"), ("int8", CPU, torch.float32, UserError, "bfloat16 or float16, not float32"),
    ("int4", CPU, BF16, EnvironmentFailure, "pip install bitsandbytes[.]"),
    ("int8", CPU, BF16, EnvironmentFailure, "pip install torchao or pip install bitsandbytes[.]"),
    ("int4", CUDA, BF16, EnvironmentFailure, "pip install torchao or pip install bitsandbytes"),
    ("int4", CUDA, F16, EnvironmentFailure, "pip install bitsandbytes[.]")])
def test_what_cannot_be_is_said_before_anything_is_read(kind, device, dtype, error, words, monkeypatch):
    monkeypatch.setattr(quantize.util, "find_spec", lambda name: None)
    with pytest.raises(error, match=words):
        quantize.check(kind, device, dtype)


@pytest.mark.parametrize(("there", "kind", "device", "dtype", "want"), [
    ({"torchao", "bitsandbytes"}, "int4", CUDA, BF16, "torchao"), ({"torchao", "bitsandbytes"}, "int4", CUDA, F16, "bitsandbytes"),
    ({"bitsandbytes"}, "int8", CUDA, BF16, "bitsandbytes"), ({"torchao"}, "int8", CUDA, F16, "torchao"),
    ({"torchao", "bitsandbytes"}, "int4", CPU, BF16, "bitsandbytes"), ({"torchao", "bitsandbytes"}, "int8", CPU, BF16, "torchao")])
def test_which_package_does_it(there, kind, device, dtype, want, monkeypatch):
    monkeypatch.setattr(quantize.util, "find_spec", lambda name: name if name in there else None)
    assert quantize.check(kind, device, dtype) == want


def test_a_package_that_cannot_be_imported_is_named_and_its_warnings_are_not_shown(tmp_path, monkeypatch, caplog):
    (tmp_path / "torchao").mkdir()
    (tmp_path / "torchao" / "__init__.py").write_text("import logging\nlogging.getLogger('torchao').warning('other hardware')\n")
    (tmp_path / "torchao" / "quantization.py").write_text("from torch import what_no_torch_has\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with fresh("torchao"), pytest.raises(EnvironmentFailure, match=r"torchao is installed but cannot be imported .*pip install -U torchao"):
        quantize._import("torchao.quantization")
    assert not caplog.records


def test_a_torchao_without_these_configs_is_too_old(monkeypatch):
    monkeypatch.setattr(quantize, "_import", lambda name: types.SimpleNamespace(Int4WeightOnlyConfig=lambda group_size: None))
    for kind in quantize.KINDS:
        with pytest.raises(EnvironmentFailure, match=f"too old for --dtype {kind}"):
            quantize._torchao(nn.Module(), kind, CUDA, BF16, {"x": nn.Linear(64, 64)})


def test_a_pair_runs_quantised_and_its_record_says_so(torchao, tmp_path):
    folder = tiny.checkpoint(tmp_path / "target", vocab_size=64, max_positions=128)
    draft = tiny.checkpoint(tmp_path / "draft", 7, vocab_size=64, max_positions=128)
    pair = load.load(target=str(folder), draft=str(draft), dtype="bfloat16", device="cpu", quantize_to="int8")
    assert graph_runner(pair.target, True).label.startswith("off: the layers are another library's (int8, ")
    model, whole = pair.target.model, weights.load_decoder(folder, BF16, CPU)
    w = whole.layers[1].down.weight
    step = w.abs().amax(1, keepdim=True) / 127
    assert torch.equal(model.layers[1].down.weight, ((w / step).round() * step).to(BF16)) and not torch.equal(model.layers[1].down.weight, w)
    assert torch.equal(model.embed, whole.embed) and torch.equal(model.head.weight, whole.head.weight)
    run = Run(pair, Request(prompt_ids=(1, 2, 3), method="draft", options=Options(8, record=False)))
    assert len(tiny.emitted(list(run.rounds()))) == 8 and run.facts["quantize"] == "int8, torchao 9.8.7"
    same = load.load(target=str(folder), dtype="int8", device="cpu").target
    assert same.dtype == BF16 and torch.equal(same.model.layers[1].down.weight, model.layers[1].down.weight)
    assert "quantize" not in runner.facts(load.load(target=str(folder), device="cpu"), Request(prompt_ids=(1,)), registry.get("plain"), [1], {})


def test_the_head_is_left_whole_and_int4_gets_groups_that_divide(torchao):
    import torchao.quantization as ao
    model = tiny.decoder(0, BF16, hidden_size=64, intermediate_size=96, head_dim=16)
    head = model.head.weight.clone()
    layers = {n: m for n, m in model.named_modules() if isinstance(m, Linear) and m is not model.head}
    quantize._torchao(model, "int4", CUDA, BF16, layers)
    config, device = ao.seen[-1]
    assert (config.group_size, config.int4_packing_format, device) == (32, "tile_packed_to_4d", CUDA)
    assert torch.equal(model.head.weight, head)
    with pytest.raises(UserError, match="take int8"):
        quantize._torchao(model, "int4", CUDA, BF16, {"x": nn.Linear(48, 8)})
    with pytest.raises(UserError, match="no linear layers"):
        quantize.apply(nn.Embedding(3, 4), "int8", CPU, BF16, None)


def test_bitsandbytes_layers_take_the_place_of_the_models(monkeypatch):
    made = []

    class Four(nn.Linear):
        def __init__(self, n_in, out, bias=True, compute_dtype=None, quant_type="fp4"):
            super().__init__(n_in, out, bias, dtype=compute_dtype)
            made.append((compute_dtype, quant_type))

    class Eight(nn.Linear):
        def __init__(self, n_in, out, bias=True, has_fp16_weights=True):
            super().__init__(n_in, out, bias)
            made.append(has_fp16_weights)

    def parameter(data, requires_grad=True, **kind):
        made.append(kind)
        return nn.Parameter(data, requires_grad=requires_grad)

    fake = types.ModuleType("bitsandbytes")
    fake.nn = types.SimpleNamespace(Linear4bit=Four, Linear8bitLt=Eight, Params4bit=parameter, Int8Params=parameter)
    monkeypatch.setitem(sys.modules, "bitsandbytes", fake)
    monkeypatch.setattr(quantize.metadata, "version", lambda name: "0.46.0")
    model = tiny.decoder(0, torch.float32, qkv_bias=True, hidden_size=64, intermediate_size=128, head_dim=16)
    want = model(torch.tensor([[1, 2, 3]]))
    layers = {n: m for n, m in model.named_modules() if isinstance(m, Linear) and m is not model.head}
    quantize._bitsandbytes(model, "int4", CPU, torch.float32, layers)
    assert isinstance(model.layers[1].down, Four) and isinstance(model.head, Linear) and len(made) == 2 * len(layers)
    assert made[:2] == [(torch.float32, "nf4"), {"quant_type": "nf4"}]
    assert torch.allclose(model(torch.tensor([[1, 2, 3]])), want, atol=1e-6)
    eight = {"layers.0.o": model.layers[0].o}
    quantize._bitsandbytes(model, "int8", CPU, torch.float32, eight)
    assert isinstance(model.layers[0].o, Eight) and made[-2:] == [False, {"has_fp16_weights": False}]
    assert model.layers[0].o.weight.dtype == F16 and not model.layers[0].o.training
    for n_in, n_out in ((96, 64), (64, 48)):
        with pytest.raises(UserError, match="inputs 64 and whose outputs 32 divide"):
            quantize._bitsandbytes(nn.Module(), "int4", CPU, BF16, {"x": nn.Linear(n_in, n_out)})
    monkeypatch.setattr(quantize.metadata, "version", lambda name: "0.45.5")
    with pytest.raises(EnvironmentFailure, match=r"0\.46 or newer"):
        quantize._bitsandbytes(nn.Module(), "int8", CPU, BF16, {"x": nn.Linear(64, 64)})

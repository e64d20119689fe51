"""The longest context of transformers' causal LMs, whatever its name: a run is cut there. What transformers cannot run is one sentence."""
from __future__ import annotations

import json

import pytest
import torch
import transformers as hf
from huggingface_hub.errors import StrictDataclassClassValidationError

from core.checkpoints import load
from core.checkpoints.hf_limits import LIMITS, NO_LIMIT, longest
from core.checkpoints.hf_model import HFModel, HFTarget
from core.cli import main
from core.errors import UserError
from core.methods.base import Proposer
from core.methods.draft_model import DraftModel
from tests.core.tiny import decode, emitted

SIZES = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
BERT = SIZES | {"is_decoder": True, "max_position_embeddings": 24}
MPT = {"vocab_size": 64, "d_model": 32, "n_heads": 4, "n_layers": 2}
# config, tokens of context; padding_idx + 1 rows of RoBERTa's position tables are never used
CONFIGS = {
    "mpt": (lambda: hf.MptConfig(**MPT, max_seq_len=24), 24),
    "gpt2": (lambda: hf.GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=24), 24),
    "ctrl": (lambda: hf.CTRLConfig(vocab_size=64, n_positions=24, n_embd=32, dff=48, n_layer=2, n_head=4), 24),
    "whisper": (lambda: hf.WhisperConfig(vocab_size=64, d_model=32, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=48, pad_token_id=0,
                                         encoder_layers=1, encoder_attention_heads=4, encoder_ffn_dim=48, max_target_positions=24), 24),
    "roberta": (lambda: hf.RobertaConfig(**BERT, pad_token_id=1), 22), "xlm-roberta": (lambda: hf.XLMRobertaConfig(**BERT, pad_token_id=1), 22),
    "camembert": (lambda: hf.CamembertConfig(**BERT, pad_token_id=0), 23), "data2vec": (lambda: hf.Data2VecTextConfig(**BERT, pad_token_id=1), 22),
    "bert": (lambda: hf.BertConfig(**BERT), 24)}
PROMPT = [(7 * i + 3) % 60 + 3 for i in range(18)]


def build(config, dtype: torch.dtype = torch.float64):
    torch.manual_seed(0)
    model = hf.AutoModelForCausalLM.from_config(config).to(dtype).eval()
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1:
                p.normal_(0, 0.5)
    return model


def plain(model, n: int) -> list[int]:
    out = list(PROMPT)
    with torch.inference_mode():
        for _ in range(n):
            out.append(int(model(input_ids=torch.tensor([out]), use_cache=False).logits[0, -1].argmax()))
    return out[len(PROMPT):]


@pytest.mark.parametrize("name", CONFIGS)
def test_a_run_ends_at_the_models_longest_context(name):
    config, most = CONFIGS[name]
    model = build(config())
    to = HFTarget(HFModel(model, name), None, ())
    assert to.max_positions == most
    for proposer in (Proposer(), DraftModel(to.model)):
        run, rounds = decode(to, proposer, PROMPT, max_new_tokens=99)
        assert run.stop == "length" and emitted(rounds) == plain(model, most - len(PROMPT))
    assert all(d.verdict == "accepted" for r in rounds for d in r.drafted)


def test_bloom_has_no_limit():
    model = build(hf.BloomConfig(vocab_size=64, hidden_size=32, n_layer=1, n_head=2))
    assert HFModel(model, "bloom").config.max_positions == NO_LIMIT


def test_every_causal_model_gives_its_limit_under_a_name_that_is_known():
    """Or has none, or keeps a state and is refused for that (Mamba's kin); CPM-Ant's cache cannot be rolled back."""
    unknown = set()
    for kind in hf.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        try:
            config = hf.CONFIG_MAPPING[kind]().get_text_config(decoder=True)
        except StrictDataclassClassValidationError:     # a class without a usable default
            continue
        if not any(isinstance(getattr(config, name, None), int) for name in LIMITS):
            unknown.add(kind)
    assert unknown <= {"bloom", "cpmant", "falcon_mamba", "mamba", "mamba2", "recurrent_gemma", "xlstm"}


def test_a_model_whose_limit_has_another_name_is_refused():
    with pytest.raises(UserError, match=r"'new'.*longest context.*max_seq_len"):
        longest(type("Config", (), {"model_type": "new", "window_length": 9})())
    with pytest.raises(UserError, match="longest context"):
        longest(type("Config", (), {"model_type": "new", "max_position_embeddings": "9"})())


@pytest.mark.parametrize("context", [2, 3, 9])
def test_the_shortest_contexts_are_no_traceback(context, tmp_path, capsys):
    """The measurement of costs included, whose passes are longer than that."""
    build(hf.GPT2Config(vocab_size=20, n_embd=32, n_layer=2, n_head=4, n_positions=context), torch.float32).save_pretrained(tmp_path)
    code = main.main(["run", "--target", str(tmp_path), "--method", "lookup", "--draft-len", "auto", "--prompt-ids", "5", "--max-new-tokens", "20",
                      "--dtype", "float32", "--device", "cpu", "--json", "-", "--ignore-eos"])
    out, err = capsys.readouterr()
    if context < 3:         # the trial of the cache takes three tokens
        assert code == 2 and "transformers fails to run it" in err and err.count("\n") == 1
    else:
        assert code == 0 and json.loads(out)["totals"]["new_tokens"] == context - 1


def test_a_dtype_that_transformers_has_no_kernel_for_is_one_sentence(tmp_path):
    config = hf.MixtralConfig(**SIZES, num_key_value_heads=2, num_local_experts=4, max_position_embeddings=24)
    build(config, torch.float32).save_pretrained(tmp_path)
    load.load(target=str(tmp_path), dtype="float32", device="cpu")
    with pytest.raises(UserError, match="transformers fails to run it in float64 on cpu") as caught:
        load.load(target=str(tmp_path), dtype="float64", device="cpu")
    assert "\n" not in str(caught.value)


def test_code_in_a_folder_is_never_run(tmp_path, monkeypatch):
    """Not even where a person would say yes: transformers asks on the terminal if it is not told."""
    build(hf.GPT2Config(vocab_size=20, n_embd=32, n_layer=2, n_head=4, n_positions=24), torch.float32).save_pretrained(tmp_path / "m")
    (tmp_path / "m" / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Config: pass\n")
    file = tmp_path / "m" / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"model_type": "own", "auto_map": {"AutoConfig": "code.Config"}}))
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(UserError, match="'own'"):
        load.load(target=str(tmp_path / "m"), dtype="float32", device="cpu")
    assert not (tmp_path / "ran").exists()

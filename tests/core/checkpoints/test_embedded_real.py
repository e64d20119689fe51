"""The embedded target itself, made once a machine."""

from __future__ import annotations

import hashlib
import json

import pytest

from core.checkpoints import embedded


@pytest.fixture(scope="session")
def real_folder():
    return embedded.ensure()


def test_real_folder_is_complete_and_recognised_at_once(real_folder):
    assert embedded.ensure(lambda *_: pytest.fail("nothing is to be done")) == real_folder
    facts = json.loads((real_folder / "source.json").read_text())
    assert facts["wheel_sha256"] == "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
    assert facts["model_sha256"] == hashlib.sha256((real_folder / "model.safetensors").read_bytes()).hexdigest()
    assert sorted(p.name for p in real_folder.iterdir()) == sorted([*embedded.FILES, "source.json"])
    config = json.loads((real_folder / "config.json").read_text())
    wanted = {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9, "vocab_size": 49152,
              "num_key_value_heads": 3, "rope_theta": 100000.0, "rms_norm_eps": 1e-5, "tie_word_embeddings": True, "eos_token_id": 2,
              "max_position_embeddings": 8192, "torch_dtype": "bfloat16", "model_type": "llama"}  # fmt: skip
    assert {key: config[key] for key in wanted} == wanted


def test_real_tokenizer_and_chat_template_give_the_known_ids(real_folder):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(real_folder)
    known = [1, 9690, 198, 2683, 359, 253, 5356, 5646, 11173, 3365, 3511, 308, 34519, 28, 7018, 411, 407, 19712, 8182, 2, 198,
             1, 4093, 198, 1780, 359, 260, 4927, 284, 687, 282, 8631, 15909, 47, 2, 198, 1, 520, 9531, 198]  # fmt: skip
    turn = [{"role": "user", "content": "What are the pros and cons of logic puzzles?"}]
    assert tokenizer.apply_chat_template(turn, add_generation_prompt=True)["input_ids"] == known
    assert tokenizer.encode(tokenizer.decode(known)) == known
    assert tokenizer.encode("a1234 don't  foo\n\n  bar") == [81, 33, 34, 35, 36, 1326, 982, 216, 29856, 8866, 2753]
    for text in ("日本 😀", "</s> ${x} {{x}} \\", "\u202eabc\u202c"):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_real_model_knows_paris(real_folder):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(real_folder)
    model = AutoModelForCausalLM.from_pretrained(real_folder, dtype=torch.bfloat16)
    turn = [{"role": "user", "content": "What is the capital of France?"}]
    ids = tokenizer.apply_chat_template(turn, add_generation_prompt=True, return_tensors="pt")["input_ids"]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # on a busy machine two spinning threads are many times slower than one
    try:
        answer = model.generate(ids, max_new_tokens=12, do_sample=False)[0, ids.shape[1] :]
    finally:
        torch.set_num_threads(threads)
    assert tokenizer.decode(answer) == "The capital of France is Paris.<|im_end|>"

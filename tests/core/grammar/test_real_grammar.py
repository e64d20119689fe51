"""Structured output on the embedded target: one text for all methods, and it is what the schema says."""
from __future__ import annotations

import json

import jsonschema
import pytest

from core.decoding.loop import Decoding, Options
from core.grammar.constraint import Constraint
from core.methods import registry
from core.runs import prompts
from core.sampling.probs import Sampling

SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 12}, "visits": {"type": "integer", "maximum": 99, "minimum": 0},
                                           "kind": {"enum": ["town", "village"]}},
          "required": ["city", "visits", "kind"], "additionalProperties": False}
ASK = "Tell me about Lisbon as JSON."


@pytest.fixture(scope="module")
def plain(pair):
    return decode(pair, "plain")


def decode(pair, name: str, **options) -> Decoding:
    proposer = registry.get(name).proposer(pair)
    proposer.forget()
    options = {"max_new_tokens": 60, "grammar": Constraint.of("json_schema", SCHEMA)} | options
    run = Decoding(pair.target, proposer, pair.text.chat(ASK, None), Options(**options), pair.text)
    list(run)
    return run


@pytest.mark.parametrize("name", [m for m in registry.METHODS if m != "plain"])
def test_every_method_writes_constrained_plains_text(pair, plain, name):
    assert decode(pair, name).new_tokens == plain.new_tokens
    assert plain.stop == "eos" and plain.output_text.startswith('{"city": "')
    jsonschema.validate(json.loads(plain.output_text), SCHEMA)


@pytest.mark.parametrize("name", ["draft", "lookup+eagle"])
def test_sampled_texts_are_valid_too(pair, name):
    for seed in range(2):
        run = decode(pair, name, sampling=Sampling(1.0, top_p=0.95), seed=seed)
        jsonschema.validate(json.loads(run.output_text), SCHEMA)


def test_other_forms(pair):
    assert decode(pair, "lookup", grammar=Constraint.of("choice", ["a town", "a village, small"])).output_text in ("a town", "a village, small")
    phone = decode(pair, "draft", grammar=Constraint.of("regex", r"\+351 [0-9]{3} [0-9]{3} [0-9]{3}")).output_text
    assert len(phone) == 16 and phone.startswith("+351 ") and phone[5:].replace(" ", "").isdigit()


def test_the_examples_have_schemas_that_can_be_followed(pair):
    from core.grammar.matcher import Grammar
    for _, constraint in prompts.structured().values():
        jsonschema.Draft202012Validator.check_schema(json.loads(constraint.value))
        Grammar(constraint, pair.text, pair.target.vocab_size, pair.target.eos_ids)

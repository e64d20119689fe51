"""What a visitor may ask for. The server checks it at every event: whatever a slider shows, the browser may send anything."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from core.grammar.constraint import Constraint
from core.runs.engine import RunRequest  # light: torch comes with the loading thread
from spec_ui import words

PROMPT_CHARS = 4000
NEW_TOKENS = (1, 256)
DRAFT_LEN = (1, 10)
TEMPERATURE = (0.0, 2.0)
SEED = (0, 2**32 - 1)
RUN_SECONDS = 60
WAITING = 40
BRANCH_CHARS = 4000
GRAMMAR_CHARS = 8000
BRANCH_IDS = 512
SETTING_HIGH = 64  # the most that a number among a method's settings may be, such as the nodes of a tree
SETTING_TEXT = re.compile(r"[A-Za-z0-9][A-Za-z0-9.,x-]{0,31}|")
LAST_ID = 2**31 - 1


class Refused(Exception):
    """A refusal in one sentence, in any of the page's languages. `key`: of words; a value `name` that is itself a key is translated too."""

    def __init__(self, key: str, **values: object) -> None:
        self.key, self.values = key, values
        super().__init__(self.sentence(words.DEFAULT))

    def sentence(self, lang: object) -> str:
        values = dict(self.values)
        name = values.get("name")
        if isinstance(name, str) and name.startswith("name."):
            values["name"] = words.text(lang, name)
        elif isinstance(name, str) and name.startswith("setting."):
            values["name"] = words.setting(lang, name.removeprefix("setting."))
        return words.text(lang, self.key, **values)


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Refused("bad.number", name=name)
    return float(value)


def _whole(value: object, name: str, bounds: tuple[int, int]) -> int:
    number = _number(value, name)
    if number != int(number) or not bounds[0] <= number <= bounds[1]:
        raise Refused("bad.whole", name=name, low=bounds[0], high=bounds[1])
    return int(number)


def _whole_text(text: str) -> str:
    """The text with lone surrogates replaced: no tokenizer can encode half a character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def check_prompt(prompt: object) -> str:
    if not isinstance(prompt, str) or not prompt.strip():
        raise Refused("bad.prompt")
    if len(prompt) > PROMPT_CHARS:
        raise Refused("bad.prompt_long", n=len(prompt), most=PROMPT_CHARS)
    return _whole_text(prompt)


def check_method(method: object, known: Sequence[str]) -> str:
    if not isinstance(method, str) or method not in known:
        raise Refused("said.choose_method")
    return method


def check_settings(given: object, details: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """{name: value} of the settings that the visitor changed. `given`: JSON text {"given": {name: value}} from the page. Raises Refused."""
    if given in (None, ""):
        return {}
    if not isinstance(given, str) or len(given) > 20_000:
        raise Refused("bad.settings")
    try:
        chosen = json.loads(given)["given"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Refused("bad.settings") from None
    if not isinstance(chosen, dict):
        raise Refused("bad.settings")
    known = {d["name"]: d for d in details}
    if set(chosen) - set(known):
        raise Refused("bad.setting")
    return {name: _setting(value, known[name]) for name, value in chosen.items() if value is not None}


def _setting(value: object, d: dict[str, Any]) -> Any:
    name, kind = f"setting.{d['name']}", d["kind"]
    if kind == "bool":
        if not isinstance(value, bool):
            raise Refused("bad.choice", name=name)
        return value
    if d.get("choices"):
        if value not in d["choices"]:
            raise Refused("bad.choice", name=name)
        return value
    if kind in ("int", "float"):
        low = d["low"] if d.get("low") is not None else 0
        high = min(SETTING_HIGH, d["high"]) if d.get("high") is not None else SETTING_HIGH
        if kind == "int":
            return _whole(value, name, (int(low), int(high)))
        number = _number(value, name)
        if not low <= number <= high:
            raise Refused("bad.range", name=name, low=f"{low:g}", high=f"{high:g}")
        return number
    if not isinstance(value, str) or not SETTING_TEXT.fullmatch(value):
        raise Refused("bad.text", name=name, default=d.get("default") or "chain")
    return value


def check_grammar(text: object) -> Constraint | None:
    """What the output must be: a JSON schema in braces, a /pattern/, or choices with commas between them; None for an empty field. Raises Refused,
    or UserError for what cannot be read."""
    if text is None or text == "":
        return None
    if not isinstance(text, str):
        raise Refused("bad.grammar")
    text = _whole_text(text.strip())
    if len(text) > GRAMMAR_CHARS:
        raise Refused("bad.grammar_long", n=len(text), most=GRAMMAR_CHARS)
    if not text:
        return None
    if text.startswith("{"):
        return Constraint.of("json_schema", text)
    if len(text) > 2 and text.startswith("/") and text.endswith("/"):
        return Constraint.of("regex", text[1:-1])
    return Constraint.of("choice", text.split(","))


def check_branch(data: object) -> dict[str, Any]:
    """A branch, the text from which a run goes on: {"prompt", "base", "after_ids", "after_text", "shown", "verify"} from the page. Raises Refused.

    `base`: the position of its first token; `after_ids` or `after_text`: what was decoded so far; `shown`: the same as text, for the page.
    `verify`: "coupled" if the run was, else absent.
    """
    if not isinstance(data, dict):
        raise Refused("bad.branch")
    ids, text, shown, base = data.get("after_ids"), data.get("after_text"), data.get("shown"), data.get("base")
    if not isinstance(ids, list) or not isinstance(text, str) or not isinstance(shown, str):
        raise Refused("bad.branch")
    if len(ids) > BRANCH_IDS:
        raise Refused("bad.branch_ids", n=len(ids), most=BRANCH_IDS)
    if any(isinstance(i, bool) or not isinstance(i, int) or not 0 <= i <= LAST_ID for i in ids):
        raise Refused("bad.branch")
    if max(len(text), len(shown)) > BRANCH_CHARS * (1 if text else 4):
        raise Refused("bad.branch_long", n=max(len(text), len(shown)), most=BRANCH_CHARS)
    if not ids and not text:
        raise Refused("bad.branch")
    if isinstance(base, bool) or not isinstance(base, int) or not 0 <= base <= 100_000:
        raise Refused("bad.branch")
    if data.get("verify", "chain") not in ("chain", "coupled"):
        raise Refused("bad.branch")
    prompt = data.get("prompt")
    return {
        "prompt": check_prompt(prompt) if prompt is not None else None,
        "ids": tuple(ids),
        "text": _whole_text(text),
        "shown": _whole_text(shown),
        "base": base,
        "verify": data.get("verify", "chain"),
    }


def check(
    prompt: object,
    method: object,
    draft_len: object,
    temperature: object,
    top_p: object,
    seed: object,
    max_new: object,
    known: Sequence[str],
    settings: object = None,
    details: Sequence[dict[str, Any]] = (),
    branch: object = None,
    grammar: object = None,
) -> tuple[RunRequest, dict[str, Any] | None]:
    """(request, branch or None). Raises Refused. A visitor cannot name models, paths or devices."""
    given = None if branch is None else check_branch(branch)
    if given and given["prompt"] is not None:
        prompt = given["prompt"]
    prompt, method = check_prompt(prompt), check_method(method, known)
    heat = _number(temperature, "name.temperature")
    if not TEMPERATURE[0] <= heat <= TEMPERATURE[1]:
        raise Refused("bad.range", name="name.temperature", low=f"{TEMPERATURE[0]:g}", high=f"{TEMPERATURE[1]:g}")
    mass = _number(top_p, "name.top_p")
    if not 0 < mass <= 1:
        raise Refused("bad.top_p")
    request = RunRequest(
        prompt,
        method,
        draft_len="auto" if draft_len == "auto" else _whole(draft_len, "name.draft_len", DRAFT_LEN),
        temperature=heat,
        top_p=mass,
        seed=_whole(seed, "name.seed", SEED),
        max_new_tokens=_whole(max_new, "name.max_new", NEW_TOKENS),
        settings=check_settings(settings, details),
        after_ids=given["ids"] if given else (),
        after_text=given["text"] if given else "",
        verify=given["verify"] if given else "chain",
        grammar=check_grammar(grammar),
    )
    return request, given

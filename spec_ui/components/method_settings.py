"""The settings that a method has of its own: the browser draws them as the engine describes them, server/limits.py checks them."""

from __future__ import annotations

import json
from typing import Any

from spec_ui.components.drawn import Drawn


def value_for(method: object, details: list[dict[str, Any]]) -> str:
    """The component's value for a method and its settings as the engine describes them, none of them changed yet."""
    return json.dumps({"method": method if isinstance(method, str) else "", "details": details, "given": {}})


class MethodSettings(Drawn):
    """The value is JSON: {"method": name, "details": [...], "given": {name: value}}."""

    SCRIPT = "window.Specscope.gradioSettings(element, props, watch);"
    VALUE = 'JSON: {"given": {setting: value}}, a method\'s own settings'
    IS_INPUT = True

"""Where the shipped data lies: prompts, recorded traces, trained draft heads, style sheets and scripts."""
from pathlib import Path

ASSETS = Path(__file__).resolve().parent.parent / "assets"

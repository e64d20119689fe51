"""How the page's events run: the keywords that every listener of one kind shares."""

# Light events stay outside the queue, whose size is one limit for the whole page: a queue full of runs must not stop them.
LIGHT = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}

# Events that use the model wait for one another.
MODEL = {"concurrency_id": "model", "concurrency_limit": 1, "trigger_mode": "once"}

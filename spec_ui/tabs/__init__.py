"""One file a tab of the page."""

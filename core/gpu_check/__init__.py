"""`specscope check gpu`: tests and measures every method on this machine's GPU with random weights. It needs no package but torch."""

"""`specscope check gpu`: what this machine's GPU makes of every method, from random weights alone. Needs torch and nothing else."""

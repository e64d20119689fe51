"""The command line `specscope`: options, commands and what the terminal prints."""

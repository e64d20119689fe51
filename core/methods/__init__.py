"""The drafting methods, one file each (a Proposer), and the registry that lists them."""

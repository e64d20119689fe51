"""The forward pass: the Llama-family decoder, its KV cache, attention kernels and captured functions, and the target as the loop uses it."""

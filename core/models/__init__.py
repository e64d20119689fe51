"""What a forward pass is: the Llama-family decoder, its KV cache, attention kernels, captured functions, and the target that the loop sees."""

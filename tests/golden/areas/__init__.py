"""One module per area of golden data; each has `generate(seed)` and returns what goes into its file."""

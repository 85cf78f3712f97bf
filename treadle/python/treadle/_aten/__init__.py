"""Converts graphs of PyTorch to Treadle graphs, with a rule for each op. Nothing here needs
PyTorch: treadle.torch provides graphs from a running PyTorch, _archive those of .pt2 files."""

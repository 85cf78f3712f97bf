"""Ops of PyTorch as nodes of a graph: the rules, and what follows a graph by them. Nothing here
needs PyTorch: treadle.torch brings graphs that live in it, _archive those of its .pt2 files."""

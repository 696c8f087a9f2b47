"""Lazy tensors with named dimensions.

`dimensions` are names, `equations` say what their sizes are; `nodes` are the graph, `views` those of its nodes that are
elsewhere; `lowering` makes a pipeline of it; `tensor` is what users hold.
"""

"""Prints the shapes that TensorFlow's import gives the nodes of graphs, a line of JSON each.

    shapes_by_tensorflow.py GRAPH.pb...     needs tensorflow

The attribute _output_shapes, which would tell, is left out.
"""

import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"


def shapes_of(path):
    import tensorflow as tf

    graph_def = tf.compat.v1.GraphDef.FromString(open(path, "rb").read())
    nodes = list(graph_def.node)
    for function in graph_def.library.function:
        nodes += function.node_def
    for node in nodes:
        node.attr.pop("_output_shapes", None)
    with tf.Graph().as_default() as graph:
        try:
            tf.import_graph_def(graph_def, name="")
        except ValueError:
            return None
    return {
        op.name: [
            None if value.shape.rank is None else [-1 if d is None else d for d in value.shape]
            for value in op.outputs
        ]
        for op in graph.get_operations()
    }


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(json.dumps(shapes_of(path)))

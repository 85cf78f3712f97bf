"""SavedModels in ONNX Runtime, by way of tf2onnx."""

import contextlib
import io
import logging

OPSET = 17


def to_onnx(folder):
    """The serving signature as an ONNX model; raises what the converter does for what it lacks."""
    import tensorflow as tf
    from tf2onnx import tf_loader, tfonnx

    logging.disable(logging.ERROR)
    graph_def, inputs, outputs = tf_loader.from_saved_model(
        str(folder), None, None, signatures=["serving_default"]
    )[:3]
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with tf_loader.tf_session(graph=graph):
            converted = tfonnx.process_tf_graph(
                graph, input_names=inputs, output_names=outputs, opset=OPSET
            )
    return converted.make_model(folder.name).SerializeToString()


def onnx_call(folder, inputs, output_names, threads):
    """A function of no arguments that gives the outputs by name, or None where it can't run."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Its threads would go on looking for work while the next runtime is measured.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            session = onnxruntime.InferenceSession(
                to_onnx(folder), options, providers=["CPUExecutionProvider"]
            )
            feeds = {f"{key}:0": value for key, value in inputs.items()}
            # A signature's outputs are in the order of their names.
            names = sorted(output_names)
            call = lambda: dict(zip(names, session.run(None, feeds), strict=True))  # noqa: E731
            call()
    except Exception:  # the converter's and the runtime's own, of many kinds
        return None
    return call

"""SavedModels in the runtimes that `./dev bench models` compares with.

A maker takes a Model and the number of threads, and gives a function of no arguments that calls
serving_default and gives its outputs by name. It raises whatever its runtime does, or the converter
before it, where it can't run the model.
"""

import dataclasses
import pathlib
import timeit

import numpy as np
from rivals import limited_tensorflow, onnx_session, quiet

OPSET = 17


@dataclasses.dataclass
class Model:
    folder: pathlib.Path
    inputs: dict  # of the first call, by name
    outputs: dict  # the expected outputs


def tensorflow(model, threads, compiles=False):
    tf = limited_tensorflow(threads)
    loaded = tf.saved_model.load(model.folder)
    signature = loaded.signatures["serving_default"]
    if compiles:
        signature = tf.function(signature, jit_compile=True)
    constants = {key: tf.constant(value) for key, value in model.inputs.items()}

    def call(loaded=loaded):  # the model must outlive its signatures
        return {key: value.numpy() for key, value in signature(**constants).items()}

    return call


def xla(model, threads):
    if any(array.dtype.hasobject for array in [*model.inputs.values(), *model.outputs.values()]):
        raise NotImplementedError("it aborts where it meets strings")
    return tensorflow(model, threads, compiles=True)


def to_onnx(folder):
    tf = limited_tensorflow(2)
    from tf2onnx import optimizer, tf_loader, tfonnx

    graph_def, inputs, outputs = tf_loader.from_saved_model(
        str(folder), None, None, signatures=["serving_default"]
    )[:3]
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with tf_loader.tf_session(graph=graph):
            converted = tfonnx.process_tf_graph(
                graph, input_names=inputs, output_names=outputs, opset=OPSET
            )
    return optimizer.optimize_graph(converted).make_model(folder.name).SerializeToString()


def onnx(model, threads):
    session = onnx_session(to_onnx(model.folder), threads)
    feeds = {f"{key}:0": value for key, value in model.inputs.items()}
    # A signature's outputs are in the order of their names.
    names = sorted(model.outputs)
    return lambda: dict(zip(names, session.run(None, feeds), strict=True))


def openvino(model, threads):
    """The faster of what it makes of the SavedModel and of tf2onnx's conversion."""
    calls, error = [], None
    for source in (lambda: model.folder, lambda: to_onnx(model.folder)):
        try:
            call = openvino_of(model, source(), threads)
            if agrees(call(), model.outputs):
                calls.append(call)
        except Exception as e:  # its own and the converter's, and a KeyError where names are lost
            error = e
    if not calls:
        raise error or ValueError("its outputs differ")
    return min(calls, key=lambda call: min(timeit.repeat(call, number=1, repeat=5)))


def openvino_of(model, source, threads):
    import openvino as ov

    core = ov.Core()
    network = core.read_model(source)
    # It is much faster where it knows the sizes; ours are those of the first call, too.
    given = lambda port: next(v for key, v in model.inputs.items() if is_named(port, key))  # noqa: E731
    network.reshape({port: given(port).shape for port in network.inputs})
    limits = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(network, "CPU", {"PERFORMANCE_HINT": "LATENCY", **limits})
    request = compiled.create_infer_request()
    feeds = {index: given(port) for index, port in enumerate(network.inputs)}
    # ONNX has lost the outputs' names, but not their order.
    is_onnx = isinstance(source, bytes)
    names = sorted(model.outputs) if is_onnx else [p.any_name for p in network.outputs]

    def call():
        results = request.infer(feeds, share_inputs=True)
        return {name: results[index] for index, name in enumerate(names)}

    return call


def is_named(port, key):
    return bool(port.names & {key, f"{key}:0", f"serving_default_{key}:0"})


def litert(model, threads):
    tf = limited_tensorflow(threads)
    converter = tf.lite.TFLiteConverter.from_saved_model(str(model.folder))
    interpreter = tf.lite.Interpreter(model_content=converter.convert(), num_threads=threads)
    runner = interpreter.get_signature_runner("serving_default")
    return lambda: runner(**model.inputs)


# In the order of tables.
MODEL_RIVALS = {"TensorFlow": tensorflow, "XLA": xla, "ONNX Runtime": onnx}
MODEL_RIVALS |= {"OpenVINO": openvino, "LiteRT": litert}


def agrees(got, expected):
    return all(
        value.dtype.kind != "f" or np.allclose(got[key], value, rtol=1e-3, atol=1e-4)
        for key, value in expected.items()
    )


def rival_call(name, model, threads):
    """The call of this rival, or None where it can't run the model or gives something else."""
    try:
        with quiet():
            call = MODEL_RIVALS[name](model, threads)
            return call if agrees(call(), model.outputs) else None
    except Exception:  # the converters' and the runtimes' own, of many kinds
        return None

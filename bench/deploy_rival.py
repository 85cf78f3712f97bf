"""ONNX Runtime in MLServer, by the code that serves Treadle: only the calls differ."""

import onnxruntime
import treadle.mlserver
from mlserver.utils import get_model_uri


class OnnxSignature:
    """An ONNX file with one input x and one output y, where a treadle.Signature is expected."""

    def __init__(self, file):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            file, options, providers=["CPUExecutionProvider"]
        )
        [x], [y] = self.session.get_inputs(), self.session.get_outputs()
        shape = tuple(size if isinstance(size, int) else None for size in x.shape)
        self.inputs = {x.name: treadle.Value(x.name, "float32", shape)}
        self.outputs = {y.name: treadle.Value(y.name, "float32", None)}

    def __call__(self, **inputs):
        return dict(zip(self.outputs, self.session.run(None, inputs), strict=True))


class OnnxRuntime(treadle.mlserver.Runtime):
    async def load(self):
        self._signature = OnnxSignature(await get_model_uri(self.settings))
        return True

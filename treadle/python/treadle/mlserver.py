"""SavedModels on MLServer (V2 inference protocol): the runtime that model-settings.json names.

    {"name": "words", "implementation": "treadle.mlserver.Runtime", "parameters": {"uri": "words"}}

MLServer has to be installed; see docs/serving.md.
"""

from __future__ import annotations

import asyncio
import base64
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from mlserver import MLModel
from mlserver.errors import MLServerError
from mlserver.types import (
    Datatype,
    InferenceRequest,
    InferenceResponse,
    MetadataTensor,
    Parameters,
    RequestInput,
    ResponseOutput,
)
from mlserver.utils import get_model_uri

from ._composites import spread
from ._errors import Error, InvalidArgumentError
from ._model import Model, Signature, load

if TYPE_CHECKING:
    from . import Value

_DEFAULT = "serving_default"

# The datatypes of the protocol by Treadle's dtype names.
_DATATYPES = {
    "bool": Datatype.BOOL,
    "int8": Datatype.INT8,
    "int16": Datatype.INT16,
    "int32": Datatype.INT32,
    "int64": Datatype.INT64,
    "uint8": Datatype.UINT8,
    "uint16": Datatype.UINT16,
    "uint32": Datatype.UINT32,
    "uint64": Datatype.UINT64,
    "float16": Datatype.FP16,
    "float32": Datatype.FP32,
    "float64": Datatype.FP64,
    "string": Datatype.BYTES,
}
_DTYPES = {datatype: np.dtype(name) for name, datatype in _DATATYPES.items() if name != "string"}

# The Python types of JSON elements by numpy's dtype kinds; null is NaN.
_ELEMENTS = {"b": {bool}, "i": {int}, "u": {int}, "f": {int, float, type(None)}}

# HTTP statuses by the codes of treadle.Error. MLServer derives gRPC statuses from them.
_STATUSES = {3: 400, 4: 504, 5: 404, 8: 429, 9: 422, 11: 400, 12: 501, 14: 503}


class Runtime(MLModel):
    """A model loaded by treadle.load, as an MLServer model.

    `parameters.uri` is its folder, relative to model-settings.json. `parameters.extra` may have
    "signature", and arguments of treadle.load: "threads", "tier", "timeout". A request may choose
    another signature by its parameter "signature".

    Calls run concurrently, one thread each. Errors of a request become a 4xx status with the
    message of the treadle.Error.
    """

    _model: Model | None = None

    async def load(self) -> bool:
        path = await get_model_uri(self.settings)
        options = dict(self.settings.parameters.extra or {})
        name = options.pop("signature", None)
        with _statuses(f"model '{self.name}': "):
            model = await asyncio.to_thread(load, path, **options)
            names = list(model.signatures)
            signature = model.signatures[name or (names[0] if len(names) == 1 else _DEFAULT)]
            if self._batches_requests:
                _check_requests_can_batch(signature)
            self.inputs = _metadata(signature, "input")
            self.outputs = _metadata(signature, "output")
        self.settings.platform = self.settings.platform or "treadle"
        self._model, self._signature = model, signature
        return True

    async def unload(self) -> bool:
        self._model = self._signature = None
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        return await asyncio.to_thread(self._answer, payload)

    @property
    def _batches_requests(self) -> bool:
        return self.settings.max_batch_size > 1 and self.settings.max_batch_time > 0

    def _answer(self, payload: InferenceRequest) -> InferenceResponse:
        with _statuses():
            signature = self._chosen(payload)
            inputs: dict[str, np.ndarray] = {}
            for given in payload.inputs:
                if given.name in inputs:
                    raise InvalidArgumentError(f"input '{given.name}' is passed twice")
                inputs[given.name] = _array(given, signature.inputs.get(given.name))
            wanted = {output.name: output.parameters for output in payload.outputs or ()}
            for name in wanted:
                signature.outputs[name]  # the error lists the existing ones
            results = spread(signature(**inputs))
            if self._batches_requests:
                _check_results_can_split(inputs, results)
            outputs = [
                _output(name, results[name], parameters)
                for name, parameters in (wanted or dict.fromkeys(results)).items()
            ]
        return InferenceResponse(model_name=self.name, model_version=self.version, outputs=outputs)

    def _chosen(self, payload: InferenceRequest) -> Signature:
        name = getattr(payload.parameters, "signature", None)
        if name is None:
            return self._signature
        if self._batches_requests:
            raise InvalidArgumentError(
                f"the request chooses signature '{name}', but model '{self.name}' batches "
                "requests; serve the signature as a separate model"
            )
        return self._model.signatures[name]


@contextmanager
def _statuses(subject: str = "") -> Iterator[None]:
    """Converts errors to MLServer's, which have HTTP statuses."""
    try:
        yield
    except Error as error:
        raise MLServerError(f"{subject}{error}", _STATUSES.get(error.code, 500)) from error
    except TypeError as error:  # of an option
        raise MLServerError(f"{subject}{error}", 422) from error


def _metadata(signature: Signature, kind: str) -> list[MetadataTensor]:
    """Returns the metadata of inputs or outputs; -1 means a dimension of any size."""
    tensors = []
    for name, value in getattr(signature, f"{kind}s").items():
        datatype = _datatype(value.dtype, f"{kind} '{name}' of signature '{signature.name}'")
        shape = [-1 if size is None else size for size in value.shape or ()]
        tensors.append(MetadataTensor(name=name, datatype=datatype, shape=shape))
    return tensors


def _datatype(dtype: str, subject: str) -> Datatype:
    if dtype not in _DATATYPES:
        raise InvalidArgumentError(
            f"{subject} is {dtype}, for which the V2 protocol has no datatype"
        )
    return _DATATYPES[dtype]


def _array(given: RequestInput, value: Value | None) -> np.ndarray:
    """Returns the input as an array of its datatype; the signature checks that it is the expected
    one."""
    subject, shape = f"input '{given.name}'", list(given.shape)
    datatype = Datatype(given.datatype)
    elements = np.array(getattr(given.data, "root", given.data), object).ravel()
    if elements.size != math.prod(shape) or min(shape, default=0) < 0:
        raise InvalidArgumentError(
            f"{subject} has {elements.size} elements, expected those of shape {shape}"
        )
    if datatype == Datatype.BYTES:
        array = _strings(elements, getattr(given.parameters, "content_type", None), subject)
    else:
        array = _numbers(elements, _DTYPES[datatype], subject)
    # MLServer's codecs encode n values with the shape [n, 1].
    if value is not None and value.shape is not None and len(value.shape) == 1 and shape[1:] == [1]:
        shape.pop()
    return array.reshape(shape)


def _numbers(elements: np.ndarray, dtype: np.dtype, subject: str) -> np.ndarray:
    # numpy would convert 1.5 and "1" to an int.
    for found in set(map(type, elements)) - _ELEMENTS[dtype.kind]:
        raise InvalidArgumentError(
            f"{subject} has an element of type {found.__name__}, expected {dtype}"
        )
    try:
        return elements.astype(dtype)
    except OverflowError as error:
        raise InvalidArgumentError(f"{subject}: {error}") from None


def _strings(elements: np.ndarray, content_type: str | None, subject: str) -> np.ndarray:
    for index, element in enumerate(elements):
        if not isinstance(element, str | bytes):
            kind = type(element).__name__
            raise InvalidArgumentError(
                f"{subject} has an element of type {kind}, expected a string"
            )
        if content_type == "base64":
            try:
                elements[index] = base64.b64decode(element, validate=True)
            except ValueError as error:
                raise InvalidArgumentError(
                    f"{subject} has an element that isn't base64: {error}"
                ) from None
    return elements


def _output(name: str, array: np.ndarray, wanted: Parameters | None) -> ResponseOutput:
    dtype = "string" if array.dtype.kind == "O" else array.dtype.name
    datatype, data = _datatype(dtype, f"output '{name}'"), array.ravel().tolist()
    parameters = None
    if datatype == Datatype.BYTES and getattr(wanted, "content_type", None) == "base64":
        data = [base64.b64encode(element) for element in data]
        parameters = Parameters(content_type="base64")
    return ResponseOutput(
        name=name, shape=list(array.shape), datatype=datatype, data=data, parameters=parameters
    )


def _check_requests_can_batch(signature: Signature) -> None:
    """Checks that MLServer can batch requests along the first dimension, and split the results."""
    for kind in ("input", "output"):
        for name, value in getattr(signature, f"{kind}s").items():
            if value.shape is not None and value.shape[:1] != (None,):
                raise InvalidArgumentError(
                    f"{kind} '{name}' of signature '{signature.name}' has shape "
                    f"{list(value.shape)}: its first dimension is not a batch dimension, so "
                    "requests can't be batched; set max_batch_size to 0"
                )


def _check_results_can_split(inputs: dict[str, np.ndarray], results: dict[str, np.ndarray]) -> None:
    """Checks that each of the batched requests gets as many rows of each result as it has input
    rows."""
    rows = {array.shape[0] for array in inputs.values() if array.ndim}
    for name, array in results.items():
        if len(rows) > 1 or array.shape[:1] != tuple(rows):
            raise InvalidArgumentError(
                f"output '{name}' has shape {list(array.shape)} where the inputs have "
                f"{', '.join(map(str, sorted(rows)))} rows, so it can't be split among the "
                "requests; set max_batch_size to 0"
            )

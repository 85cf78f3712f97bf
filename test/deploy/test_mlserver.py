"""Treadle's runtime for MLServer, called by Triton's clients over REST and gRPC."""

import contextlib
import os
import pathlib
import re
import resource
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import deploy_models as models
import numpy as np
import pytest
from mlservers import Client, settings
from processes import seconds
from tritonclient.utils import InferenceServerException

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORDS = ROOT / "examples" / "words"
VALUES = {
    "bool": [True, False],
    "int8": [-128, 127],
    "int16": [-(2**15), 2**15 - 1],
    "int32": [-(2**31), 2**31 - 1],
    "int64": [-(2**63), 2**63 - 1],
    "uint8": [0, 255],
    "uint16": [0, 2**16 - 1],
    "uint32": [0, 2**32 - 1],
    "uint64": [1, 2**64 - 1],
    "float16": [0.5, -65504],
    "float32": [0.1, -3e38],
    "float64": [0.1, -1e300],
    "string": [b"", "Grüße\0".encode()],
}
NET = [6, 8, 3]
HELD = 200_000_000


@pytest.fixture(scope="module")
def server(serve, tmp_path_factory):
    place = tmp_path_factory.mktemp("saved_models")
    same = [settings(f"same_{dtype}", models.identity(place / dtype, dtype)) for dtype in VALUES]
    net = models.net(place / "net", NET)
    calls = models.calls(place / "calls")
    joined = {"max_batch_size": 16, "max_batch_time": 0.1}
    return serve(
        settings("words", WORDS),
        settings("net", net),
        settings("joined", net, **joined),
        settings("calls", calls),
        settings("calls_joined", calls, **joined),
        settings("halves_joined", models.halves(place / "halves"), **joined),
        settings("two_rows", models.identity(place / "two", "float32", (None, 2))),
        *same,
    )


@pytest.fixture(scope="module", params=["rest", "grpc"])
def client(request, server):
    return Client(server, request.param)


def refusal(client, *args, **options):
    """Status and message of a request that is refused."""
    with pytest.raises(InferenceServerException) as caught:
        client.infer(*args, **options)
    return caught.value.status(), caught.value.message()


INVALID = ("400", "StatusCode.INVALID_ARGUMENT")
MISSING = ("404", "StatusCode.NOT_FOUND")


def floats(*values):
    return np.array(values, np.float32)


# --- responses


def test_the_example_serves_two_signatures_of_a_model(serve):
    server = serve(ROOT / "examples" / "mlserver")
    client = Client(server, "rest")
    assert client.infer("words", {"x": floats(1, 2)}).as_numpy("scaled").tolist() == [2.5, 5]
    answer = client.infer("lookup", {"word": np.array(b"two", object)})
    assert answer.as_numpy("id") == 2


@pytest.mark.parametrize("dtype", VALUES)
def test_every_datatype_comes_back_as_it_went(client, dtype):
    if dtype == "float16" and client.protocol == "rest":
        return  # Triton's client has no FP16 in JSON; see the next test
    array = np.array(VALUES[dtype], object if dtype == "string" else dtype)
    answer = client.infer(f"same_{dtype}", {"x": array}).as_numpy("y")
    if dtype == "string" and client.protocol == "rest":
        answer = np.array([text.encode() for text in answer], object)
    assert answer.tolist() == array.tolist()
    assert answer.dtype == array.dtype


def test_fp16_comes_in_json(server):
    given = {"name": "x", "shape": [2], "datatype": "FP16", "data": [0.5, None]}
    status, text = server.post("v2/models/same_float16/infer", {"inputs": [given]})
    assert status == 200 and '"data":[0.5,null]' in text and '"FP16"' in text


def test_bytes_that_are_no_text_come_as_base64_in_json(server):
    given = {"name": "x", "shape": [1], "datatype": "BYTES", "data": ["//8="]}
    given["parameters"] = wanted = {"content_type": "base64"}
    request = {"inputs": [given], "outputs": [{"name": "y", "parameters": wanted}]}
    status, text = server.post("v2/models/same_string/infer", request)
    assert status == 200 and '"data":["//8="]' in text
    given["data"] = ["?"]
    status, text = server.post("v2/models/same_string/infer", request)
    assert status == 400 and "input 'x' has an element that isn't base64" in text


def test_bytes_that_are_no_text_come_by_grpc(server):
    array = np.array([b"\xff\xfe"], object)
    answer = Client(server, "grpc").infer("same_string", {"x": array})
    assert answer.as_numpy("y").tolist() == [b"\xff\xfe"]


def test_a_request_without_rows_gets_none(client):
    answer = client.infer("net", {"x": np.zeros((0, NET[0]), np.float32)})
    assert answer.as_numpy("y").shape == (0, NET[-1])


def test_values_may_be_nested_lists(server):
    given = {"name": "x", "shape": [2, 2], "datatype": "FP32", "data": [[1, 2], [3, 4]]}
    status, text = server.post("v2/models/two_rows/infer", {"inputs": [given]})
    assert status == 200 and '"data":[1.0,2.0,3.0,4.0]' in text


def test_a_column_is_taken_for_a_vector(client):
    answer = client.infer("words", {"x": floats(1, 2).reshape(2, 1)})
    assert answer.as_numpy("scaled").tolist() == [2.5, 5]


def test_only_the_outputs_that_are_asked_for_come(client):
    answer = client.infer("words", {"x": floats(1)}, outputs=["scaled"])
    assert answer.as_numpy("scaled").tolist() == [2.5]
    assert answer.as_numpy("calls") is None


def test_a_request_chooses_a_signature(client):
    word = np.array(b"one", object)
    answer = client.infer("words", {"word": word}, parameters={"signature": "lookup"})
    assert answer.as_numpy("id") == 1


def test_metadata_is_the_signatures(server):
    metadata = Client(server, "rest").client.get_model_metadata("words")
    assert metadata["platform"] == "treadle"
    assert metadata["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1]}]
    assert {"name": "calls", "datatype": "INT64", "shape": []} in metadata["outputs"]


def test_requests_are_counted(server):
    Client(server, "rest").infer("net", {"x": np.zeros((1, NET[0]), np.float32)})
    status, text = server.get("metrics", server.metrics)
    assert status == 200 and 'model_infer_request_success_total{model="net"' in text


# --- errors


def test_a_missing_input_is_named(server):
    status, text = server.post("v2/models/words/infer", {"inputs": []})
    assert status == 400 and "input 'x' of signature 'serving_default' has no value" in text


def test_an_unknown_input_is_named(client):
    status, text = refusal(client, "words", {"x": floats(1), "y": floats(1)})
    assert status in INVALID and "signature 'serving_default' has no input 'y'" in text


def test_an_input_that_is_given_twice_is_named(server):
    given = {"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}
    status, text = server.post("v2/models/words/infer", {"inputs": [given, given]})
    assert status == 400 and "input 'x' is passed twice" in text


def test_another_datatype_is_refused(client):
    status, text = refusal(client, "words", {"x": np.array([1.0])})
    assert status in INVALID and "input 'x' is float64[1], expected float32" in text


def test_another_shape_is_refused(client):
    status, text = refusal(client, "two_rows", {"x": np.zeros((1, 3), np.float32)})
    assert status in INVALID and "is float32[1,3], expected float32[?,2]" in text


@pytest.mark.parametrize(
    "shape, data, message",
    [
        ([3], [1, 2], "input 'x' has 2 elements, expected those of shape [3]"),
        ([-1], [1, 2], "input 'x' has 2 elements, expected those of shape [-1]"),
        ([2], [1, "2"], "input 'x' has an element of type str, expected float32"),
        ([1], [True], "input 'x' has an element of type bool, expected float32"),
        ([2], [[1], [2, 3]], "input 'x' has an element of type list, expected float32"),
    ],
)
def test_malformed_data_is_refused(server, shape, data, message):
    given = {"name": "x", "shape": shape, "datatype": "FP32", "data": data}
    status, text = server.post("v2/models/words/infer", {"inputs": [given]})
    assert status == 400 and message in text


@pytest.mark.parametrize(
    "dtype, datatype, data, message",
    [
        ("int32", "INT32", [1.5], "has an element of type float, expected int32"),
        ("int8", "INT8", [300], "300 out of bounds for int8"),
        ("uint8", "UINT8", [-1], "-1 out of bounds for uint8"),
        ("string", "BYTES", [7], "has an element of type int, expected a string"),
    ],
)
def test_a_number_that_its_datatype_cannot_hold_is_refused(server, dtype, datatype, data, message):
    given = {"name": "x", "shape": [1], "datatype": datatype, "data": data}
    status, text = server.post(f"v2/models/same_{dtype}/infer", {"inputs": [given]})
    assert status == 400 and message in text


def test_an_unknown_output_is_named(client):
    status, text = refusal(client, "words", {"x": floats(1)}, outputs=["scale"])
    assert status in MISSING and "no output 'scale' (did you mean 'scaled'?)" in text


def test_an_unknown_signature_is_named(client):
    options = {"parameters": {"signature": "lokup"}}
    status, text = refusal(client, "words", {"x": floats(1)}, **options)
    assert status in MISSING and "no signature 'lokup' (did you mean 'lookup'?)" in text


def test_a_dtype_that_the_protocol_lacks_is_named(client):
    options = {"parameters": {"signature": "complex"}}
    status, text = refusal(client, "calls", {"x": floats(1)}, **options)
    assert status in INVALID
    assert "output 'y' is complex64, for which the V2 protocol has no datatype" in text


# --- joined requests


def at_once(client, model, arrays):
    """The outputs y of requests that come at the same time, of a client each."""
    with ThreadPoolExecutor(len(arrays)) as threads:
        start = threading.Barrier(len(arrays))

        def call(x):
            own = Client(client.server, client.protocol)
            start.wait()
            return own.infer(model, {"x": x}).as_numpy("y")

        return list(threads.map(call, arrays))


def test_joined_requests_each_get_their_rows(client):
    random = np.random.default_rng(1)
    arrays = [random.standard_normal((1 + i % 3, NET[0])).astype(np.float32) for i in range(12)]
    answers = at_once(client, "joined", arrays)
    for x, y in zip(arrays, answers, strict=True):
        np.testing.assert_allclose(y, models.answer_of_net(x, NET), rtol=1e-4, atol=1e-5)


def test_joined_requests_are_fewer_calls(client):
    [before] = client.infer("calls_joined", {"x": floats(0)}).as_numpy("y")
    answers = at_once(client, "calls_joined", [floats(0, 0)] * 12)
    assert 0 < max(max(y) for y in answers) - before < 12


def test_a_request_that_cannot_be_joined_says_so_and_hurts_no_later_one(client):
    options = {"parameters": {"signature": "serving_default"}}
    status, text = refusal(client, "joined", {"x": np.zeros((1, 6), np.float32)}, **options)
    assert status in INVALID and "but model 'joined' batches requests" in text
    status, text = refusal(client, "joined", {"x": np.zeros((1, 5), np.float32)})
    assert status in INVALID and "is float32[1,5], expected float32[?,6]" in text
    assert client.infer("joined", {"x": np.zeros((1, 6), np.float32)}).as_numpy("y").shape == (1, 3)


def test_results_that_cannot_be_divided_are_refused(client):
    status, text = refusal(client, "halves_joined", {"x": floats(1, 2, 3, 4)})
    assert status in INVALID
    assert "output 'y' has shape [2] where the inputs have 4 rows" in text


# --- loading and unloading


@pytest.fixture(scope="module")
def repository(serve, tmp_path_factory):
    """A server that has loaded nothing yet."""
    place = tmp_path_factory.mktemp("unloaded")
    words = [
        settings("no_folder", place / "none"),
        settings("no_model", place),
        settings("no_signature", WORDS, {"signature": "lokup"}),
        settings("no_option", WORDS, {"thread": 1}),
        settings("no_tier", WORDS, {"tier": "fast"}),
        settings("scalars_joined", WORDS, max_batch_size=8, max_batch_time=0.1),
    ]
    return serve(
        *words,
        settings("complex", models.identity(place / "complex", "complex64")),
        settings("holding", models.holding(place / "holding", HELD // 4)),
        load_models_at_startup=False,
    )


@pytest.mark.parametrize(
    "name, message",
    [
        ("no_folder", "Invalid URI specified for model no_folder"),
        ("no_model", "model 'no_model': .* is a folder with neither saved_model.pb nor"),
        ("no_signature", r"the model has no signature 'lokup' \(did you mean 'lookup'\?\)"),
        ("no_option", "model 'no_option': .* unexpected keyword argument 'thread'"),
        ("no_tier", "model 'no_tier': .*'fast'"),
        ("scalars_joined", r"output 'calls' of .* has shape \[\]: .*; set max_batch_size to 0"),
        ("complex", "input 'x' of .* is complex64, for which the V2 protocol has no datatype"),
    ],
)
def test_a_model_that_cannot_be_served_says_why(repository, name, message):
    status, text = repository.post(f"v2/repository/models/{name}/load", {})
    assert 400 <= status < 500 and re.search(message, text), (status, text)


def test_unloading_frees_the_memory(repository):
    [worker] = repository.workers()
    client = Client(repository, "grpc")

    def memory():
        text = pathlib.Path(f"/proc/{worker}/statm").read_text()
        return int(text.split()[1]) * resource.getpagesize()

    # Freed memory serves the next tensors: the process keeps a part of it.
    before = memory()
    for _ in range(4):
        client.client.load_model("holding")
        assert client.infer("holding", {"x": floats(1)}).as_numpy("y") == 2
        assert memory() - before > 0.9 * HELD
        client.client.unload_model("holding")
        status, text = refusal(client, "holding", {"x": floats(1)})
        assert status in MISSING and re.match("Model holding .*not found", text)
    assert memory() - before < 1.5 * HELD


# --- killed in the middle


@pytest.fixture
def slow(serve, tmp_path):
    """A server whose model "counting" computes as long as its input says."""
    counting = models.counting(tmp_path / "counting")
    return serve(settings("words", WORDS), settings("counting", counting, {"tier": "interpret"}))


@contextlib.contextmanager
def long_call(server, protocol):
    """Within, a worker computes; afterwards the list has what the client was told."""
    told = []

    def call():
        try:
            told.append(Client(server, protocol).infer("counting", {"n": np.array(10**10)}))
        except Exception as error:
            told.append(error)

    [worker] = server.workers()
    before = seconds(worker)
    thread = threading.Thread(target=call)
    thread.start()
    while seconds(worker) < before + 0.5:
        time.sleep(0.05)
    yield worker, told
    thread.join(60)
    assert not thread.is_alive()


def first_answer(server, protocol):
    """Returns the first answer of the model "words" that is not a clean error."""
    client = Client(server, protocol)
    end = time.monotonic() + 60
    while True:
        try:
            return client.infer("words", {"x": floats(1, 2)})
        except InferenceServerException:
            assert time.monotonic() < end, server.text()
            time.sleep(0.2)


@pytest.mark.parametrize("protocol", ["rest", "grpc"])
def test_a_killed_worker_is_an_error_and_the_next_one_answers(slow, protocol):
    assert first_answer(slow, protocol).as_numpy("calls") == 11
    with long_call(slow, protocol) as (worker, told):
        os.kill(worker, signal.SIGKILL)
    assert isinstance(told[0], InferenceServerException), told
    assert told[0].status() in ("500", "StatusCode.INTERNAL")
    assert "Worker process stopped unexpectedly" in told[0].message()
    answer = first_answer(slow, protocol)
    assert answer.as_numpy("scaled").tolist() == [2.5, 5]
    assert answer.as_numpy("calls") == 11  # the new process has loaded the model again
    assert slow.workers() != [worker]


def test_a_killed_server_is_an_error_and_answers_when_it_is_started_again(slow):
    with long_call(slow, "grpc") as (_, told):
        slow.kill()
    assert isinstance(told[0], InferenceServerException), told
    assert told[0].status() == "StatusCode.UNAVAILABLE"
    slow.start()
    assert first_answer(slow, "grpc").as_numpy("scaled").tolist() == [2.5, 5]

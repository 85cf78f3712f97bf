"""examples/ray_serve.py on a local Ray of several processes."""

import json
import os
import pathlib
import signal
import threading
import time
import urllib.error
import urllib.request

import deploy_models as models
import pytest
import ray_serve
from mlservers import free_ports
from processes import seconds

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def serving(local_ray):
    """Serves a model by the example's class: a function that calls it."""
    from ray import serve

    [port] = free_ports(1)
    serve.start(http_options={"port": port})

    def post(body):
        request = urllib.request.Request(f"http://127.0.0.1:{port}", json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def start(folder):
        serve.run(ray_serve.Words.bind(str(folder)))
        return post

    yield start
    serve.shutdown()


def replicas():
    from ray.util.state import list_actors

    alive = list_actors(filters=[("state", "=", "ALIVE")], detail=True)
    return {actor.pid for actor in alive if actor.class_name.startswith("ServeReplica")}


def test_a_model_is_served(serving):
    post = serving(ROOT / "examples" / "words")
    status, answer = post({"x": [1, 2]})
    assert (status, answer["scaled"]) == (200, [2.5, 5])
    assert len(replicas()) == 2


@pytest.mark.parametrize(
    "body, message",
    [
        ({"x": [[1]]}, "is float32[1,1], expected float32[?]"),
        ({"y": [1]}, "has no input 'y' (did you mean 'x'?)"),
        ({}, "input 'x' of signature 'serving_default' has no value"),
        ([], "must be a mapping, not list"),
    ],
)
def test_a_wrong_request_says_what_is_wrong(serving, body, message):
    status, text = serving(ROOT / "examples" / "words")(body)
    assert status == 400 and message in json.loads(text)["error"]


def test_a_killed_replica_is_an_error_and_another_one_takes_its_place(serving, tmp_path):
    post = serving(models.counting(tmp_path / "counting"))
    before = {process: seconds(process) for process in replicas()}
    told = []
    thread = threading.Thread(target=lambda: told.append(post({"n": 10**14})))
    thread.start()
    while not (busy := [p for p in before if seconds(p) > before[p] + 1]):
        time.sleep(0.05)
    os.kill(busy[0], signal.SIGKILL)
    thread.join(60)
    assert told and told[0][0] == 500, told
    end = time.monotonic() + 120
    while len(now := replicas() - set(busy)) < 2:
        status, answer = post({"n": 3})  # the other replica answers meanwhile
        assert status == 500 or answer == {"count": 3}
        assert time.monotonic() < end, now
        time.sleep(0.1)
    assert [post({"n": 5}) for _ in range(20)] == [(200, {"count": 5})] * 20

import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
FOLDERS = [str(HERE), str(HERE.parent.parent / "examples")]
sys.path[:0] = FOLDERS
# Ray's processes import what the tests import.
os.environ["PYTHONPATH"] = os.pathsep.join([*FOLDERS, os.environ.get("PYTHONPATH", "")])
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    """Starts servers: serve(folder) of what is there, serve(settings, ...) of these models."""
    from mlservers import Server, write_settings

    servers = []

    def start(*models, **options):
        place = tmp_path_factory.mktemp("server")
        folder = models[0]
        if isinstance(folder, dict):
            folder = write_settings(place / "models", *models)
        servers.append(Server(folder, place, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


@pytest.fixture(scope="module")
def local_ray():
    """A Ray of several processes on this machine."""
    import ray

    ray.init(num_cpus=4, log_to_driver=False)
    yield ray
    ray.shutdown()

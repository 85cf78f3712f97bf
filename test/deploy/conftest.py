import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).parent)]


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

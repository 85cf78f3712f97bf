"""Set-ups of distributed training on two processes of gloo: which graphs have exchanges, what is
said where none has, and that the values are those of eager mode."""

import json
import pathlib
import re
import subprocess
import sys

import pytest
import torch.distributed as dist

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "overlap.md"
RECIPES = re.findall(
    r"^```python torchrun\n(.*?)^```\n\n```output\n(.*?)^```$", PAGE.read_text(), re.M | re.S
)
SETUPS = HERE / "setups.py"

pytestmark = pytest.mark.skipif(
    not (dist.is_available() and dist.is_gloo_available()), reason="this PyTorch has no gloo"
)


@pytest.fixture(scope="module", autouse=True)
def compiled_code(tmp_path_factory):
    """Inductor compiles each graph again, but identical C++ only once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        patch.setenv("TORCHINDUCTOR_FX_GRAPH_CACHE", "0")
        patch.setenv("TORCHINDUCTOR_AUTOGRAD_CACHE", "0")
        patch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")
        patch.setenv("OMP_NUM_THREADS", "1")
        yield


def torchrun(file, *arguments):
    """Returns the output of rank 0 of two processes, and all warnings."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*command, str(file), *arguments], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout, done.stderr


@pytest.mark.parametrize("recipe", range(3), ids=["ddp", "fsdp", "tensor_parallel"])
def test_recipes_print_what_the_page_says(recipe, tmp_path):
    program, output = RECIPES[recipe]
    file = tmp_path / "recipe.py"
    file.write_text(program)
    assert torchrun(file)[0] == output


@pytest.fixture(scope="module")
def eager():
    return json.loads(torchrun(SETUPS, "plain")[0])["weights"]


HOOKS = r"0 exchanges in \d graphs: the reducer of DDP and the hooks of FSDP2"
FOUND = {
    "ddp": HOOKS,
    "ddp python_reducer": r"0 exchanges in \d graphs: DDP's python_reducer",
    "fsdp": HOOKS,
}


@pytest.mark.parametrize("setup", FOUND)
def test_setups_without_exchanges_in_graphs_say_so(setup, eager):
    out, warned = torchrun(SETUPS, *setup.split(), "inductor")
    found = json.loads(out)
    assert re.match(FOUND[setup], found["summary"])
    assert found["weights"] == pytest.approx(eager, rel=1e-4)
    assert warned.count("nothing to plan: 0 exchanges in") == 2  # one a rank


@pytest.mark.parametrize("setup", ["ddp", "fsdp"])
def test_setups_run_with_treadle(setup, eager):
    out, warned = torchrun(SETUPS, *setup.split(), "treadle")
    assert json.loads(out)["weights"] == pytest.approx(eager, rel=1e-4)
    assert "PyTorch runs this graph" not in warned


def test_exchanges_that_treadle_cannot_reach_are_left_to_pytorch(eager):
    out, warned = torchrun(SETUPS, "ddp", "python_reducer", "autograd", "treadle")
    assert json.loads(out)["weights"] == pytest.approx(eager, rel=1e-4)
    assert "it communicates between 2 processes, but mpirun started 1" in warned

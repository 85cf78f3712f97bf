"""The man page and the completion, which are made from the same table as --help."""

import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command_line import BINARY  # noqa: E402

COMMANDS = ("run", "bench", "show", "check", "explain", "profile", "explore", "diff", "convert")


def output(*arguments):
    return subprocess.run([BINARY, *arguments], check=True, capture_output=True, text=True).stdout


def completed(tmp_path, *words):
    """Returns bash's completions of the last of these words."""
    script = tmp_path / "treadle.bash"
    script.write_text(output("--completion"))
    code = f"""
source {script}
COMP_WORDS=("$@")
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_treadle
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", code, "-", *words], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr
    return done.stdout.split()


def test_manual_has_each_command_and_option():
    manual = output("--manual").replace("\\-", "-")
    for command in COMMANDS:
        assert f".SS treadle {command} " in manual
        for line in output(command, "--help").splitlines():
            if line.startswith("  --"):
                assert f"\\fB{line.split()[0]}\\fR" in manual


@pytest.mark.skipif(not shutil.which("groff"), reason="needs groff, which isn't here")
def test_manual_is_roff_without_faults():
    command = ["groff", "-man", "-Tascii", "-ww", "-z"]
    done = subprocess.run(command, input=output("--manual"), capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr


def test_bash_completes_commands_and_options(tmp_path):
    assert completed(tmp_path, "treadle", "ex") == ["explain", "explore"]
    assert completed(tmp_path, "treadle", "run", "model", "--loop") == ["--loop-overlap"]
    assert completed(tmp_path, "treadle", "run", "model", "x") == []

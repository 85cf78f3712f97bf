"""The results of `cmake --install`: a program, and a library for C and C++."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
ANSWER = "2.5 5 7.5"


def run(*command, **options):
    return subprocess.run(
        [str(c) for c in command], check=True, text=True, capture_output=True, **options
    ).stdout


def test_program_runs(installed):
    out = run(
        installed / "bin" / "treadle",
        "run",
        EXAMPLES / "countdown.pbtxt",
        "--fetch",
        "count:0",
    )
    assert out == "count:0: int32[] = 0\n"


def test_c_by_pkg_config(installed_environment, tmp_path):
    env = installed_environment
    flags = run("pkg-config", "--cflags", "--libs", "treadle", env=env).split()
    program = tmp_path / "words"
    source = EXAMPLES / "from_c" / "words.c"
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", source, *flags, "-o", program)
    out = run(program, EXAMPLES / "words", env=env)
    assert out.splitlines() == ["lookup(word)", "serving_default(x)", f"{ANSWER} "]


def test_cpp_by_find_package(installed, tmp_path):
    source = EXAMPLES / "from_cpp"
    run("cmake", "-S", source, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "words", EXAMPLES / "words").splitlines() == [f"{ANSWER} ", "9"]


def test_headers_include_nothing_of_others(installed):
    headers = sorted((installed / "include").rglob("*.h"))
    assert headers
    for header in headers:
        for name in re.findall(r'^#include [<"]([^>"]+)', header.read_text(), re.M):
            known = (installed / "include" / name).exists() or name == "tl/expected.hpp"
            assert known or "/" not in name, f"{header} includes {name}"


def names_of(library):
    lines = run("nm", "-D", "--defined-only", "--demangle", library).splitlines()
    return {line.split(maxsplit=2)[2] for line in lines}


def test_library_shows_what_is_public_alone(installed):
    (library,) = installed.rglob("libtreadle.so")
    shown = names_of(library)
    c_names = set(re.findall(r"\b(treadle_\w+)\(", (ROOT / "treadle" / "c.h").read_text()))
    assert c_names <= shown
    others = {n for n in shown if n not in c_names and "treadle::" not in n}
    # The functions that object files call, so that they can be linked with either library.
    (runtime,) = installed.rglob("libtreadle_runtime.so")
    called = names_of(runtime) - {"treadle_run_static_function"}
    for_jax = {"treadle_pjrt_api", "treadle_pjrt_set_callback", "treadle_pjrt_uses_callback"}
    assert others == {"treadle_main", "treadle_rewriter_main"} | for_jax | called


def test_headers_of_object_files_have_the_same_dtypes(installed, tmp_path):
    """A program may include both kinds, and the first one that it includes says what they are."""
    model = tmp_path / "model.mlir"
    model.write_text("func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }")
    run(installed / "bin" / "treadle", "compile", model, "-o", tmp_path / "net.o")
    guarded = re.compile(r"#ifndef TREADLE_DTYPE_DEFINED\n.*?#endif\n", re.S)
    texts = [
        guarded.search(header.read_text())[0]
        for header in (ROOT / "treadle" / "c.h", tmp_path / "net.h")
    ]
    assert texts[0] == texts[1]

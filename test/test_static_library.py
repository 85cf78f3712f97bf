"""libtreadle.a: programs that hold all of the library, and no name that is somebody else's."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "release"
EXAMPLES = ROOT / "examples"
WORDS = ["lookup(word)", "serving_default(x)", "2.5 5 7.5 "]


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], text=True, capture_output=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An installed library, with the archive."""
    prefix = tmp_path_factory.mktemp("static")
    run("cmake", "--install", BUILD, "--prefix", prefix, "--strip")
    python = BUILD.parent / "venv" / "bin" / "python"
    run(python, ROOT / "scripts" / "static_library.py", prefix / "lib" / "libtreadle.a")
    return prefix


def needed(program):
    """The shared libraries that a program names."""
    dynamic = run("readelf", "-d", program).splitlines()
    return {line.split("[")[1].rstrip("]") for line in dynamic if "(NEEDED)" in line}


def test_it_shows_what_the_shared_library_shows(folder):
    def names(library, *options):
        table = run("nm", "--defined-only", *options, folder / "lib" / library)
        return {line.split()[-1] for line in table.splitlines() if len(line.split()) == 3}

    assert names("libtreadle.a", "-g") == names("libtreadle.so", "-D")


def test_cpp_by_find_package(folder, tmp_path):
    source = EXAMPLES / "from_cpp"
    options = [f"-DCMAKE_PREFIX_PATH={folder}", "-DTREADLE_LIBRARY=treadle::static"]
    run("cmake", "-S", source, "-B", tmp_path, *options)
    run("cmake", "--build", tmp_path)
    program = tmp_path / "words"
    assert run(program, EXAMPLES / "words").splitlines() == [WORDS[2], "9"]
    assert needed(program) <= {
        f"{name}.so.{version}"
        for name, version in [("libstdc++", 6), ("libm", 6), ("libgcc_s", 1), ("libc", 6)]
    } | {"ld-linux-x86-64.so.2"}


@pytest.mark.parametrize("compiler", ["cc", "clang-22"])
def test_c_by_pkg_config(folder, compiler, tmp_path):
    environment = os.environ | {"PKG_CONFIG_PATH": str(folder / "lib" / "pkgconfig")}
    flags = run("pkg-config", "--static", "--cflags", "--libs", "treadle", env=environment).split()
    program = tmp_path / "words"
    run(compiler, "-static", EXAMPLES / "from_c" / "words.c", *flags, "-o", program)
    assert not needed(program)
    assert run(program, EXAMPLES / "words").splitlines() == WORDS


OTHERS = """
#include <treadle/treadle.h>
#include <google/protobuf/any.pb.h>
#include <png.h>
#include <cstdio>

// As of another version of a library that Treadle has inside.
extern "C" png_uint_32 png_access_version_number(void) { return 1; }

int main(int argc, char **argv) {
  google::protobuf::Any any;
  any.set_type_url("mine");
  auto model = treadle::Model::load(argv[1]);
  if (!model)
    return 1;
  std::printf("%s %u\\n", any.DebugString().c_str(), png_access_version_number());
  return 0;
}
"""


def test_a_program_may_have_libraries_of_its_own(folder, tmp_path):
    source, program = tmp_path / "others.cpp", tmp_path / "others"
    source.write_text(OTHERS)
    include = folder / "include"
    flags = ["-std=c++20", f"-I{include}", f"-I{include / 'treadle' / 'external'}"]
    libraries = [folder / "lib" / "libtreadle.a", "-lprotobuf"]
    run("c++", *flags, source, *libraries, "-o", program)
    assert run(program, EXAMPLES / "words") == 'type_url: "mine"\n 1\n'


def test_it_compiles(folder, tmp_path):
    source, program = tmp_path / "command.c", tmp_path / "command"
    source.write_text(
        "int treadle_main(int, char **);\n"
        "int main(int argc, char **argv) { return treadle_main(argc, argv); }\n"
    )
    run("cc", "-static", source, folder / "lib" / "libtreadle.a", "-lstdc++", "-lm", "-o", program)
    model = EXAMPLES / "simulator" / "pendulum.mlir"
    inputs = ["--input", "angle=0.5", "--input", "speed=0", "--input", "steps=10"]
    done = subprocess.run(
        [program, "run", model, *inputs, "--tier", "jit", "--stats"],
        capture_output=True,
        text=True,
        env=os.environ | {"TREADLE_CACHE_DIR": ""},
    )
    assert done.returncode == 0, done.stderr
    assert "compiled: 1 times" in done.stderr and "not compiled" not in done.stderr

# ruff: noqa: E501 (programs in text)
"""Models as object files: C programs that call them give what the interpreter gives."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command_line import BINARY  # noqa: E402
from model_texts import variable_model  # noqa: E402

LIBRARIES = pathlib.Path(treadle.__file__).parents[2] / "lib"
LIBRARY = LIBRARIES / "libtreadle_runtime.so"
ARCHIVE = LIBRARIES.parent / "static" / "libtreadle_runtime.a"
AARCH64_ARCHIVE = LIBRARIES.parents[1] / "aarch64" / "static" / "libtreadle_runtime.a"
CODES = {"float32": 1, "float64": 2, "int32": 3, "int64": 9, "bool": 10}
DTYPES = {code: name for name, code in CODES.items()}
HEAD = "#tf_type.version<producer = 1482, min_consumer = 12>"

pytestmark = pytest.mark.skipif(
    not LIBRARY.exists(), reason=f"{LIBRARY} isn't built: ninja treadle_program"
)

# Reads calls from standard input: for each a line with the inputs, `dtype rank dims...`, and their
# bytes in hexadecimal; writes outputs in the same form, or the error.
MAIN = r"""
#include "HEADER"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t size_of(int32_t dtype) {
  return dtype == TREADLE_BOOL ? 1 : dtype == TREADLE_INT64 || dtype == TREADLE_FLOAT64 ? 8 : 4;
}
static size_t bytes_of(const treadle_tensor *t) {
  size_t bytes = size_of(t->dtype);
  for (int i = 0; i < t->rank; ++i)
    bytes *= (size_t)t->dims[i];
  return bytes;
}
static int read_tensor(treadle_tensor *t) {
  long long dim;
  memset(t, 0, sizeof *t);
  if (scanf("%d %d", &t->dtype, &t->rank) != 2)
    return 0;
  for (int i = 0; i < t->rank; ++i)
    if (scanf("%lld", &dim) == 1)
      t->dims[i] = dim;
  size_t bytes = bytes_of(t);
  unsigned byte;
  unsigned char *data = malloc(bytes + 1);
  for (size_t i = 0; i < bytes; ++i)
    if (scanf("%2x", &byte) == 1)
      data[i] = (unsigned char)byte;
  t->data = data;
  return 1;
}
static void write_tensor(const treadle_tensor *t) {
  printf("%d %d", t->dtype, t->rank);
  for (int i = 0; i < t->rank; ++i)
    printf(" %lld", (long long)t->dims[i]);
  printf(" ");
  for (size_t i = 0; i < bytes_of(t); ++i)
    printf("%02x", ((unsigned char *)t->data)[i]);
  printf("\n");
}
static FUNCTION_inputs inputs;
static void *call(void *unused) {
  FUNCTION_outputs outputs;
  treadle_error error;
  for (int i = 0; i < 20; ++i)
    if (FUNCTION(&inputs, &outputs, &error) == 0)
      FUNCTION_free(&outputs);
  return unused;
}
int main(int argc, char **argv) {
  for (;;) {
    treadle_tensor *in = (treadle_tensor *)&inputs;
    for (int i = 0; i < NUM_INPUTS; ++i)
      if (!read_tensor(&in[i]))
        return 0;
    pthread_t threads[4];
    for (int i = 0; argc > 1 && i < 4; ++i)
      pthread_create(&threads[i], 0, call, argv);
    FUNCTION_outputs outputs;
    treadle_error error;
    int32_t code = FUNCTION(&inputs, &outputs, &error);
    if (code != error.code || (code && FUNCTION(&inputs, &outputs, 0) != code))
      return 9;
    if (code)
      printf("error %d %s\n", code, error.message);
    for (int i = 0; !code && i < NUM_OUTPUTS; ++i)
      write_tensor((treadle_tensor *)&outputs + i);
    if (!code)
      FUNCTION_free(&outputs);
    for (int i = 0; argc > 1 && i < 4; ++i)
      pthread_join(threads[i], 0);
    for (int i = 0; i < NUM_INPUTS; ++i)
      free(in[i].data);
    if (NUM_INPUTS == 0)
      return 0;
  }
}
"""


def compile_model(model, out, *options):
    return subprocess.run(
        [BINARY, "compile", model, "-o", out, *options], capture_output=True, text=True, timeout=120
    )


class Compiled:
    """A function of an object file, called by a C program."""

    def __init__(self, folder, model, function=None, options=()):
        out = folder / "net.o"
        done = compile_model(model, out, *options)
        assert done.returncode == 0, done.stderr
        self.header = (folder / "net.h").read_text()
        functions = re.findall(r"^int32_t (\w+)\(", self.header, re.MULTILINE)
        self.function = function or functions[0]
        assert self.function in functions
        self.inputs, self.outputs = (
            self.members(f"{self.function}_{kind}") for kind in ("inputs", "outputs")
        )
        text = MAIN.replace("HEADER", "net.h").replace("FUNCTION", self.function)
        text = text.replace("NUM_INPUTS", str(len(self.inputs)))
        text = text.replace("NUM_OUTPUTS", str(len(self.outputs)))
        (folder / "main.c").write_text(text)
        self.program = folder / "main"
        self.emulator = []
        line = ["cc", "-Wall", "-Werror", "-o", self.program, folder / "main.c", out]
        if "aarch64" in options:
            self.emulator = ["qemu-aarch64-static"]
            line[0] = "aarch64-linux-gnu-gcc"
            line += ["-Wl,--gc-sections", "-s", "-static", AARCH64_ARCHIVE, "-lstdc++", "-lm"]
        elif "--static" in options:
            line += ["-Wl,--gc-sections", "-s", "-static-libgcc", ARCHIVE, "-l:libstdc++.a", "-lm"]
        else:
            line += [f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", "-ltreadle_runtime", "-lm"]
        built = subprocess.run([*line, "-lpthread"], capture_output=True, text=True, timeout=120)
        assert built.returncode == 0, built.stderr

    def members(self, struct):
        body = re.search(rf"typedef struct {struct} {{(.*?)}} {struct};", self.header, re.DOTALL)[1]
        return re.findall(r"treadle_tensor (\w+);", body)

    def __call__(self, *inputs, threads=False):
        given = [np.asarray(x, order="C") for x in inputs]
        lines = [
            f"{CODES[x.dtype.name]} {x.ndim} {' '.join(map(str, x.shape))} {x.tobytes().hex()}\n"
            for x in given
        ]
        done = subprocess.run(
            [*self.emulator, self.program, *(["threads"] if threads else [])],
            input="".join(lines),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, (done.returncode, done.stderr)
        if done.stdout.startswith("error "):
            _, code, message = done.stdout.rstrip("\n").split(" ", 2)
            raise RuntimeError(f"{code}: {message}")
        return [self.parse(line) for line in done.stdout.splitlines()]

    @staticmethod
    def parse(line):
        dtype, rank, *rest = line.split(" ")
        dims = [int(d) for d in rest[: int(rank)]]
        data = bytes.fromhex(rest[int(rank)])
        return np.frombuffer(data, DTYPES[int(dtype)]).reshape(dims)


GROWING = f"""
tfg.graph {HEAD} {{
  %x, %0 = Placeholder name("x") {{dtype = f32, shape = #tf_type.shape<?x3>}} : () -> (tensor<?x3xf32>)
  %n, %1 = Placeholder name("n") {{dtype = i32, shape = #tf_type.shape<>}} : () -> (tensor<i32>)
  %zero, %2 = Const name("zero") {{dtype = i32, value = dense<0> : tensor<i32>}} : () -> (tensor<i32>)
  %w:3, %3 = While(%zero, %n, %x) name("loop") {{T = [i32, i32, f32], body = #tf_type.func<@body, {{}}>,
      cond = #tf_type.func<@cond, {{}}>, output_shapes = [#tf_type.shape<>, #tf_type.shape<>, #tf_type.shape<?x3>],
      parallel_iterations = 10 : i64}} : (tensor<i32>, tensor<i32>, tensor<?x3xf32>)
      -> (tensor<i32>, tensor<i32>, tensor<?x3xf32>)
}}
tfg.func @cond(%i: tensor<i32> {{tfg.name = "i"}}, %n: tensor<i32> {{tfg.name = "n"}},
               %x: tensor<?x3xf32> {{tfg.name = "x"}}) -> (tensor<i1> {{tfg.name = "more"}}) {{
  %less, %0 = Less(%i, %n) name("less") {{T = i32}} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%less) : tensor<i1>
}}
tfg.func @body(%i: tensor<i32> {{tfg.name = "i"}}, %n: tensor<i32> {{tfg.name = "n"}},
               %x: tensor<?x3xf32> {{tfg.name = "x"}}) -> (tensor<i32> {{tfg.name = "next"}},
               tensor<i32> {{tfg.name = "same"}}, tensor<?x3xf32> {{tfg.name = "more"}}) {{
  %one, %0 = Const name("one") {{dtype = i32, value = dense<1> : tensor<i32>}} : () -> (tensor<i32>)
  %next, %1 = AddV2(%i, %one) name("next") {{T = i32}} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %axis, %2 = Const name("axis") {{dtype = i32, value = dense<0> : tensor<i32>}} : () -> (tensor<i32>)
  %row, %3 = Const name("row") {{dtype = f32, value = dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>}} : () -> (tensor<1x3xf32>)
  %sum, %4 = Tanh(%x) name("tanh") {{T = f32}} : (tensor<?x3xf32>) -> (tensor<?x3xf32>)
  %more, %5 = ConcatV2(%sum, %row, %axis) name("more") {{N = 2 : i64, T = f32, Tidx = i32}}
      : (tensor<?x3xf32>, tensor<1x3xf32>, tensor<i32>) -> (tensor<?x3xf32>)
  return(%next, %n, %more) : tensor<i32>, tensor<i32>, tensor<?x3xf32>
}}
"""


@pytest.fixture
def growing(tmp_path):
    path = tmp_path / "growing.mlir"
    path.write_text(GROWING)
    return path


def test_a_growing_loop_under_several_shapes(growing, tmp_path):
    call = Compiled(tmp_path, growing, options=["--fetch", "loop:2"])
    assert (call.inputs, call.outputs) == (["x", "n"], ["loop_2"])
    session = treadle.Session(growing)
    for rows, n in [(0, 3), (1, 2), (5, 4), (100, 0), (7, 30)]:
        x = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
        got = call(x, np.int32(n))
        want = session.run(["loop:2"], {"x:0": x, "n:0": np.int32(n)})
        np.testing.assert_allclose(got[0], want[0], rtol=1e-5, atol=1e-7)
        assert got[0].shape == (rows + n, 3)


HALF = """
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %y = chlo.broadcast_multiply %x, %half : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}"""


@pytest.mark.parametrize("static", [[], ["--static"]])
def test_denormal_numbers_are_zero_unless_kept(static, tmp_path):
    if static and not ARCHIVE.exists():
        pytest.skip(f"{ARCHIVE} isn't built")
    model = tmp_path / "half.mlir"
    model.write_text(HALF)
    x = np.full(5, np.finfo(np.float32).tiny)
    for options, expected in ((static, x * 0), ([*static, "--denormals", "keep"], x / 2)):
        call = Compiled(tmp_path, model, options=options)
        np.testing.assert_array_equal(call(x)[0], expected)


LONG_SORT = """
func.func @main(%x: tensor<600xf32>) -> tensor<600xf32> {
  %y = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %other = stablehlo.compare NE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %other : tensor<i1>
  }) : (tensor<600xf32>) -> tensor<600xf32>
  return %y : tensor<600xf32>
}"""


def test_kernels_that_call_functions_are_refused(tmp_path):
    model = tmp_path / "sort.mlir"
    model.write_text(LONG_SORT)
    done = compile_model(model, tmp_path / "sort.o")
    assert done.returncode == 1
    assert re.search(r"\(XlaVariadicSort\): its kernel calls functions", done.stderr)


def test_many_threads_call_it(growing, tmp_path):
    call = Compiled(tmp_path, growing, options=["--fetch", "loop:2"])
    x = np.ones((2, 3), np.float32)
    alone = call(x, np.int32(5))
    np.testing.assert_array_equal(call(x, np.int32(5), threads=True)[0], alone[0])
    assert np.array_equal(x, np.ones((2, 3)))


def test_inputs_and_outputs_that_are_chosen(growing, tmp_path):
    """A feed takes the place of any value; what is handed back is the caller's own."""
    call = Compiled(tmp_path, growing, options=["--fetch", "n,loop:0", "--feed", "n:0,x,zero"])
    assert (call.inputs, call.outputs) == (["n", "x", "zero"], ["n", "loop"])
    n, i = call(np.int32(9), np.zeros((1, 3), np.float32), np.int32(4))
    assert (int(n), int(i)) == (9, 9)


def test_wrong_inputs_are_refused(growing, tmp_path):
    call = Compiled(tmp_path, growing, options=["--fetch", "loop:2"])
    n = np.int32(1)
    with pytest.raises(
        RuntimeError, match=r"3: input 'x' is float32\[2,4\], expected float32\[\?,3\]"
    ):
        call(np.zeros((2, 4), np.float32), n)
    with pytest.raises(
        RuntimeError, match=r"3: input 'x' is float64\[2,3\], expected float32\[\?,3\]"
    ):
        call(np.zeros((2, 3)), n)
    with pytest.raises(RuntimeError, match=r"3: input 'n' is int32\[1\], expected int32\[\]"):
        call(np.zeros((2, 3), np.float32), np.zeros(1, np.int32))


BROADCAST = f"""
tfg.graph {HEAD} {{
  %a, %0 = Placeholder name("a") {{dtype = f32, shape = #tf_type.shape<?>}} : () -> (tensor<?xf32>)
  %b, %1 = Placeholder name("b") {{dtype = f32, shape = #tf_type.shape<?>}} : () -> (tensor<?xf32>)
  %s, %2 = AddV2(%a, %b) name("s") {{T = f32}} : (tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>)
  %m, %3 = Mul(%s, %b) name("m") {{T = f32}} : (tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>)
}}
"""


def test_dimensions_that_may_be_one(tmp_path):
    path = tmp_path / "broadcast.mlir"
    path.write_text(BROADCAST)
    call = Compiled(tmp_path, path)
    for a, b in [(4, 4), (1, 4), (4, 1), (1, 1), (0, 1)]:
        x, y = np.arange(a, dtype=np.float32), np.arange(b, dtype=np.float32) + 1
        np.testing.assert_array_equal(call(x, y)[0], (x + y) * y)
    with pytest.raises(RuntimeError, match="3: function 'net' can't run on these inputs"):
        call(np.zeros(2, np.float32), np.zeros(3, np.float32))


GATHER = f"""
tfg.graph {HEAD} {{
  %a, %0 = Placeholder name("a") {{dtype = f32, shape = #tf_type.shape<?>}} : () -> (tensor<?xf32>)
  %i, %1 = Placeholder name("i") {{dtype = i64, shape = #tf_type.shape<?>}} : () -> (tensor<?xi64>)
  %axis, %2 = Const name("axis") {{dtype = i32, value = dense<0> : tensor<i32>}} : () -> (tensor<i32>)
  %g, %3 = GatherV2(%a, %i, %axis) name("g") {{Taxis = i32, Tindices = i64, Tparams = f32, batch_dims = 0 : i64}}
      : (tensor<?xf32>, tensor<?xi64>, tensor<i32>) -> (tensor<?xf32>)
}}
"""


def test_a_kernels_error_names_its_node(tmp_path):
    path = tmp_path / "gather.mlir"
    path.write_text(GATHER)
    call = Compiled(tmp_path, path)
    a = np.arange(5, dtype=np.float32)
    assert list(call(a, np.array([4, 0]))[0]) == [4, 0]
    with pytest.raises(RuntimeError, match=r"3: node 'g' \(GatherV2\): .*5"):
        call(a, np.array([1, 5]))


def test_a_saved_models_variables_are_constants(tmp_path):
    extra = 'node { name: "y" op: "AddV2" input: "x" input: "read" attr { key: "T" value { type: DT_INT32 } } }'
    model = variable_model(extra, {"y": "y:0"}, tmp_path / "model")
    call = Compiled(tmp_path, model)
    assert call.function == "net_serving_default"
    assert (call.inputs, call.outputs) == (["x"], ["y"])
    assert int(call(np.int32(5))[0]) == 15


STABLEHLO = """
func.func @main(%x: tensor<3xf32>, %n: tensor<i32>) -> (tensor<3xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<3xf32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<3xf32>
    cond {
      %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %w = stablehlo.multiply %v, %half : tensor<3xf32>
      stablehlo.return %next, %w : tensor<i32>, tensor<3xf32>
    }
  return %r#1, %r#0 : tensor<3xf32>, tensor<i32>
}
"""


def test_a_stablehlo_program(tmp_path):
    path = tmp_path / "halve.mlir"
    path.write_text(STABLEHLO)
    call = Compiled(tmp_path, path)
    assert call.function == "net_main"
    x = np.array([1, 2, -4], np.float32)
    halved, count = call(x, np.int32(3))
    np.testing.assert_array_equal(halved, x / 8)
    assert int(count) == 3


def test_the_header_has_the_shapes_that_show_prints(tmp_path):
    path = tmp_path / "net.mlir"
    path.write_text("""
func.func @main(%x: tensor<?x3xf32> loc("x")) -> (tensor<?x3xf32>, tensor<2x3xf32>) {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %two, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  return %x, %b : tensor<?x3xf32>, tensor<2x3xf32>
}
""")
    assert compile_model(path, tmp_path / "net.o").returncode == 0
    header = (tmp_path / "net.h").read_text()
    found = re.findall(r"treadle_tensor \w+; /\* (\w+: \S+) \*/", header)
    shown = subprocess.run([BINARY, "show", path], capture_output=True, text=True).stdout
    assert found == ["x: float32[?,3]", "result_0: float32[?,3]", "result_1: float32[2,3]"]
    assert found == re.findall(r"(?:<-|->) (\w+: \S+) ", shown)


# --- models that can't be compiled ---------------------------------------------------------------


def refused(model, out, *options):
    done = compile_model(model, out, *options)
    assert not out.exists() and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    return done.returncode, done.stderr


def test_no_output_file(growing):
    done = subprocess.run([BINARY, "compile", growing], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (
        2,
        "treadle: option '-o' is missing, expected the object file to write; 'treadle compile --help' lists the options\n",
    )


def test_a_folder_that_is_not_there(growing, tmp_path):
    status, message = refused(growing, tmp_path / "none" / "net.o", "--fetch", "loop:2")
    assert status == 1 and "net.o' can't be written" in message


@pytest.mark.parametrize("name", ["net.h", "net.c", "libnet.so"])
def test_another_file_in_the_objects_place(growing, tmp_path, name):
    out = tmp_path / name
    out.write_text("kept")
    done = compile_model(growing, out)
    assert done.returncode == 2 and out.read_text() == "kept"
    assert f"expected an object file: '{out.with_suffix('.o')}'" in done.stderr


def test_unknown_signature(tmp_path):
    model = variable_model("", {"y": "read:0"}, tmp_path / "model")
    status, message = refused(model, tmp_path / "net.o", "--signature", "serve")
    assert status == 1 and message.startswith("treadle: NotFoundError: ") and "'serve'" in message


def test_a_signature_of_a_plain_graph(growing, tmp_path):
    status, message = refused(growing, tmp_path / "net.o", "--signature", "serve")
    assert status == 1 and "has no signatures; use --fetch" in message


def test_unknown_fetch(growing, tmp_path):
    status, message = refused(growing, tmp_path / "net.o", "--fetch", "lop:2")
    assert status == 1 and "'lop:2' refers to node 'lop', which isn't in the graph" in message


def test_an_input_that_is_left_out(growing, tmp_path):
    status, message = refused(growing, tmp_path / "net.o", "--fetch", "loop:2", "--feed", "n")
    assert status == 1
    assert (
        "InvalidArgumentError: node 'x' (Placeholder): it is not an input of the function"
        in message
    )


def test_several_functions_for_c_and_cpp(tmp_path):
    """Headers of two objects go into one C++ program; names of any kind become C names."""
    for name, node in (("one", "in/put:0"), ("two", "in/put:0")):
        (tmp_path / "graph.pbtxt").write_text("""
node { name: "in/put" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } }
       attr { key: "shape" value { shape { } } } }
node { name: "out.put" op: "Neg" input: "in/put" attr { key: "T" value { type: DT_INT32 } } }
""")
        done = compile_model(
            tmp_path / "graph.pbtxt", tmp_path / f"{name}.o", "--fetch", "out.put", "--feed", node
        )
        assert done.returncode == 0, done.stderr
    (tmp_path / "main.cpp").write_text("""
#include "one.h"
#include "two.h"
int main() {
  int value = 3;
  one_run_inputs in{};
  in.in_put.data = &value;
  in.in_put.dtype = TREADLE_INT32;
  one_run_outputs out;
  if (one_run(&in, &out, nullptr) != 0)
    return 1;
  two_run_inputs again{out.out_put};
  two_run_outputs last;
  if (two_run(&again, &last, nullptr) != 0)
    return 2;
  int result = *static_cast<int *>(last.out_put.data);
  one_run_free(&out);
  two_run_free(&last);
  return result == 3 ? 0 : 3;
}
""")
    line = ["c++", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers"]
    line += ["-o", "main", "main.cpp", "one.o", "two.o", f"-L{LIBRARIES}"]
    line += [f"-Wl,-rpath,{LIBRARIES}", "-ltreadle_runtime", "-lm"]
    built = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stderr
    assert subprocess.run([tmp_path / "main"], timeout=60).returncode == 0


def test_effects_are_refused(tmp_path):
    extra = """
node { name: "add" op: "AssignAddVariableOp" input: "v" input: "x" TYPES }
node { name: "after" op: "ReadVariableOp" input: "v" input: "^add" TYPES }"""
    model = variable_model(extra, {"y": "after:0"}, tmp_path / "model")
    status, message = refused(model, tmp_path / "net.o")
    assert status == 1
    assert message.startswith(
        "treadle: UnimplementedError: node 'add' (AssignAddVariableOp): it has side effects"
    )


def test_variables_without_values_are_refused(tmp_path):
    path = tmp_path / "variable.mlir"
    path.write_text(f"""
tfg.graph {HEAD} {{
  %v, %0 = VarHandleOp name("v") {{container = "", dtype = i32, shape = #tf_type.shape<>, shared_name = "v"}} : () -> (tensor<!tf_type.resource>)
  %r, %1 = ReadVariableOp(%v) name("r") {{dtype = i32}} : (tensor<!tf_type.resource>) -> (tensor<i32>)
}}
""")
    status, message = refused(path, tmp_path / "net.o", "--fetch", "r")
    assert status == 1
    assert "UnimplementedError: node 'v' (VarHandleOp): its variable has no value" in message


def test_strings_are_refused(tmp_path):
    path = tmp_path / "text.pbtxt"
    path.write_text("""
node { name: "s" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } }
       attr { key: "shape" value { shape { } } } }
node { name: "out" op: "Identity" input: "s" attr { key: "T" value { type: DT_STRING } } }
""")
    status, message = refused(path, tmp_path / "net.o", "--fetch", "out")
    assert status == 1
    assert (
        "UnimplementedError: input 's' of 'net' is string, which C functions don't support"
        in message
    )


# --- without shared libraries ----------------------------------------------------------------

PRODUCT = """
func.func @main(%x: tensor<?x64xf32>, %y: tensor<64x48xf32>) -> tensor<?x48xf32> {
  %z = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
      : (tensor<?x64xf32>, tensor<64x48xf32>) -> tensor<?x48xf32>
  return %z : tensor<?x48xf32>
}
"""


@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3", "x86-64-v4", None])
def test_a_static_program_has_the_kernels_that_it_calls(level, tmp_path):
    (tmp_path / "model.mlir").write_text(PRODUCT)
    call = Compiled(
        tmp_path,
        tmp_path / "model.mlir",
        options=["--static", *(["--target", level] * bool(level))],
    )
    needed = subprocess.run(
        ["readelf", "-d", call.program], check=True, capture_output=True, text=True
    ).stdout
    libraries = set(re.findall(r"NEEDED.*\[(.*)\]", needed))
    assert {name.split(".")[0] for name in libraries} <= {
        "libc",
        "libm",
        "libmvec",
        "ld-linux-x86-64",
    }
    assert call.program.stat().st_size * 8 < LIBRARY.stat().st_size
    cpu = pathlib.Path("/proc/cpuinfo").read_text()
    if (level == "x86-64-v3" and "avx2" not in cpu) or (
        level == "x86-64-v4" and "avx512vl" not in cpu
    ):
        pytest.skip(f"this processor isn't {level}")
    x = np.random.default_rng(0).standard_normal((33, 64), dtype=np.float32)
    y = np.random.default_rng(1).standard_normal((64, 48), dtype=np.float32)
    (z,) = call(x, y)
    np.testing.assert_allclose(z, x @ y, rtol=1e-4, atol=1e-4)


def test_a_static_programs_errors_are_the_same(growing, tmp_path):
    call = Compiled(tmp_path, growing, options=["--static", "--fetch", "loop:2"])
    with pytest.raises(RuntimeError, match="3: input 'x' is float32\\[2\\], expected float32"):
        call(np.zeros(2, np.float32), np.int32(1))


@pytest.mark.parametrize("target", ["8086", "arm64"])
def test_unknown_target(target, growing, tmp_path):
    status, message = refused(growing, tmp_path / "net.o", "--target", target)
    assert status == 1
    assert (
        f"InvalidArgumentError: target '{target}' is unknown, expected one of x86-64-v2, "
        "x86-64-v3, x86-64-v4, aarch64" in message
    )


@pytest.mark.parametrize("target", ["aarch64", "aarch64-linux-gnu"])
def test_an_object_file_for_another_processor(target, growing, tmp_path):
    out = tmp_path / "net.o"
    done = compile_model(growing, out, "--static", "--target", target, "--fetch", "loop:2")
    assert done.returncode == 0, done.stderr
    assert out.read_bytes()[18] == 183  # ELF's number of AArch64
    symbols = subprocess.run(["nm", "-u", out], check=True, capture_output=True, text=True).stdout
    assert "treadle_run_static_function" in symbols and "x86-64" not in symbols


class OnBoth:
    """The same function for this processor and for AArch64, which is emulated."""

    def __init__(self, folder, model, options=()):
        for program in ("aarch64-linux-gnu-gcc", "qemu-aarch64-static"):
            if shutil.which(program) is None:
                pytest.skip(f"needs {program}, which isn't here")
        if not AARCH64_ARCHIVE.exists():
            pytest.skip(f"{AARCH64_ARCHIVE} isn't built: ./dev build aarch64")
        self.programs = []
        for name, target in [("here", "x86-64-v2"), ("there", "aarch64")]:
            (folder / name).mkdir()
            all_options = ["--static", "--target", target, *options]
            self.programs.append(Compiled(folder / name, model, options=all_options))

    def check(self, *inputs, tolerance=0.0):
        here, there = (program(*inputs) for program in self.programs)
        assert len(here) == len(there) > 0
        for x, y in zip(here, there, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(y, x, rtol=tolerance, atol=tolerance)


def test_aarch64_computes_a_growing_loop(growing, tmp_path):
    call = OnBoth(tmp_path, growing, ["--fetch", "loop:2"])
    for rows, steps in [(1, 0), (2, 3), (5, 4)]:
        call.check(
            np.linspace(-2, 2, rows * 3, dtype=np.float32).reshape(rows, 3),
            np.int32(steps),
            tolerance=1e-6,
        )


def test_aarch64_computes_a_simulation(tmp_path):
    model = pathlib.Path(__file__).parents[1] / "examples" / "simulator" / "pendulum.mlir"
    OnBoth(tmp_path, model).check(np.float32(1), np.float32(0), np.int32(1000), tolerance=1e-4)


def test_aarch64_computes_a_product(tmp_path):
    (tmp_path / "model.mlir").write_text(PRODUCT)
    x = np.random.default_rng(0).standard_normal((33, 64), dtype=np.float32)
    y = np.random.default_rng(1).standard_normal((64, 48), dtype=np.float32)
    OnBoth(tmp_path, tmp_path / "model.mlir").check(x, y, tolerance=1e-4)


def test_aarch64_gives_the_same_errors(growing, tmp_path):
    call = OnBoth(tmp_path, growing, ["--fetch", "loop:2"]).programs[1]
    with pytest.raises(RuntimeError, match="3: input 'x' is float32\\[2\\], expected float32"):
        call(np.zeros(2, np.float32), np.int32(1))


FORMS = """
func.func @main(%image: tensor<2x9x9x3xf32>, %filter: tensor<3x3x3x8xf32>, %n: tensor<40xi32>)
    -> (tensor<2x7x7x8xf32>, tensor<2x9x9xf32>, tensor<40xi32>, tensor<2x9x9x3xf64>,
        tensor<3x9x9x2xf32>, tensor<40xi32>) {
  %conv = stablehlo.convolution(%image, %filter)
      dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {stride = [1, 1], pad = [[0, 0], [0, 0]]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x9x9x3xf32>, tensor<3x3x3x8xf32>) -> tensor<2x7x7x8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%image init: %zero) applies stablehlo.add across dimensions = [3]
      : (tensor<2x9x9x3xf32>, tensor<f32>) -> tensor<2x9x9xf32>
  %sorted = "stablehlo.sort"(%n) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %less = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<40xi32>) -> tensor<40xi32>
  %half = stablehlo.convert %image : (tensor<2x9x9x3xf32>) -> tensor<2x9x9x3xf16>
  %brain = stablehlo.convert %half : (tensor<2x9x9x3xf16>) -> tensor<2x9x9x3xbf16>
  %twice = stablehlo.add %brain, %brain : tensor<2x9x9x3xbf16>
  %wide = stablehlo.convert %twice : (tensor<2x9x9x3xbf16>) -> tensor<2x9x9x3xf64>
  %exp = stablehlo.exponential %wide : tensor<2x9x9x3xf64>
  %turned = stablehlo.transpose %image, dims = [3, 1, 2, 0]
      : (tensor<2x9x9x3xf32>) -> tensor<3x9x9x2xf32>
  %seven = stablehlo.constant dense<-7> : tensor<40xi32>
  %rest = stablehlo.remainder %n, %seven : tensor<40xi32>
  return %conv, %sum, %sorted, %exp, %turned, %rest : tensor<2x7x7x8xf32>, tensor<2x9x9xf32>,
      tensor<40xi32>, tensor<2x9x9x3xf64>, tensor<3x9x9x2xf32>, tensor<40xi32>
}
"""


def test_aarch64_computes_many_forms(tmp_path):
    (tmp_path / "model.mlir").write_text(FORMS)
    random = np.random.default_rng(0)
    image = random.standard_normal((2, 9, 9, 3), dtype=np.float32)
    kernel = random.standard_normal((3, 3, 3, 8), dtype=np.float32)
    numbers = random.integers(-1000, 1000, 40, dtype=np.int32)
    OnBoth(tmp_path, tmp_path / "model.mlir").check(image, kernel, numbers, tolerance=1e-5)


# --- models ----------------------------------------------------------------------------------

MODELS = os.environ.get("TREADLE_MODELS")


@pytest.mark.skipif(not MODELS, reason="TREADLE_MODELS names no folder of models")
@pytest.mark.parametrize("name", ["lstm_text", "greedy_decode", "mini_bert", "beam_search"])
def test_models(name, tmp_path):
    folder = pathlib.Path(MODELS) / name
    call = Compiled(tmp_path, folder, "net_serving_default", ["--signature", "serving_default"])
    data = np.load(folder / "io.npz")
    calls = sorted(k for k in data.files if k.startswith("in/"))
    inputs = {k.removeprefix("in/"): data[k] for k in calls}
    if any("/" in k for k in inputs):
        pytest.skip("several calls on one state")
    got = call(*[inputs[k] for k in sorted(inputs)])
    for key, value in zip(sorted(k for k in data.files if k.startswith("out/")), got, strict=True):
        np.testing.assert_allclose(value, data[key], rtol=2e-4, atol=1e-5)

"""Random programs over NCHW images give equal results, under the same names, after their conversion
to NHWC by runs."""

import os

import numpy as np
import pytest

import treadle

COUNT = int(os.environ.get("TREADLE_STRESS_PROGRAMS", 40))
SEED = int(os.environ.get("TREADLE_STRESS_SEED", 0))


class Program:
    """A graph of images [n, c, h, w] and what else comes of them."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.g = treadle.Builder()
        self.n, self.c = int(self.rng.integers(1, 4)), int(self.rng.integers(1, 7))
        self.feeds, self.images, self.others = {}, [], []
        for _ in range(2):
            self.images.append(self.fed([self.n, self.c, 9, 8]))
        for _ in range(int(self.rng.integers(4, 14))):
            self.step()

    def fed(self, dims):
        is_open = self.rng.random() < 0.2
        x = self.g.placeholder(
            f"x{len(self.feeds)}", "float32", [None if is_open else d for d in dims]
        )
        self.feeds[x.name] = self.rng.standard_normal(dims).astype(np.float32)
        return x

    def constant(self, *dims):
        return self.g.constant((self.rng.standard_normal(dims) * 0.5).astype(np.float32))

    def op(self, name, inputs, **attrs):
        return self.g.op(name, inputs, attrs=attrs)

    def dims(self, image):
        values = treadle.Session(self.g.build(), tier="interpret").run([image.name], self.feeds)
        return values[0].shape

    def pick(self):
        return self.images[int(self.rng.integers(len(self.images)))]

    def step(self):
        makers = [m for m in dir(self) if m.startswith("make_")]
        x = self.pick()
        made = getattr(self, str(self.rng.choice(makers)))(x, self.dims(x))
        if made is not None:
            self.images.append(made)

    # ---- ops that say where channels are

    def make_convolution(self, x, dims):
        out = int(self.rng.integers(1, 9))
        pads = [int(p) for p in self.rng.integers(0, 2, 4)]
        attrs = {"strides": [1, 1, int(self.rng.integers(1, 3)), 1], "data_format": "NCHW"}
        return self.op(
            "Conv2D",
            [x, self.constant(min(2, dims[2]), min(2, dims[3]), dims[1], out)],
            padding="EXPLICIT",
            explicit_paddings=[0, 0, 0, 0, *pads],
            **attrs,
        )

    def make_pool(self, x, dims):
        window = [1, 1, min(2, dims[2]), min(2, dims[3])]
        op = str(self.rng.choice(["MaxPool", "AvgPool"]))
        attrs = {"ksize": window, "strides": [1, 1, 1, 1], "padding": "VALID"}
        return self.op(op, [x], data_format="NCHW", **attrs)

    def make_bias(self, x, dims):
        return self.op("BiasAdd", [x, self.constant(dims[1])], data_format="NCHW")

    def make_norm(self, x, dims):
        c = dims[1]
        variance = self.g.constant(self.rng.uniform(0.5, 2, c).astype(np.float32))
        inputs = [x, self.constant(c), self.constant(c), self.constant(c), variance]
        return self.op("FusedBatchNormV3", inputs, data_format="NCHW", is_training=False)[0]

    def make_group_norm(self, x, dims):
        inputs = [x, self.constant(dims[1]), self.constant(dims[1])]
        groups = dims[1] if self.rng.random() < 0.5 else 1
        out, mean, _ = self.op("_GroupNorm", inputs, groups=groups, data_format="NCHW")
        self.others.append(mean)
        return out

    def make_gradient(self, x, dims):
        out = int(self.rng.integers(1, 5))
        attrs = {"strides": [1, 1, 1, 1], "padding": "VALID", "data_format": "NCHW"}
        y = self.op("Conv2D", [x, self.constant(1, 1, dims[1], out)], **attrs)
        sizes = self.g.constant(np.array([1, 1, dims[1], out], np.int32))
        self.others.append(self.op("Conv2DBackpropFilter", [x, sizes, y], **attrs))
        sizes = self.g.constant(np.array(dims, np.int32))
        return self.op(
            "Conv2DBackpropInput", [sizes, self.constant(1, 1, dims[1], out), y], **attrs
        )

    # ---- ops that follow

    def make_unary(self, x, dims):
        return self.op(str(self.rng.choice(["Relu", "Tanh", "Neg", "LeakyRelu"])), [x])

    def make_binary(self, x, dims):
        same = [i for i in self.images if self.dims(i) == dims]
        shapes = [(dims[1], 1, 1), (1, dims[1], 1, 1), (), (1, 1, 1, 1), (dims[3],), dims,
                  (dims[0], dims[1], 1, 1), (dims[2], dims[3])]  # fmt: skip
        other = (
            same[int(self.rng.integers(len(same)))]
            if self.rng.random() < 0.5
            else self.constant(*shapes[int(self.rng.integers(len(shapes)))])
        )
        pair = [x, other] if self.rng.random() < 0.5 else [other, x]
        return self.op(str(self.rng.choice(["AddV2", "Mul", "Sub", "Maximum"])), pair)

    def make_choice(self, x, dims):
        return self.op("SelectV2", [self.op("Greater", [x, self.constant()]), x, self.constant()])

    def make_joined(self, x, dims):
        axis = int(self.rng.integers(-4, 4))
        return self.op("ConcatV2", [x, x, self.g.constant(axis)])

    def make_padded(self, x, dims):
        pads = self.rng.integers(0, 2, (4, 2)).astype(np.int32)
        return self.op("PadV2", [x, self.g.constant(pads), self.g.constant(np.float32(-1))])

    def make_slice(self, x, dims):
        begin = [int(self.rng.integers(0, d)) for d in dims]
        size = [int(self.rng.integers(1, d - b + 1)) for b, d in zip(begin, dims, strict=True)]
        size = [-1 if self.rng.random() < 0.3 else s for s in size]
        return self.op("Slice", [x, self.g.constant(begin), self.g.constant(size)])

    def make_parts(self, x, dims):
        axis = int(self.rng.integers(0, 4))
        count = 2 if dims[axis] % 2 == 0 else 1
        parts = self.op("Split", [self.g.constant(axis), x], num_split=count)
        return parts[-1] if isinstance(parts, tuple | list) else parts

    def make_reduction(self, x, dims):
        axes = sorted({int(a) for a in self.rng.integers(-4, 4, int(self.rng.integers(1, 4)))})
        axes = sorted({a % 4 for a in axes})
        op = str(self.rng.choice(["Sum", "Mean", "Max", "Min"]))
        keeps = bool(self.rng.random() < 0.5)
        out = self.op(op, [x, self.g.constant(axes)], keep_dims=keeps)
        if keeps:
            return self.op("AddV2", [x, out])
        self.others.append(out)
        return None

    # ---- ops that look at the order

    def make_turned(self, x, dims):
        order = [int(i) for i in self.rng.permutation(4)]
        y = self.op("Transpose", [x, self.g.constant(order)])
        self.others.append(y)
        if self.rng.random() < 0.5:
            return self.op("Transpose", [y, self.g.constant([order.index(i) for i in range(4)])])
        return None

    def make_rows(self, x, dims):
        n, c, h, w = dims
        flat = self.op("Reshape", [x, self.g.constant([n, c, h * w])])
        rows = self.op("Transpose", [flat, self.g.constant([0, 2, 1])])
        self.others.append(rows)
        back = self.op("Transpose", [self.op("Neg", [rows]), self.g.constant([0, 2, 1])])
        return self.op("Reshape", [back, self.g.constant([n, c, h, w])])

    def make_point(self, x, dims):
        mean = self.op("Mean", [x, self.g.constant([2, 3])], keep_dims=True)
        self.others.append(self.op("Squeeze", [mean], squeeze_dims=[2, 3]))
        self.others.append(self.op("Reshape", [mean, self.g.constant([dims[0], dims[1]])]))
        return self.op("Mul", [x, mean])


@pytest.mark.parametrize("seed", range(SEED, SEED + COUNT))
def test_what_is_turned_gives_the_same(seed):
    program = Program(seed)
    graph = program.g.build()
    names = [x.name for x in [*program.images[-3:], *program.others[-3:]]]
    expected = treadle.Session(graph, tier="interpret").run(names, program.feeds)
    session = treadle.Session(graph)
    turned = graph.run_passes(
        f"tfg-channels-last{{keep={','.join(n.split(':')[0] for n in names)}}}"
    )
    for values in (
        session.run(names, program.feeds),
        session.run(names, program.feeds),
        treadle.Session(turned, tier="interpret").run(names, program.feeds),
    ):
        for name, got, want in zip(names, values, expected, strict=True):
            assert got.shape == want.shape, name
            np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-4, err_msg=name)


def test_the_convolution_says_so():
    g = treadle.Builder()
    x = g.placeholder("x", "float32", [1, 3, 4, 4])
    w = g.constant(np.ones((1, 1, 3, 2), np.float32))
    attrs = {"strides": [1, 1, 1, 1], "padding": "VALID", "data_format": "NCHW"}
    g.op("Conv2D", [x, w], attrs=attrs)
    turned = g.build().run_passes("tfg-channels-last")
    assert [n.attrs["data_format"] for n in turned.nodes("Conv2D")] == ["NHWC"]

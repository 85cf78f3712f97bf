"""Programs written with treadle.Builder, each with the values that plain Python says it gives.

A program takes a Builder and gives the values to fetch; what else it needs is in PROGRAMS. The same
programs as tf.functions are in builder_by_tensorflow.py, under the same names.
"""

import numpy as np

PROGRAMS = {}


def program(expected, feeds=None):
    def register(write):
        PROGRAMS[write.__name__] = (write, feeds or {}, expected)
        return write

    return register


@program([6, 27])
def stateless_loop(g):
    with g.while_loop(i=0, a=0, b=1) as loop:
        loop.condition(loop.i < 3)
        loop.i += 1
        loop.a += 2
        loop.b *= 3
    return loop.a, loop.b


@program([sum(i * j for i in range(5) for j in range(i))])
def nested_loops(g):
    with g.while_loop(i=0, total=0) as outer:
        outer.condition(outer.i < 5)
        with g.while_loop(j=0, total=outer.total) as inner:
            inner.condition(inner.j < outer.i)
            inner.total += outer.i * inner.j
            inner.j += 1
        outer.total = inner.total
        outer.i += 1
    return (outer.total,)


def _collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@program([_collatz(27)], {"n": np.int32(27)})
def conditional_in_a_loop(g):
    n = g.placeholder("n", "int32", [])
    with g.while_loop(n=n, steps=0) as loop:
        loop.condition(loop.n != 1)
        with g.cond(loop.n % 2 == 0) as c:
            with c.true():
                c.next = loop.n // 2
            with c.false():
                c.next = 3 * loop.n + 1
        loop.n = c.next
        loop.steps += 1
    return (loop.steps,)


@program([[123, 124, 124, 125, 125, 126], 126])
def variable_in_a_loop(g):
    v = g.variable("v", 123)
    items = g.op("TensorListReserve", [[], 6], element_dtype="int32")
    with g.while_loop(i=0, items=items) as loop:
        loop.condition(loop.i < 3)
        before = v.read()
        v.assign_add(1)
        for place, value in ((loop.i * 2, before), (loop.i * 2 + 1, v)):
            loop.items = g.op("TensorListSetItem", [loop.items, place, value])
        loop.i += 1
    stacked = g.op("TensorListStack", [loop.items, np.zeros(0, "int32")], element_dtype="int32")
    return stacked, v.read()


@program([3, 3])
def condition_on_a_mutated_resource(g):
    ticker, counter = g.variable("ticker", 0), g.variable("counter", 1)
    ticker.assign(0)
    counter.assign(0)
    with g.while_loop() as loop:
        loop.condition(ticker < 3)
        ticker.assign_add(1)
        counter.assign_add(1)
    return ticker.read(), counter.read()


@program([4, 4])
def condition_with_effects(g):
    v = g.variable("v", 0)
    with g.while_loop(i=0) as loop:
        v.assign_add(1)
        loop.condition(v < 5)
        loop.i += 1
    return loop.i, v - 1


@program([[4.0, 8.0], [30.0, 36.0], 9.0], {"x": np.array([1, 2], "float32")})
def function_with_effects(g):
    x = g.placeholder("x", "float32", [2])
    v = g.variable("v", 3.0)

    @g.function
    def scaled(y, by):
        v.assign_add(by)
        return y * v

    first = scaled(x, 1.0)
    with g.cond(x[0] > 0.0) as c, c.true():
        v.assign_add(x[1])
    with g.while_loop(y=first, i=0) as loop:
        loop.condition(loop.i < 1)
        loop.y = scaled(loop.y + 1.0, 0.0)
        loop.i += 1
    with g.while_loop(i=0) as last:
        last.condition(last.i < 3)
        v.assign_add(1.0)
        last.i += 1
    return first, loop.y + (0.0, -18.0), v.read()


@program([[0, 1, 4, 9]])
def growing(g):
    empty = g.constant(np.zeros(0, "int32"))
    with g.while_loop(i=0, squares=empty, shapes={"squares": [None]}) as loop:
        loop.condition(loop.i < 4)
        loop.squares = g.op("ConcatV2", [[loop.squares, [loop.i * loop.i]], 0])
        loop.i += 1
    return (loop.squares,)


@program([[1, 20, 300, 300]])
def choices_in_a_loop(g):
    seen = g.variable("seen", np.zeros(4, "int32"))
    with g.while_loop(i=0) as loop:
        loop.condition(loop.i < 4)
        with g.switch_case(loop.i) as s:
            with s.case(0):
                s.value = 1
            with s.case(1):
                s.value = 20
            with s.default():
                s.value = 300
        g.op("ResourceScatterUpdate", [seen, loop.i, s.value])
        loop.i += 1
    return (seen.read(),)


@program([np.linalg.matrix_power(np.array([[1, 1], [1, 0]]), 10)])
def powers_of_a_matrix(g):
    m = g.constant([[1.0, 1.0], [1.0, 0.0]])
    with g.while_loop(i=0, p=g.constant(np.eye(2, dtype="float32"))) as loop:
        loop.condition(loop.i < 10)
        loop.p = loop.p @ m
        loop.i += 1
    return (loop.p,)


@program([55, 89])
def swapped_variables(g):
    with g.while_loop(a=0, b=1, i=0) as loop:
        loop.condition(loop.i < 10)
        loop.a, loop.b = loop.b, loop.a + loop.b
        loop.i += 1
    return loop.a, loop.b


@program([7, 1])
def no_iteration(g):
    v = g.variable("v", 1)
    with g.while_loop(x=7) as loop:
        loop.condition(loop.x < 0)
        v.assign(2)
        loop.x -= 1
    return loop.x, v.read()


@program([1111, 3])
def effects_in_nested_branches(g):
    v, calls = g.variable("v", 0), g.variable("calls", 0)

    @g.function(n="int32")
    def digit(n):
        calls.assign_add(1)
        with g.cond(n > 0) as outer, outer.true():
            with g.cond(n > 10) as inner:
                with inner.true():
                    v.assign_add(n)
                with inner.false():
                    v.assign(v * 10 + n)

    digit(111)
    digit(-5)
    with g.while_loop(i=0) as loop:
        loop.condition(loop.i < 1)
        digit(1)
        loop.i += 1
    return v.read(), calls.read()


@program([[[1, 3], [7, 9]], [6, 5, 4], [[[1], [2], [3]]], 9], {"k": np.int32(2)})
def indexing(g):
    k = g.placeholder("k", "int32", [])
    x = g.constant([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    return x[::2, ::2], x[1, ::-1], x[None, :1, :, None][:, 0], x[k, -1]


def _nested(x, w):
    """y, and its slopes in x and w: forward, beside the values."""
    y, dx, dw = x, 1.0, 0.0
    for i in range(4):
        for _ in range(i):
            y, dx, dw = y * w + x, dx * w + 1.0, dw * w + y
        if y > 20.0:
            y, dx = y - 3.0 * x, dx - 3.0
    return [y, dx, dw]


@program(_nested(2.0, 1.5), {"x": np.float32(2.0)})
def gradients_of_nested_loops(g):
    x, w = g.placeholder("x", "float32", []), g.variable("w", 1.5)
    with g.while_loop(i=0, y=x) as outer:
        outer.condition(outer.i < 4)
        with g.while_loop(j=0, y=outer.y) as inner:
            inner.condition(inner.j < outer.i)
            inner.y = inner.y * w + x
            inner.j += 1
        with g.cond(inner.y > 20.0) as c:
            with c.true():
                c.y = inner.y - 3.0 * x
            with c.false():
                c.y = inner.y
        outer.y = c.y
        outer.i += 1
    return outer.y, *g.gradients(outer.y, [x, w])


@program([4.0, [-16.0, -32.0]])
def gradients_of_a_function(g):
    w = g.variable("w", [1.0, 2.0])
    calls = g.variable("calls", 0.0)

    @g.function
    def loss(x):
        calls.assign_add(1.0)
        return g.op("Sum", [(x - w) ** 2.0, 0])

    total = loss([3.0, 6.0]) + loss([1.0, 2.0]) + 2.0 * loss([3.0, 6.0])
    slope = g.gradients(total, w)
    with g.control_dependencies([slope.op]):
        calls.assign_add(1.0)
    return calls.read(), slope + (-4.0, -8.0)

"""Loops as people write them in TensorFlow, for `./dev bench written tensorflow`.

Each is a function that AutoGraph turns into one of graphs, and its arguments.
"""

import numpy as np
import tensorflow as tf

PROGRAMS = {}
rng = np.random.default_rng(1)


def normal(*shape):
    return rng.standard_normal(shape, np.float32)


def uniform(*shape):
    return rng.random(shape, np.float32)


def program(*arguments):
    return lambda function: PROGRAMS.setdefault(function.__name__, (function, arguments))


# --- as the ten of ../shared/loops ---------------------------------------------------------------


@program(np.eye(3, dtype=np.float32), 0.01 * normal(2000, 3))
def rotations(R, w):
    traces = tf.TensorArray(tf.float32, 2000)
    for i in tf.range(2000):
        x, y, z = tf.unstack(w[i])
        zero = tf.constant(0.0)
        K = tf.stack([[zero, -z, y], [z, zero, -x], [-y, x, zero]])
        R = R @ (tf.eye(3) + K + 0.5 * K @ K)
        traces = traces.write(i, tf.linalg.trace(R))
    return R, traces.stack()


@program(normal(20), normal(200))
def many_leaves_grad(p, xs):
    with tf.GradientTape() as tape:
        tape.watch(p)

        def step(i, total, *c):
            c = [tf.tanh(ck * 0.9 + p[k] * xs[i]) for k, ck in enumerate(c)]
            return i + 1, total + c[0] * c[-1], *c

        start = [tf.constant(0.1 * k) for k in range(20)]
        _, total, *c = tf.while_loop(
            lambda i, *_: i < 200, step, (0, 0.0, *start), maximum_iterations=200
        )
        total += tf.add_n(c)
    return tape.gradient(total, p)


@program(np.ones(3, np.float32))
def lorenz_rk4(x):
    def slope(x):
        a, b, c = tf.unstack(x)
        return tf.stack([10.0 * (b - a), a * (28.0 - c) - b, a * b - 8 / 3 * c])

    h = 0.01
    path = tf.TensorArray(tf.float32, 500, element_shape=[3])
    for i in tf.range(500):
        path = path.write(i, x)
        a = slope(x)
        b = slope(x + h / 2 * a)
        c = slope(x + h / 2 * b)
        d = slope(x + h * c)
        x += h / 6 * (a + 2 * b + 2 * c + d)
    return x, path.stack()


@program(normal(64), normal(64, 64), normal(500, 64))
def hmm_forward(a, T, e):
    T = tf.nn.log_softmax(T)
    for i in tf.range(500):
        a = tf.reduce_logsumexp(a[:, None] + T, 0) + e[i]
    return tf.reduce_logsumexp(a)


@program(np.array([7, 8], np.int32), np.float32(0.5))
def metropolis(seed, x):
    logp = tf.constant(-1.0)
    path = tf.TensorArray(tf.float32, 2000)
    for i in tf.range(2000):
        y = x + tf.random.stateless_normal([], seed + i)
        new = -0.5 * y * y - tf.cos(3 * y)
        if tf.math.log(tf.random.stateless_uniform([], seed + i + 10000)) < new - logp:
            x, logp = y, new
        path = path.write(i, x)
    return path.stack()


@program((uniform(128, 128) < 0.3).astype(np.int32))
def life(g):
    shifts = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b]
    for _ in tf.range(200):
        n = tf.add_n([tf.roll(g, shift, (0, 1)) for shift in shifts])
        g = tf.cast((n == 3) | ((n == 2) & (g == 1)), tf.int32)
    return g


@program(rng.integers(0, 4, 100).astype(np.int32), rng.integers(0, 4, 100).astype(np.int32))
def edit_distance(a, b):
    row = tf.range(101)
    for i in tf.range(100):
        left = row[0] + 1
        cells = tf.TensorArray(tf.int32, 101).write(0, left)
        for j in tf.range(100):
            change = row[j] + tf.cast(a[i] != b[j], tf.int32)
            left = tf.minimum(tf.minimum(row[j + 1] + 1, left + 1), change)
            cells = cells.write(j + 1, left)
        row = tf.ensure_shape(cells.stack(), [101])
    return row[-1]


@program(normal(1000), normal(1000))
def smith_waterman_like(a, b):
    c = tf.constant(0.0)
    high = tf.TensorArray(tf.int32, 1000)
    for i in tf.range(1000):
        c = tf.maximum(0.0, c * 0.99 + a[i] * b[i])
        high = high.write(i, tf.where(c > 3, 1, 0))
    return high.stack()


@program(np.linspace(-2, 1, 96, dtype=np.float32), np.linspace(-1.5, 1.5, 96, dtype=np.float32))
def mandelbrot(x, y):
    c = tf.complex(*tf.meshgrid(x, y))
    z, n = tf.zeros_like(c), tf.zeros(c.shape, tf.int32)
    for i in tf.range(100):
        z = tf.where(n == i, z * z + c, z)
        inside = tf.math.real(z) ** 2 + tf.math.imag(z) ** 2 < 4
        n += tf.cast((n == i) & inside, tf.int32)
    return n


@program(normal(256), np.float32(0.1))
def heat(u, k):
    for _ in tf.range(2000):
        inner = u[1:-1] + k * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = tf.concat([u[:1], inner, u[-1:]], 0)
    return u


# --- ten more ------------------------------------------------------------------------------------


@program(normal(500, 2))
def kalman_filter(observations):
    F = tf.constant(np.eye(4) + 0.1 * np.eye(4, k=2), tf.float32)
    H = tf.eye(2, 4)
    x, P = tf.zeros([4, 1]), tf.eye(4)
    path = tf.TensorArray(tf.float32, 500)
    for i in tf.range(500):
        x, P = F @ x, F @ tf.matmul(P, F, transpose_b=True) + 0.01 * tf.eye(4)
        PH = tf.matmul(P, H, transpose_b=True)
        K = PH @ tf.linalg.inv(H @ PH + 0.1 * tf.eye(2))
        x += K @ (observations[i][:, None] - H @ x)
        P = (tf.eye(4) - K @ H) @ P
        path = path.write(i, x[:, 0])
    return path.stack(), P


@program(normal(16), normal(16, 16), normal(400, 16))
def viterbi(scores, transitions, emissions):
    back = tf.TensorArray(tf.int32, 400)
    for i in tf.range(400):
        paths = scores[:, None] + transitions
        back = back.write(i, tf.argmax(paths, 0, tf.int32))
        scores = tf.reduce_max(paths, 0) + emissions[i]
    pointers = back.stack()
    state = tf.argmax(scores, 0, tf.int32)
    states = tf.TensorArray(tf.int32, 400)
    for i in tf.range(399, -1, -1):
        states = states.write(i, state)
        state = pointers[i, state]
    return states.stack()


@program(normal(48), normal(96, 144) / 7, normal(144))
def gru_generate(h, W, b):
    x = tf.zeros(48)
    heights = tf.TensorArray(tf.float32, 100)
    for i in tf.range(100):
        gates = tf.sigmoid(tf.linalg.matvec(W[:, :96], tf.concat([x, h], 0), True) + b[:96])
        update, reset = tf.split(gates, 2)
        new = tf.tanh(tf.linalg.matvec(W[:, 96:], tf.concat([x, reset * h], 0), True) + b[96:])
        h = update * h + (1 - update) * new
        x = tf.one_hot(tf.argmax(h), 48)
        heights = heights.write(i, tf.reduce_max(h))
    return h, heights.stack()


@program(normal(200, 32, 4), normal(4, 16), normal(16, 1))
def train_mlp(batches, w1, w2):
    losses = tf.TensorArray(tf.float32, 200)
    for i in tf.range(200):
        x = batches[i]
        with tf.GradientTape() as tape:
            tape.watch([w1, w2])
            target = tf.reduce_prod(x, 1, keepdims=True)
            loss = tf.reduce_mean((tf.tanh(x @ w1) @ w2 - target) ** 2)
        g1, g2 = tape.gradient(loss, [w1, w2])
        w1, w2 = w1 - 0.05 * g1, w2 - 0.05 * g2
        losses = losses.write(i, loss)
    return w1, w2, losses.stack()


MATRIX = normal(64, 64)
POSITIVE = MATRIX @ MATRIX.T / 64 + np.eye(64, dtype=np.float32)


@program(POSITIVE, normal(64))
def power_iteration(A, v):
    before, value = tf.constant(0.0), tf.constant(1.0)
    while tf.abs(value - before) > 1e-4:
        w = tf.linalg.matvec(A, v / tf.norm(v))
        before, value, v = value, tf.norm(w), w
    return value


@program(normal(64))
def bubble_sort(x):
    for i in tf.range(63):
        for j in tf.range(63 - i):
            a, b = x[j], x[j + 1]
            if a > b:
                x = tf.tensor_scatter_nd_update(x, [[j], [j + 1]], [b, a])
    return x


@program(np.arange(1, 1001, dtype=np.int32))
def collatz(n):
    counts = tf.zeros_like(n)
    while tf.reduce_any(n != 1):
        odd = 3 * n + 1
        counts += tf.cast(n != 1, tf.int32)
        n = tf.where(n == 1, 1, tf.where(n % 2 == 0, n // 2, odd))
    return counts


@program(rng.integers(1, 30, 50).astype(np.int32), rng.integers(1, 100, 50).astype(np.int32))
def knapsack(weights, values):
    room = tf.range(501)
    best = tf.zeros([501], tf.int32)
    for i in tf.range(50):
        left = room - weights[i]
        taken = tf.where(left >= 0, tf.gather(best, tf.maximum(left, 0)) + values[i], 0)
        best = tf.maximum(best, taken)
    return best[-1]


@program(normal(5000), np.array([0.2, 0.4, 0.2, -0.5, 0.3], np.float32))
def biquad(x, c):
    a, b = tf.constant(0.0), tf.constant(0.0)
    out = tf.TensorArray(tf.float32, 5000)
    for i in tf.range(5000):
        y = c[0] * x[i] + a
        a, b = c[1] * x[i] - c[3] * y + b, c[2] * x[i] - c[4] * y
        out = out.write(i, y)
    return out.stack()


@program(normal(100, 32), *(normal(32, 32) / 6 for _ in range(4)), np.int32(1))
def greedy_attention(embedding, wq, wk, wv, wo, token):
    keys, values = tf.zeros([64, 32]), tf.zeros([64, 32])
    tokens = tf.TensorArray(tf.int32, 64)
    for i in tf.range(64):
        x = embedding[token][None]
        keys = tf.tensor_scatter_nd_update(keys, [[i]], x @ wk)
        values = tf.tensor_scatter_nd_update(values, [[i]], x @ wv)
        scores = tf.matmul(x @ wq, keys, transpose_b=True) / tf.sqrt(32.0)
        scores = tf.where(tf.range(64) <= i, scores, -1e9)
        x += tf.nn.softmax(scores) @ values @ wo
        token = tf.argmax(tf.matmul(x, embedding, transpose_b=True)[0], 0, tf.int32)
        tokens = tokens.write(i, token)
    return tokens.stack()


# --- programs that found bugs since --------------------------------------------------------------


@program(normal(2))
def newton(x):
    for _ in tf.range(50):
        f = tf.stack([x[0] ** 2 + x[1] ** 2 - 4, x[0] * x[1] - 1])
        slopes = tf.stack([tf.stack([2 * x[0], 2 * x[1]]), tf.stack([x[1], x[0]])])
        x = x - 0.5 * tf.linalg.solve(slopes, f[:, None])[:, 0]
    return x


@program(normal(32, 32))
def reaction(u):
    """Gray and Scott's, with diffusion."""

    def spread(a):
        rows = tf.roll(a, 1, 0) + tf.roll(a, -1, 0)
        return rows + tf.roll(a, 1, 1) + tf.roll(a, -1, 1) - 4 * a

    v = 0.1 * tf.square(u)
    u = 1 - v
    for _ in tf.range(200):
        r = u * v * v
        u, v = (
            u + 0.16 * spread(u) - r + 0.035 * (1 - u),
            v + 0.08 * spread(v) + r - 0.095 * v,
        )
    return u


@program(normal(50, 50))
def beam_search(logits):
    sequences = tf.zeros([4, 20], tf.int32)
    scores = tf.constant([0.0, -1e9, -1e9, -1e9])
    last = tf.zeros([4], tf.int32)
    logs = tf.nn.log_softmax(logits)
    for t in tf.range(20):
        all_scores = tf.reshape(scores[:, None] + tf.gather(logs, last), [-1])
        scores, places = tf.math.top_k(all_scores, 4)
        sequences = tf.gather(sequences, places // 50)
        last = places % 50
        ends = tf.stack([tf.range(4), tf.repeat(t, 4)], 1)
        sequences = tf.tensor_scatter_nd_update(sequences, ends, last)
    return sequences, scores


@program(np.array([1, 2], np.int32))
def random_walk(seed):
    place = tf.zeros([2])
    for i in tf.range(1000):
        place += 0.1 * tf.random.stateless_normal([2], seed + i)
        if tf.reduce_sum(place * place) > 4.0:
            place *= 0.5
    return place

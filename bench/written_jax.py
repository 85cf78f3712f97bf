"""Loops as people write them in JAX, for `./dev bench written jax`.

Each is a function and its arguments.
"""

import functools

import jax
import numpy as np
from jax import lax, random
from jax import numpy as jnp

PROGRAMS = {}
rng = np.random.default_rng(1)


def normal(*shape):
    return rng.standard_normal(shape, np.float32)


def uniform(*shape):
    return rng.random(shape, np.float32)


def program(*arguments):
    return lambda function: PROGRAMS.setdefault(function.__name__, (function, arguments))


# --- inference -----------------------------------------------------------------------------------


@program(normal(500, 2))
def kalman_filter(observations):
    """A point in the plane with a velocity, of which places are seen."""
    F = jnp.eye(4) + 0.1 * jnp.eye(4, k=2)
    H = jnp.eye(2, 4)
    Q, R = 0.01 * jnp.eye(4), 0.1 * jnp.eye(2)

    def step(state, z):
        x, P = state
        x, P = F @ x, F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ jnp.linalg.inv(S)
        x = x + K @ (z - H @ x)
        P = (jnp.eye(4) - K @ H) @ P
        return (x, P), x

    return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), observations)


@program(np.uint32(3), normal(100))
def particle_filter(seed, observations):
    def step(particles, seen):
        key, z = seen
        move, pick = random.split(key)
        particles = 0.9 * particles + 0.5 * random.normal(move, particles.shape)
        weights = jax.nn.softmax(-0.5 * (z - particles) ** 2)
        start = random.uniform(pick)
        places = (jnp.arange(particles.size) + start) / particles.size
        chosen = jnp.searchsorted(jnp.cumsum(weights), places)
        return particles[jnp.minimum(chosen, particles.size - 1)], weights @ particles

    key = random.PRNGKey(seed)
    keys = random.split(key, observations.size)
    return lax.scan(step, random.normal(key, (500,)), (keys, observations))[1]


@program(normal(16), normal(16, 16), normal(400, 16))
def viterbi(start, transitions, emissions):
    def forward(scores, emission):
        paths = scores[:, None] + transitions
        return paths.max(0) + emission, paths.argmax(0)

    scores, back = lax.scan(forward, start, emissions)

    def backward(state, pointers):
        return pointers[state], state

    last = scores.argmax()
    return lax.scan(backward, last, back, reverse=True)[1], scores.max()


@program(normal(1000), np.array([-1, 0, 1], np.float32))
def mixture_em(x, means):
    def step(_, state):
        weights, means, variances = state
        logs = jnp.log(weights) - 0.5 * ((x[:, None] - means) ** 2 / variances + jnp.log(variances))
        shares = jax.nn.softmax(logs, axis=1)
        total = shares.sum(0)
        means = (shares * x[:, None]).sum(0) / total
        variances = (shares * (x[:, None] - means) ** 2).sum(0) / total
        return total / x.size, means, variances + 1e-3

    return lax.fori_loop(0, 50, step, (jnp.ones(3) / 3, means, jnp.ones(3)))


@program(normal(1000, 2), normal(8, 2))
def kmeans(points, centres):
    def step(centres, _):
        distances = ((points[:, None] - centres) ** 2).sum(-1)
        nearest = distances.argmin(1)
        sums = jax.ops.segment_sum(points, nearest, 8)
        counts = jax.ops.segment_sum(jnp.ones(len(points)), nearest, 8)
        return sums / jnp.maximum(counts, 1)[:, None], distances.min(1).sum()

    return lax.scan(step, centres, length=20)


@program(np.uint32(5), uniform(12, 12), np.int32(0))
def markov_chain(seed, weights, state):
    logs = jnp.log(weights)

    def step(state, key):
        state = random.categorical(key, logs[state]).astype(jnp.int32)
        return state, state

    return lax.scan(step, state, random.split(random.PRNGKey(seed), 1000))[1]


# --- simulation ----------------------------------------------------------------------------------


@program(np.uint32(2), np.sign(normal(64, 64)))
def ising(seed, spins):
    rows, columns = jnp.indices(spins.shape)
    colour = (rows + columns) % 2

    def sweep(spins, key):
        for parity in (0, 1):
            around = sum(jnp.roll(spins, shift, axis) for shift in (-1, 1) for axis in (0, 1))
            accept = random.uniform(key, spins.shape) < jnp.exp(-0.8 * spins * around)
            spins = jnp.where(accept & (colour == parity), -spins, spins)
        return spins, spins.mean()

    return lax.scan(sweep, spins, random.split(random.PRNGKey(seed), 100))


@program(normal(32, 3), 0.1 * normal(32, 3), uniform(32))
def n_body(x, v, mass):
    def acceleration(x):
        apart = x[None] - x[:, None]
        squares = (apart**2).sum(-1) + 0.01
        return (mass[None, :, None] * apart / squares[..., None] ** 1.5).sum(1)

    def step(_, state):
        x, v = state
        v = v + 0.005 * acceleration(x)
        x = x + 0.01 * v
        return x, v + 0.005 * acceleration(x)

    return lax.fori_loop(0, 200, step, (x, v))


@program(np.array([2, 0], np.float32), np.float32(20))
def stiff_van_der_pol(y, mu):
    """Implicit Euler steps, each solved by Newton's method."""

    def slope(y):
        return jnp.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

    def step(y, _):
        def residual(z):
            return z - y - 0.01 * slope(z)

        def is_far(state):
            z, count = state
            return (jnp.abs(residual(z)).max() > 1e-4) & (count < 10)

        def newton(state):
            z, count = state
            return z - jnp.linalg.solve(jax.jacfwd(residual)(z), residual(z)), count + 1

        z, _ = lax.while_loop(is_far, newton, (y, 0))
        return z, z

    return lax.scan(step, y, length=500)


@program(np.array([0.99, 0.01, 0], np.float32), np.float32(0.4), np.float32(0.1))
def sir_epidemic(state, beta, gamma):
    def step(state, _):
        s, i, r = state
        new, healed = 0.1 * beta * s * i, 0.1 * gamma * i
        state = jnp.array([s - new, i + new - healed, r + healed])
        return state, state

    return lax.scan(step, state, length=2000)


@program(np.arange(256) == 128)
def rule_110(cells):
    def step(cells, _):
        left, right = jnp.roll(cells, 1), jnp.roll(cells, -1)
        return (cells | right) & ~(left & cells & right), cells

    return lax.scan(step, cells, length=200)[1]


@program(0.1 * normal(64))
def springs(x):
    def step(state, _):
        x, v = state
        stretch = jnp.diff(x, prepend=0.0, append=0.0)
        v = v + 0.1 * (stretch[1:] - stretch[:-1])
        x = x + 0.1 * v
        return (x, v), 0.5 * (v @ v + stretch @ stretch)

    return lax.scan(step, (x, jnp.zeros_like(x)), length=1000)


@program(normal(64, 64))
def wave(u):
    def step(_, state):
        u, before = state
        p = jnp.pad(u, 1)
        laplacian = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u
        return 2 * u - before + 0.1 * laplacian, u

    return lax.fori_loop(0, 200, step, (u, u))[0]


@program(1 - 0.5 * uniform(64, 64), 0.25 * uniform(64, 64))
def gray_scott(u, v):
    def laplacian(x):
        return sum(jnp.roll(x, shift, axis) for shift in (-1, 1) for axis in (0, 1)) - 4 * x

    def step(state, _):
        u, v = state
        reaction = u * v**2
        u = u + 0.16 * laplacian(u) - reaction + 0.035 * (1 - u)
        v = v + 0.08 * laplacian(v) + reaction - 0.1 * v
        return (u, v), v.mean()

    return lax.scan(step, (u, v), length=100)


# --- dynamic programming -------------------------------------------------------------------------


@program(rng.integers(1, 30, 50).astype(np.int32), rng.integers(1, 100, 50).astype(np.int32))
def knapsack(weights, values):
    room = jnp.arange(501)

    def item(best, thing):
        weight, value = thing
        taken = jnp.where(room >= weight, best[jnp.maximum(room - weight, 0)] + value, 0)
        return jnp.maximum(best, taken), None

    return lax.scan(item, jnp.zeros(501, jnp.int32), (weights, values))[0][-1]


@program(rng.integers(0, 4, 150).astype(np.int32), rng.integers(0, 4, 150).astype(np.int32))
def longest_common_subsequence(a, b):
    def cell(i, j, table):
        same = table[i - 1, j - 1] + 1
        other = jnp.maximum(table[i - 1, j], table[i, j - 1])
        return table.at[i, j].set(jnp.where(a[i - 1] == b[j - 1], same, other))

    def row(i, table):
        return lax.fori_loop(1, len(b) + 1, functools.partial(cell, i), table)

    table = jnp.zeros((len(a) + 1, len(b) + 1), jnp.int32)
    return lax.fori_loop(1, len(a) + 1, row, table)[-1, -1]


@program(normal(100), normal(120))
def time_warping(a, b):
    def row(above, x):
        def cell(left, seen):
            up, corner, y = seen
            cost = jnp.abs(x - y) + jnp.minimum(jnp.minimum(up, corner), left)
            return cost, cost

        corners = jnp.concatenate([above[:1] * 0 + jnp.inf, above[:-1]])
        corners = jnp.where(jnp.all(jnp.isinf(above)), corners.at[0].set(0), corners)
        return lax.scan(cell, jnp.inf, (above, corners, b))[1], None

    return lax.scan(row, jnp.full(len(b), jnp.inf), a)[0][-1]


@program(rng.integers(5, 50, 25).astype(np.float32))
def matrix_chain(sizes):
    """The cheapest order of products, by the lengths of what is joined, as CYK parses."""
    n = len(sizes) - 1
    starts, splits = jnp.arange(n), jnp.arange(n)

    def longer(length, cost):
        def best(i):
            middle, end = jnp.minimum(i + splits + 1, n - 1), jnp.minimum(i + length, n - 1)
            product = sizes[i] * sizes[middle] * sizes[end + 1]
            total = cost[i, jnp.minimum(i + splits, n - 1)] + cost[middle, end] + product
            return jnp.where(splits < length, total, jnp.inf).min()

        return cost.at[starts, starts + length].set(jax.vmap(best)(starts), mode="drop")

    return lax.fori_loop(1, n, longer, jnp.zeros((n, n)))[0, n - 1]


@program(np.where(uniform(48, 48) < 0.1, uniform(48, 48), 1e3).astype(np.float32))
def floyd_warshall(distances):
    def through(k, d):
        return jnp.minimum(d, d[:, k][:, None] + d[k][None])

    return lax.fori_loop(0, len(distances), through, distances)


# --- decoding ------------------------------------------------------------------------------------


@program(normal(100, 32), *(normal(32, 32) / 6 for _ in range(4)), np.int32(1))
def greedy_attention(embedding, wq, wk, wv, wo, token):
    def step(state, i):
        token, keys, values = state
        x = embedding[token]
        keys = lax.dynamic_update_slice(keys, (x @ wk)[None], (i, 0))
        values = lax.dynamic_update_slice(values, (x @ wv)[None], (i, 0))
        scores = jnp.where(jnp.arange(64) <= i, keys @ (x @ wq) / jnp.sqrt(32.0), -jnp.inf)
        x = x + jax.nn.softmax(scores) @ values @ wo
        token = jnp.argmax(embedding @ x).astype(jnp.int32)
        return (token, keys, values), token

    empty = jnp.zeros((64, 32))
    return lax.scan(step, (token, empty, empty), jnp.arange(64))[1]


@program(normal(50, 50))
def beam_search(transitions):
    logs = jax.nn.log_softmax(transitions)

    def step(i, state):
        tokens, scores = state
        paths = scores[:, None] + logs[tokens[:, i]]
        scores, places = lax.top_k(paths.ravel(), 4)
        tokens = tokens[places // 50].at[:, i + 1].set(places % 50)
        return tokens, scores

    start = jnp.array([0, -jnp.inf, -jnp.inf, -jnp.inf])
    return lax.fori_loop(0, 31, step, (jnp.zeros((4, 32), jnp.int32), start))


@program(normal(48), normal(3, 48, 48) / 7, normal(3, 48, 48) / 7, normal(3, 48))
def gru_generate(h, W, U, b):
    def step(carry, _):
        h, x = carry
        update = jax.nn.sigmoid(W[0] @ x + U[0] @ h + b[0])
        reset = jax.nn.sigmoid(W[1] @ x + U[1] @ h + b[1])
        new = jnp.tanh(W[2] @ x + U[2] @ (reset * h) + b[2])
        h = update * h + (1 - update) * new
        return (h, jax.nn.one_hot(h.argmax(), 48)), h.max()

    return lax.scan(step, (h, jnp.zeros(48)), length=100)


# --- training ------------------------------------------------------------------------------------


@program(normal(200, 32, 4), normal(4, 16), normal(16, 1))
def train_mlp(batches, w1, w2):
    def loss(weights, x):
        w1, w2 = weights
        return jnp.mean((jnp.tanh(x @ w1) @ w2 - x.prod(1, keepdims=True)) ** 2)

    def step(weights, x):
        value, gradient = jax.value_and_grad(loss)(weights, x)
        return jax.tree.map(lambda w, g: w - 0.05 * g, weights, gradient), value

    return lax.scan(step, (w1, w2), batches)


@program(normal(200, 10), (uniform(200) < 0.5).astype(np.float32))
def adam_logistic(x, y):
    def loss(w):
        z = x @ w
        return jnp.mean(jnp.logaddexp(0, z) - y * z)

    def step(state, t):
        w, m, v = state
        g = jax.grad(loss)(w)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        rate = 0.01 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        return (w - rate * m / (jnp.sqrt(v) + 1e-8), m, v), None

    zero = jnp.zeros(10)
    return lax.scan(step, (zero, zero, zero), jnp.arange(1.0, 301.0))[0][0]


@program(normal(50, 5), normal(50), np.float32(0.05))
def hyper_gradient(x, y, rate):
    def loss(w):
        return jnp.mean((x @ w - y) ** 2)

    def trained(rate):
        w = lax.scan(lambda w, _: (w - rate * jax.grad(loss)(w), None), jnp.zeros(5), length=50)[0]
        return loss(w)

    return jax.value_and_grad(trained)(rate)


# --- optimisation and linear algebra -------------------------------------------------------------

MATRIX = normal(64, 64)
POSITIVE = MATRIX @ MATRIX.T / 64 + np.eye(64, dtype=np.float32)


@program(POSITIVE, normal(64))
def conjugate_gradient(A, b):
    def is_far(state):
        return (state[3] > 1e-8) & (state[4] < 100)

    def step(state):
        x, r, p, rr, count = state
        Ap = A @ p
        a = rr / (p @ Ap)
        x, r = x + a * p, r - a * Ap
        new = r @ r
        return x, r, r + new / rr * p, new, count + 1

    return lax.while_loop(is_far, step, (jnp.zeros_like(b), b, b, b @ b, 0))[0]


@program(normal(200, 8), (uniform(200) < 0.5).astype(np.float32))
def newton_logistic(x, y):
    def step(_, w):
        p = jax.nn.sigmoid(x @ w)
        hessian = (x.T * (p * (1 - p))) @ x + 1e-3 * jnp.eye(8)
        return w - jnp.linalg.solve(hessian, x.T @ (p - y))

    return lax.fori_loop(0, 20, step, jnp.zeros(8))


@program(POSITIVE, normal(64))
def power_iteration(A, v):
    def step(state):
        v, _, new, count = state
        w = A @ v
        return w / jnp.linalg.norm(w), new, v @ w, count + 1

    def moves(state):
        return (jnp.abs(state[1] - state[2]) > 1e-6) & (state[3] < 300)

    return lax.while_loop(moves, step, (v / jnp.linalg.norm(v), 0.0, 1.0, 0))[2]


@program(np.array([[-1.2, 1], [0, 0], [2, 2]], np.float32))
def rosenbrock_descent(points):
    def f(p):
        return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2

    def descend(p):
        return lax.fori_loop(0, 1000, lambda _, p: p - 5e-4 * jax.grad(f)(p), p)

    return jax.vmap(descend)(points)


@program(np.uint32(1), uniform(40, 2))
def anneal_tour(seed, towns):
    """Towns of a tour are swapped, worse tours taken at first."""

    def length(tour):
        return jnp.linalg.norm(towns[tour] - towns[jnp.roll(tour, 1)], axis=1).sum()

    def step(state, seen):
        tour, cost = state
        key, heat = seen
        places, chance = random.split(key)
        i, j = random.randint(places, (2,), 0, 40)
        other = tour.at[i].set(tour[j]).at[j].set(tour[i])
        new = length(other)
        take = random.uniform(chance) < jnp.exp((cost - new) / heat)
        return (jnp.where(take, other, tour), jnp.where(take, new, cost)), cost

    tour = jnp.arange(40)
    seen = random.split(random.PRNGKey(seed), 1000), jnp.geomspace(1, 0.01, 1000)
    return lax.scan(step, (tour, length(tour)), seen)[1]


@program(normal(200), 4 + uniform(200), normal(200), normal(200))
def tridiagonal_solve(lower, diagonal, upper, b):
    def forward(carry, row):
        c, d = carry
        low, mid, up, right = row
        scale = 1 / (mid - low * c)
        new = up * scale, (right - low * d) * scale
        return new, new

    rows = lower.at[0].set(0), diagonal, upper, b
    _, (c, d) = lax.scan(forward, (jnp.float32(0), jnp.float32(0)), rows)

    def backward(x, row):
        x = row[1] - row[0] * x
        return x, x

    return lax.scan(backward, jnp.float32(0), (c, d), reverse=True)[1]


@program(normal(8, 8))
def givens_qr(A):
    n = len(A)

    def rotate(j, i, R):
        a, b = R[j, j], R[i, j]
        r = jnp.sqrt(a * a + b * b)
        G = jnp.array([[a, b], [-b, a]]) / r
        rows = jnp.array([j, i])
        return R.at[rows].set(G @ R[rows])

    def column(j, R):
        return lax.fori_loop(j + 1, n, functools.partial(rotate, j), R)

    return lax.fori_loop(0, n - 1, column, A)


@program(np.float32(0.1) * normal(4, 4) + np.eye(4, dtype=np.float32), normal(4, 2))
def lqr(A, B):
    Q, R = jnp.eye(4), jnp.eye(2)

    def step(P, _):
        K = jnp.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        return Q + A.T @ P @ (A - B @ K), K

    return lax.scan(step, Q, length=100)


# --- sorting, roots and numbers ------------------------------------------------------------------


@program(normal(64))
def bubble_sort(x):
    def swap(j, x):
        a, b = x[j], x[j + 1]
        return x.at[j].set(jnp.minimum(a, b)).at[j + 1].set(jnp.maximum(a, b))

    def bubble(i, x):
        return lax.fori_loop(0, len(x) - 1 - i, swap, x)

    return lax.fori_loop(0, len(x) - 1, bubble, x)


@program(1 + 9 * uniform(256))
def bisect(targets):
    def root(target):
        def halve(ends):
            low, high = ends
            middle = (low + high) / 2
            below = middle**3 + middle < target
            return jnp.where(below, middle, low), jnp.where(below, high, middle)

        def is_wide(ends):
            return ends[1] - ends[0] > 1e-5

        return lax.while_loop(is_wide, halve, (jnp.float32(0), target))[0]

    return jax.vmap(root)(targets)


@program(np.int32(45))
def sieve(last):
    numbers = jnp.arange(2000)

    def strike(p, prime):
        multiples = (numbers % p == 0) & (numbers > p)
        return jnp.where(prime[p] & multiples, False, prime)

    return lax.fori_loop(2, last, strike, numbers > 1).sum()


@program(np.arange(1, 1001, dtype=np.int32))
def collatz(numbers):
    def steps(n):
        def step(state):
            n, count = state
            return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

        return lax.while_loop(lambda state: state[0] != 1, step, (n, 0))[1]

    return jax.vmap(steps)(numbers)


# --- signals, control and money ------------------------------------------------------------------


@program(uniform(1000, 16), normal(1000, 16))
def associative_recurrence(a, b):
    def join(left, right):
        return left[0] * right[0], left[1] * right[0] + right[1]

    return lax.associative_scan(join, (a, b))[1]


@program(normal(5000), np.array([0.2, 0.4, 0.2, -0.5, 0.3], np.float32))
def biquad(x, c):
    def step(state, x):
        y = c[0] * x + state[0]
        return jnp.array([c[1] * x - c[3] * y + state[1], c[2] * x - c[4] * y]), y

    return lax.scan(step, jnp.zeros(2), x)[1]


@program(normal(1000), normal(32))
def fir(x, taps):
    def sample(i, y):
        return y.at[i].set(lax.dynamic_slice(x, (i,), (32,)) @ taps)

    return lax.fori_loop(0, 969, sample, jnp.zeros(969))


@program(normal(256), normal(256))
def fft_by_loops(real, imaginary):
    """Stockham's, radix 2."""

    def stage(x, k):
        half = x.reshape(2, 128)
        angle = -2 * jnp.pi / 256 * k * (jnp.arange(128) // k)
        twiddle = jnp.cos(angle) + 1j * jnp.sin(angle)
        low, high = half[0] + half[1], (half[0] - half[1]) * twiddle
        i = jnp.arange(256)
        place = i // (2 * k) * k + i % k
        return jnp.where(i // k % 2 == 0, low[place], high[place]), None

    return lax.scan(stage, real + 1j * imaginary, 2 ** jnp.arange(8))[0]


@program(np.float32(1))
def pid(target):
    def step(state, t):
        x, v, total, before = state
        error = target * jnp.sign(jnp.sin(0.01 * t)) - x
        total = jnp.clip(total + 0.01 * error, -1, 1)
        force = jnp.clip(8 * error + 2 * total + 0.5 * (error - before) / 0.01, -10, 10)
        v = v + 0.01 * (force - 0.5 * v)
        return (x + 0.01 * v, v, total, error), x

    start = (jnp.float32(0),) * 4
    return lax.scan(step, start, jnp.arange(2000.0))[1]


@program(np.uint32(9), np.float32(100))
def black_scholes(seed, strike):
    def step(price, key):
        shock = 0.02 * random.normal(key, price.shape)
        return price * jnp.exp(-0.0001 + shock), None

    price, _ = lax.scan(step, jnp.full(1000, 100.0), random.split(random.PRNGKey(seed), 50))
    return jnp.maximum(price - strike, 0).mean()


# --- text ----------------------------------------------------------------------------------------


@program(rng.integers(97, 123, 4000).astype(np.uint8))
def byte_histogram(text):
    return lax.fori_loop(
        0, len(text), lambda i, counts: counts.at[text[i]].add(1), jnp.zeros(256, jnp.int32)
    )


@program(rng.integers(0, 2, 3000).astype(np.int32), np.array([0, 1, 0, 0, 1], np.int32))
def kmp_search(text, pattern):
    def fail(table, i):
        def shrink(k):
            return table[k - 1]

        k = lax.while_loop(lambda k: (k > 0) & (pattern[k] != pattern[i]), shrink, table[i - 1])
        return table.at[i].set(k + (pattern[k] == pattern[i])), None

    table, _ = lax.scan(fail, jnp.zeros(5, jnp.int32), jnp.arange(1, 5))

    def match(k, c):
        k = lax.while_loop(
            lambda k: (k > 0) & ((k == 5) | (pattern[jnp.minimum(k, 4)] != c)),
            lambda k: table[k - 1],
            k,
        )
        k = k + (pattern[k] == c)
        return k, k == 5

    return lax.scan(match, 0, text)[1].sum()


@program(rng.integers(0, 3, 2000).astype(np.int32))
def run_length(text):
    def step(state, c):
        last, at, letters, counts = state
        at = at + (c != last)
        return (c, at, letters.at[at].set(c), counts.at[at].add(1)), None

    empty = jnp.zeros(2000, jnp.int32)
    return lax.scan(step, (jnp.int32(-1), jnp.int32(-1), empty, empty), text)[0][1:]


# --- programs that found bugs since --------------------------------------------------------------


@program(normal(8))
def lbfgs(x):
    """Rosenbrock's valley in 8 dimensions, with the last 5 steps remembered."""

    def f(x):
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    slope = jax.grad(f)

    def step(state, _):
        x, steps, turns, g = state

        def back(q, pair):
            s, y = pair
            r = 1 / (jnp.dot(s, y) + 1e-10)
            a = r * jnp.dot(s, q)
            return q - a * y, (a, r)

        q, (a, r) = lax.scan(back, g, (steps, turns))
        scale = jnp.dot(steps[0], turns[0]) / (jnp.dot(turns[0], turns[0]) + 1e-10)
        q = jnp.where(scale > 0, scale, 1e-3) * q

        def forth(q, pair):
            s, y, a, r = pair
            return q + s * (a - r * jnp.dot(y, q)), None

        q, _ = lax.scan(forth, q, (steps[::-1], turns[::-1], a[::-1], r[::-1]))

        def is_too_far(c):
            return (f(x - c[0] * q) > f(x) - 1e-4 * c[0] * jnp.dot(q, g)) & (c[1] < 20)

        t, _ = lax.while_loop(is_too_far, lambda c: (c[0] * 0.5, c[1] + 1), (1.0, 0))
        new = x - t * q
        slope_there = slope(new)
        steps = jnp.concatenate([(new - x)[None], steps[:-1]])
        turns = jnp.concatenate([(slope_there - g)[None], turns[:-1]])
        return (new, steps, turns, slope_there), f(new)

    none = jnp.zeros((5, 8))
    return lax.scan(step, (x, none, none, slope(x)), length=100)[1]


@program(np.zeros((48, 48), np.int32))
def sand_pile(grains):
    grains = grains.at[24, 24].set(600)

    def topple(g):
        falls = (g >= 4).astype(jnp.int32)
        p = jnp.pad(falls, 1)
        return g - 4 * falls + p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]

    return lax.while_loop(lambda g: (g >= 4).any(), topple, grains)


@program(rng.integers(0, 26, (64, 12)).astype(np.int32), rng.integers(0, 26, 12).astype(np.int32))
def nearest_words(words, wanted):
    """Levenshtein's distances of many words to one."""

    def distance(word):
        def row(before, letter):
            def cell(left, seen):
                up, diagonal, own = seen
                best = jnp.minimum(jnp.minimum(left, up) + 1, diagonal + (own != letter))
                return best, best

            _, rest = lax.scan(cell, before[0] + 1, (before[1:], before[:-1], wanted))
            return jnp.concatenate([before[:1] + 1, rest]), None

        return lax.scan(row, jnp.arange(13), word)[0][-1]

    return jax.vmap(distance)(words)


@program(normal(64, 4) * np.float32(0.05))
def pole_balancing(states):
    def environment(state, action):
        x, v, angle, turn = state
        force = jnp.where(action > 0, 10.0, -10.0)
        c, s = jnp.cos(angle), jnp.sin(angle)
        push = (force + 0.05 * turn**2 * s) / 1.1
        swing = (9.8 * s - c * push) / (0.5 * (4 / 3 - 0.1 * c**2 / 1.1))
        new = jnp.stack(
            [
                x + 0.02 * v,
                v + 0.02 * (push - 0.05 * swing * c / 1.1),
                angle + 0.02 * turn,
                turn + 0.02 * swing,
            ]
        )
        is_over = (jnp.abs(new[0]) > 2.4) | (jnp.abs(new[2]) > 0.2)
        return jnp.where(is_over, jnp.zeros(4), new), is_over

    def step(states, _):
        actions = states @ jnp.array([0.1, 0.3, 1.0, 0.5])
        states, over = jax.vmap(environment)(states, actions)
        return states, over.sum()

    return lax.scan(step, states, length=500)


@program(np.arange(1, 65, dtype=np.uint32))
def xorshift(states):
    def step(s, _):
        s = s ^ (s << 13)
        s = s ^ (s >> 17)
        s = s ^ (s << 5)
        return s, s.sum()

    return lax.scan(step, states, length=2000)


@program(uniform(10, 10))
def held_karp(distances):
    """The shortest way through 10 places, by sets of those that are behind."""
    n = 10

    def of_set(places, best):
        def of_last(last, best):
            before = places & ~(1 << last)
            is_inside = (before >> jnp.arange(n)) & 1
            cost = jnp.where(is_inside, best[before] + distances[:, last], 1e9).min()
            holds = ((places >> last) & 1) & (before != 0) & (places & 1)
            return best.at[places, last].set(jnp.where(holds, cost, best[places, last]))

        return lax.fori_loop(1, n, of_last, best)

    best = jnp.full((1 << n, n), 1e9).at[1, 0].set(0.0)
    best = lax.fori_loop(1, 1 << n, of_set, best)
    return (best[-1] + distances[:, 0]).min()


@program(normal(300, 3), normal(3))
def levenberg_marquardt(x, weights):
    seen = jnp.tanh(x @ weights) + 0.1

    def residuals(p):
        return jnp.tanh(x @ p[:3]) + p[3] - seen

    def step(state, _):
        p, damping = state
        r, J = residuals(p), jax.jacfwd(residuals)(p)
        new = p - jnp.linalg.solve(J.T @ J + damping * jnp.eye(4), J.T @ r)
        is_better = (residuals(new) ** 2).sum() < (r**2).sum()
        p = jnp.where(is_better, new, p)
        return (p, jnp.where(is_better, damping * 0.5, damping * 2)), (r**2).sum()

    return lax.scan(step, (jnp.zeros(4), 0.1), length=50)


# --- batches of independent loops -----------------------------------------------------------------


@program(normal(10_000, 3))
def lorenz_batch(states):
    """10,000 trajectories by the method of Runge and Kutta."""

    def slope(s):
        x, y, z = s
        return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    def step(s, _):
        h = 0.01
        k1 = slope(s)
        k2 = slope(s + h / 2 * k1)
        k3 = slope(s + h / 2 * k2)
        k4 = slope(s + h * k3)
        return s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    return jax.vmap(lambda s: lax.scan(step, s, None, length=1000)[0])(states)


@program(uniform(10_000) * 9 + 0.1)
def adaptive_steps_batch(starts):
    """Each trajectory has steps of its own size."""

    def slope(y):
        return -y * y * jnp.sin(3 * y)

    def step(state):
        t, y, h = state
        h = jnp.minimum(h, 5.0 - t)
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h * (2 * k2 - k1))
        error = jnp.abs(h / 6 * (k1 - 2 * k2 + k3)) + 1e-9
        is_good = error < 1e-4
        t, y = jnp.where(is_good, t + h, t), jnp.where(is_good, y + h / 6 * (k1 + 4 * k2 + k3), y)
        return t, y, h * jnp.clip(0.9 * (1e-4 / error) ** (1 / 3), 0.2, 5.0)

    def solve(y):
        return lax.while_loop(lambda s: s[0] < 5.0, step, (0.0, y, 0.1))[1]

    return jax.vmap(solve)(starts)


@program(np.int32(3))
def gamma_samples(seed):
    return random.gamma(random.PRNGKey(seed), 2.5, (10_000,))


@program(np.arange(1, 10_001))
def collatz_batch(numbers):
    def step(state):
        n, steps = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

    return jax.vmap(lambda n: lax.while_loop(lambda s: s[0] > 1, step, (n, 0))[1])(numbers)


@program(normal(4096, 4, 4) * 0.3 + 2 * np.eye(4, dtype=np.float32), normal(4096, 4))
def descents(matrices, b):
    def descend(A, b):
        return lax.scan(lambda x, _: (x - 0.05 * (A @ x - b), None), b * 0, None, length=200)[0]

    return jax.vmap(descend)(matrices, b)


@program(normal(1000, 500))
def filters(signals):
    def step(s, x):
        s = 0.9 * s + x
        return s, jnp.tanh(s)

    return jax.vmap(lambda signal: lax.scan(step, 0.0, signal))(signals)


@program(rng.integers(0, 2, (4096, 50)))
def forward_algorithms(observations):
    T = jnp.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
    E = jnp.array([[0.5, 0.5], [0.1, 0.9], [0.8, 0.2]])

    def step(a, o):
        a = (a @ T) * E[:, o]
        return a / a.sum(), jnp.log(a.sum())

    def likelihood(seen):
        return lax.scan(step, jnp.ones(3) / 3, seen)[1].sum()

    return jax.vmap(likelihood)(observations)


@program(normal(4096, 2))
def pendulum_gradients(states):
    def swing(y):
        def step(y, _):
            return y + 0.01 * jnp.stack([y[1], -jnp.sin(y[0])]), None

        return lax.scan(step, y, None, length=100)[0].sum()

    return jax.vmap(jax.grad(swing))(states)


@program(
    (np.linspace(-2, 1, 200)[None] + 1j * np.linspace(-1, 1, 150)[:, None]).astype(np.complex64)
)
def mandelbrot(c):
    def step(_, state):
        z, n = state
        following = z * z + c
        is_inside = jnp.abs(following) < 2
        return jnp.where(is_inside, following, z), n + is_inside

    start = (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32))
    return lax.fori_loop(0, 100, step, start)[1]

"""Loops as people write them in PyTorch, for `./dev bench written torch`.

Each is a function and its arguments. A loop is torch's scan, or its while_loop.
"""

import numpy as np
import torch
from torch._higher_order_ops import scan, while_loop

PROGRAMS = {}
rng = np.random.default_rng(1)


def normal(*shape):
    return rng.standard_normal(shape, np.float32)


def uniform(*shape):
    return rng.random(shape, np.float32)


def program(*arguments):
    return lambda function: PROGRAMS.setdefault(function.__name__, (function, arguments))


def repeat(count, step, state):
    """state = step(state), `count` times."""
    zero = torch.zeros((), dtype=torch.int64)
    return while_loop(lambda i, s: i < count, lambda i, s: (i + 1, step(s)), (zero, state))[1]


# --- as the ten of ../shared/loops ---------------------------------------------------------------


@program(np.eye(3, dtype=np.float32), 0.01 * normal(500, 3))
def rotations(R, w):
    def step(R, v):
        zero = torch.zeros(())
        K = torch.stack([zero, -v[2], v[1], v[2], zero, -v[0], -v[1], v[0], zero]).view(3, 3)
        R = R @ (torch.eye(3) + K + 0.5 * K @ K)
        return R, R.diagonal().sum()

    return scan(step, R, w)


@program(normal(20), normal(200))
def many_leaves(p, xs):
    def step(c, x):
        c = tuple(torch.tanh(ck * 0.9 + p[k] * x) for k, ck in enumerate(c))
        return c, c[0] * c[-1]

    c, ys = scan(step, tuple(torch.full((), 0.1 * k) for k in range(20)), xs)
    return ys.sum() + sum(c)


@program(np.ones(3, np.float32))
def lorenz_rk4(x):
    def slope(x):
        a, b, c = x[0], x[1], x[2]
        return torch.stack([10 * (b - a), a * (28 - c) - b, a * b - 8 / 3 * c])

    def step(x, _):
        h = 0.01
        a = slope(x)
        b = slope(x + h / 2 * a)
        c = slope(x + h / 2 * b)
        d = slope(x + h * c)
        return x + h / 6 * (a + 2 * b + 2 * c + d), x.clone()

    return scan(step, x, torch.arange(500))


@program(normal(64), normal(64, 64), normal(200, 64))
def hmm_forward(a, T, e):
    T = torch.log_softmax(T, -1)

    def step(a, e):
        a = torch.logsumexp(a[:, None] + T, 0) + e
        return a, a.max()

    return scan(step, a, e)[0].logsumexp(0)


@program(np.float32(0.5), normal(500), uniform(500))
def metropolis(x, moves, chances):
    def step(state, seen):
        x, logp = state
        move, chance = seen
        y = x + move
        new = -0.5 * y * y - torch.cos(3 * y)
        take = torch.log(chance) < new - logp
        x = torch.where(take, y, x)
        return (x, torch.where(take, new, logp)), x.clone()

    return scan(step, (x, torch.full((), -1.0)), (moves, chances))[1]


@program((uniform(128, 128) < 0.3).astype(np.int32))
def life(g):
    shifts = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b]

    def step(g):
        n = sum(torch.roll(g, shift, (0, 1)) for shift in shifts)
        return ((n == 3) | ((n == 2) & (g == 1))).to(torch.int32)

    return repeat(200, step, g)


@program(rng.integers(0, 4, 40), rng.integers(0, 4, 40))
def edit_distance(a, b):
    def row(above, x):
        def cell(left, seen):
            up, corner, y = seen
            left = torch.minimum(torch.minimum(up + 1, left + 1), corner + (x != y))
            return left, left.clone()

        first = above[0] + 1
        _, cells = scan(cell, first, (above[1:], above[:-1], b))
        now = torch.cat([first[None], cells])
        return now, now[-1].clone()

    return scan(row, torch.arange(41), a)[1][-1]


@program(normal(500), normal(500))
def smith_waterman_like(a, b):
    def step(c, seen):
        x, y = seen
        c = torch.relu(c * 0.99 + x * y)
        return c, (c > 3).to(torch.int32)

    return scan(step, torch.zeros(()), (a, b))


@program(np.linspace(-2, 1, 96, dtype=np.float32), np.linspace(-1.5, 1.5, 96, dtype=np.float32))
def mandelbrot(x, y):
    c = torch.complex(x.expand(96, 96), y[:, None].expand(96, 96).contiguous())

    def step(i, z, n):
        z = torch.where(n == i, z * z + c, z)
        inside = z.real**2 + z.imag**2 < 4
        return i + 1, z, n + ((n == i) & inside)

    start = torch.zeros((), dtype=torch.int64), torch.zeros_like(c), torch.zeros(96, 96).long()
    return while_loop(lambda i, z, n: i < 100, step, start)[2]


@program(normal(256), np.float32(0.1))
def heat(u, k):
    def step(u):
        inner = u[1:-1] + k * (u[2:] - 2 * u[1:-1] + u[:-2])
        return torch.cat([u[:1], inner, u[-1:]])

    return repeat(2000, step, u)


# --- ten more ------------------------------------------------------------------------------------


@program(normal(200, 2))
def kalman_filter(observations):
    F = torch.eye(4) + 0.1 * torch.diag(torch.ones(2), 2)
    H = torch.eye(2, 4)

    def step(state, z):
        x, P = state
        x, P = F @ x, F @ P @ F.T + 0.01 * torch.eye(4)
        K = P @ H.T @ torch.linalg.inv(H @ P @ H.T + 0.1 * torch.eye(2))
        x = x + K @ (z - H @ x)
        return (x, (torch.eye(4) - K @ H) @ P), x.clone()

    (_, P), path = scan(step, (torch.zeros(4), torch.eye(4)), observations)
    return P, path


@program(normal(16), normal(16, 16), normal(200, 16))
def viterbi(scores, transitions, emissions):
    def forward(scores, emission):
        best, places = (scores[:, None] + transitions).max(0)
        return best + emission, places

    scores, back = scan(forward, scores, emissions)

    def backward(state, pointers):
        return pointers.index_select(0, state.view(1))[0], state.clone()

    return scan(backward, scores.argmax(), back, reverse=True)[1], scores.max()


@program(normal(48), normal(144, 48) / 7, normal(144, 48) / 7, normal(144), normal(100, 48))
def gru(h, W, U, b, xs):
    def step(h, x):
        update, reset, new = (W @ x + b).chunk(3)
        hidden_update, hidden_reset, hidden = (U @ h).chunk(3)
        update = torch.sigmoid(update + hidden_update)
        new = torch.tanh(new + torch.sigmoid(reset + hidden_reset) * hidden)
        h = update * h + (1 - update) * new
        return h, h.max()

    return scan(step, h, xs)


@program(normal(100, 32, 4), normal(4, 16), normal(16, 1))
def train_mlp(batches, w1, w2):
    def step(weights, x):
        w1, w2 = weights
        hidden = torch.tanh(x @ w1)
        error = hidden @ w2 - x.prod(1, keepdim=True)
        slope = 2 * error / 32
        g1 = x.T @ ((slope @ w2.T) * (1 - hidden**2))
        return (w1 - 0.05 * g1, w2 - 0.05 * hidden.T @ slope), error.square().mean()

    return scan(step, (w1, w2), batches)[1]


MATRIX = normal(64, 64)
POSITIVE = MATRIX @ MATRIX.T / 64 + np.eye(64, dtype=np.float32)


@program(POSITIVE, normal(64))
def power_iteration(A, v):
    def step(i, v, _, new):
        w = A @ (v / v.norm())
        return i + 1, w, new.clone(), w.norm()

    def moves(i, v, before, now):
        return (i < 300) & ((now - before).abs() > 1e-4)

    start = torch.zeros((), dtype=torch.int64), v, torch.zeros(()), torch.ones(())
    return while_loop(moves, step, start)[3]


@program(POSITIVE, normal(64))
def conjugate_gradient(A, b):
    def step(x, r, p, rr):
        Ap = A @ p
        a = rr / (p @ Ap)
        x, r = x + a * p, r - a * Ap
        new = r @ r
        return x, r, r + new / rr * p, new

    start = torch.zeros_like(b), b.clone(), b.clone(), b @ b
    return while_loop(lambda x, r, p, rr: rr > 1e-8, step, start)[0]


@program(np.arange(1, 1001))
def collatz(numbers):
    def step(n, counts):
        other = torch.where(n % 2 == 0, n // 2, 3 * n + 1)
        return torch.where(n == 1, n, other), counts + (n != 1)

    return while_loop(lambda n, counts: (n != 1).any(), step, (numbers, numbers * 0))[1]


@program(rng.integers(1, 30, 50), rng.integers(1, 100, 50))
def knapsack(weights, values):
    room = torch.arange(501)

    def item(best, thing):
        weight, value = thing
        taken = torch.where(room >= weight, best[(room - weight).clamp(0)] + value, 0)
        best = torch.maximum(best, taken)
        return best, best[-1].clone()

    return scan(item, torch.zeros(501, dtype=torch.int64), (weights, values))[1]


@program(normal(500), np.array([0.2, 0.4, 0.2, -0.5, 0.3], np.float32))
def biquad(x, c):
    def step(state, x):
        y = c[0] * x + state[0]
        return torch.stack([c[1] * x - c[3] * y + state[1], c[2] * x - c[4] * y]), y.clone()

    return scan(step, torch.zeros(2), x)


@program(normal(100, 32), *(normal(32, 32) / 6 for _ in range(4)), np.int64(1))
def greedy_attention(embedding, wq, wk, wv, wo, token):
    places = torch.arange(64)

    def step(state, i):
        token, keys, values = state
        x = embedding.index_select(0, token.view(1))[0]
        here = (places == i)[:, None]
        keys = torch.where(here, x @ wk, keys)
        values = torch.where(here, x @ wv, values)
        scores = (keys @ (x @ wq) / 32**0.5).masked_fill(places > i, -1e9)
        x = x + torch.softmax(scores, 0) @ values @ wo
        token = (embedding @ x).argmax()
        return (token, keys, values), token.clone()

    empty = torch.zeros(64, 32)
    return scan(step, (token, empty, empty.clone()), places)[1]

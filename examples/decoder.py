"""Decodes greedily with a cache: keys and values of each token are computed once.

python examples/decoder.py
"""

import numpy as np

import treadle

WORDS, WIDTH, LENGTH = 20, 16, 12
random = np.random.default_rng(7)


def weights(*shape):
    return random.normal(0, 1, shape).astype(np.float32)


EMBEDDING, POSITIONS = weights(WORDS, WIDTH), weights(LENGTH, WIDTH)
QUERY, KEY, VALUE, OUT = (weights(WIDTH, WIDTH) / 4 for _ in range(4))


def set_row(g, matrix, row, value):
    return g.op("TensorScatterUpdate", [matrix, row[None, None], value])


def write_decoder():
    g = treadle.Builder()
    prompt = g.placeholder("prompt", "int32", [None])
    given = g.op("Size", [prompt])
    embedding = g.constant(EMBEDDING)
    cache = np.zeros((LENGTH, WIDTH), np.float32)
    tokens = np.zeros(LENGTH, np.int32)
    with g.while_loop(i=0, token=prompt[0], tokens=tokens, keys=cache, values=cache) as loop:
        loop.condition(loop.i < LENGTH)
        loop.tokens = set_row(g, loop.tokens, loop.i, [loop.token])
        x = embedding[loop.token][None] + g.constant(POSITIONS)[loop.i][None]
        loop.keys = set_row(g, loop.keys, loop.i, x @ KEY)
        loop.values = set_row(g, loop.values, loop.i, x @ VALUE)
        # Attention to the cached positions.
        scores = g.op("MatMul", [x @ QUERY, loop.keys], transpose_b=True) / 4.0
        scores = g.op("SelectV2", [g.op("Range", [0, LENGTH, 1]) <= loop.i, scores, -1e9])
        x += g.op("Softmax", [scores]) @ loop.values @ OUT
        logits = g.op("MatMul", [x, embedding], transpose_b=True)
        best = g.op("ArgMax", [logits[0], 0], output_type="int32")
        loop.i += 1
        with g.cond(loop.i < given) as c:
            with c.true():
                c.token = prompt[loop.i]
            with c.false():
                c.token = best
        loop.token = c.token
    return g.build(), loop.tokens.name


graph, tokens = write_decoder()
session = treadle.Session(graph)
print(session.run(tokens, {"prompt": [3, 1, 4]}))

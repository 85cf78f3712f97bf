"""Programs of neural networks: forward passes, training steps, decoding."""

import numpy as np

from . import REQUIREMENTS, program

REQUIREMENTS |= {
    "flax": "flax==0.12.8",
    "haiku": "dm-haiku==0.0.17",
    "equinox": "equinox==0.13.8",
    "jraph": "jraph==0.0.6.dev0",
    "e3nn_jax": "e3nn-jax==0.21.0",
    "kfac_jax": "kfac-jax==0.0.8",
}

rng = np.random.default_rng(3)


def normal(*shape):
    return rng.standard_normal(shape, np.float32)


# --- flax -----------------------------------------------------------------------------------------


@program("flax.linen", "optax")
def flax_cnn_train():
    """A training step of a small convolutional net on images of digits."""
    import flax.linen as nn
    import jax
    import jax.numpy as jnp
    import optax
    from flax.training import train_state

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            for features in (8, 16):
                x = nn.relu(nn.Conv(features, (3, 3))(x))
                x = nn.avg_pool(x, (2, 2), (2, 2))
            x = nn.relu(nn.Dense(64)(x.reshape(len(x), -1)))
            return nn.Dense(10)(x)

    images = jnp.asarray(normal(16, 28, 28, 1))
    labels = jnp.asarray(rng.integers(0, 10, 16))
    net = Net()
    state = train_state.TrainState.create(
        apply_fn=net.apply,
        params=net.init(jax.random.PRNGKey(0), images)["params"],
        tx=optax.sgd(0.01, 0.9),
    )

    @jax.jit
    def step(state, images, labels):
        def loss(params):
            logits = state.apply_fn({"params": params}, images)
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

        value, gradient = jax.value_and_grad(loss)(state.params)
        return state.apply_gradients(grads=gradient), value

    def call():
        trained, value = step(state, images, labels)
        return trained.params, value

    return call


@program("flax.linen")
def flax_transformer_train():
    """Loss and gradients of a transformer's encoder of two layers."""
    import flax.linen as nn
    import jax
    import jax.numpy as jnp

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x, mask):
            h = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=4)(h, h, mask=mask)
            h = nn.LayerNorm()(x)
            return x + nn.Dense(64)(nn.gelu(nn.Dense(128)(h)))

    class Encoder(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(100, 64)(tokens) + nn.Embed(32, 64)(jnp.arange(tokens.shape[1]))
            mask = nn.make_causal_mask(tokens)
            for _ in range(2):
                x = Block()(x, mask)
            return nn.Dense(100)(x)

    tokens = jnp.asarray(rng.integers(0, 100, (8, 32)))
    net = Encoder()
    parameters = net.init(jax.random.PRNGKey(0), tokens)

    @jax.jit
    def step(parameters, tokens):
        def loss(p):
            logs = jax.nn.log_softmax(net.apply(p, tokens)[:, :-1])
            return -jnp.take_along_axis(logs, tokens[:, 1:, None], -1).mean()

        return jax.value_and_grad(loss)(parameters)

    return lambda: step(parameters, tokens)


@program("flax.linen")
def flax_greedy_decode():
    """Greedy decoding with a cache of keys and values, in a scan."""
    import flax.linen as nn
    import jax
    import jax.numpy as jnp

    class Decoder(nn.Module):
        @nn.compact
        def __call__(self, token):
            x = nn.Embed(50, 32)(token)
            for _ in range(2):
                h = nn.LayerNorm()(x)
                x = x + nn.MultiHeadDotProductAttention(num_heads=2, decode=True)(h)
                x = x + nn.Dense(32)(nn.relu(nn.Dense(64)(nn.LayerNorm()(x))))
            return nn.Dense(50)(x)

    net = Decoder()
    variables = net.init(jax.random.PRNGKey(1), jnp.zeros((4, 64), jnp.int32))
    parameters, cache = variables["params"], variables["cache"]

    @jax.jit
    def decode(parameters, cache, token):
        def step(carry, _):
            cache, token = carry
            logits, changed = net.apply(
                {"params": parameters, "cache": cache}, token, mutable=["cache"]
            )
            token = logits[:, -1:].argmax(-1).astype(jnp.int32)
            return (changed["cache"], token), logits[:, 0]

        return jax.lax.scan(step, (cache, token), length=64)[1][0]

    return lambda: decode(parameters, cache, jnp.ones((4, 1), jnp.int32))


@program("flax.linen")
def flax_lstm_train():
    import flax.linen as nn
    import jax
    import jax.numpy as jnp

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.RNN(nn.OptimizedLSTMCell(64))(x)
            return nn.Dense(4)(x[:, -1])

    x, y = jnp.asarray(normal(16, 50, 8)), jnp.asarray(normal(16, 4))
    net = Net()
    parameters = net.init(jax.random.PRNGKey(0), x)
    step = jax.jit(jax.value_and_grad(lambda p: ((net.apply(p, x) - y) ** 2).mean()))
    return lambda: step(parameters)


@program("flax.nnx", "optax")
def flax_nnx_autoencoder():
    """A training step of an autoencoder with dropout and batch normalization."""
    import jax
    import jax.numpy as jnp
    import optax
    from flax import nnx

    class Autoencoder(nnx.Module):
        def __init__(self, rngs):
            self.encode = nnx.Linear(64, 16, rngs=rngs)
            self.norm = nnx.BatchNorm(16, rngs=rngs)
            self.dropout = nnx.Dropout(0.1, rngs=rngs)
            self.decode = nnx.Linear(16, 64, rngs=rngs)

        def __call__(self, x):
            return self.decode(self.dropout(nnx.relu(self.norm(self.encode(x)))))

    x = jnp.asarray(normal(128, 64))

    @nnx.jit
    def step(model, optimizer, x):
        value, gradient = nnx.value_and_grad(lambda m: ((m(x) - x) ** 2).mean())(model)
        optimizer.update(model, gradient)
        return value

    model = Autoencoder(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    definition, start = nnx.split((model, optimizer))

    def call():
        model, optimizer = nnx.merge(definition, jax.tree.map(jnp.copy, start))
        return [step(model, optimizer, x) for _ in range(5)]

    return call


# --- haiku, equinox -------------------------------------------------------------------------------


@program("haiku")
def haiku_lstm():
    import haiku as hk
    import jax
    import jax.numpy as jnp

    def forward(x):
        core = hk.LSTM(64)
        outputs, _ = hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))
        return hk.BatchApply(hk.Linear(8))(outputs)

    net = hk.without_apply_rng(hk.transform(forward))
    x = jnp.asarray(normal(50, 16, 8))
    parameters = net.init(jax.random.PRNGKey(0), x)
    step = jax.jit(jax.value_and_grad(lambda p, x: (net.apply(p, x) ** 2).mean()))
    return lambda: step(parameters, x)


@program("haiku")
def haiku_resnet_block():
    """Convolutions with batch normalization and residuals, in training."""
    import haiku as hk
    import jax
    import jax.numpy as jnp

    def forward(x):
        for channels, stride in ((8, 1), (16, 2), (16, 1)):
            h = hk.Conv2D(channels, 3, stride, with_bias=False)(x)
            h = jax.nn.relu(hk.BatchNorm(True, True, 0.9)(h, is_training=True))
            h = hk.Conv2D(channels, 3, with_bias=False)(h)
            h = hk.BatchNorm(True, True, 0.9)(h, is_training=True)
            x = jax.nn.relu(h + hk.Conv2D(channels, 1, stride)(x))
        return hk.Linear(10)(x.mean((1, 2)))

    net = hk.without_apply_rng(hk.transform_with_state(forward))
    x = jnp.asarray(normal(8, 16, 16, 3))
    parameters, state = net.init(jax.random.PRNGKey(0), x)

    @jax.jit
    def step(parameters, state, x):
        def loss(p):
            y, changed = net.apply(p, state, x)
            return jax.nn.logsumexp(y, -1).mean(), changed

        return jax.value_and_grad(loss, has_aux=True)(parameters)

    return lambda: step(parameters, state, x)


@program("equinox")
def equinox_mlp_train():
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    net = eqx.nn.MLP(16, 4, 64, 3, key=jax.random.PRNGKey(0))
    x, y = jnp.asarray(normal(128, 16)), jnp.asarray(normal(128, 4))

    @eqx.filter_jit
    def step(net, x, y):
        def loss(net):
            return ((jax.vmap(net)(x) - y) ** 2).mean()

        value, gradient = eqx.filter_value_and_grad(loss)(net)
        changed = eqx.apply_updates(net, jax.tree.map(lambda g: -0.01 * g, gradient))
        return value, eqx.filter(changed, eqx.is_array)

    return lambda: step(net, x, y)


@program("equinox")
def equinox_gru():
    """A GRU over sequences of several batches, by scan and vmap."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    cell = eqx.nn.GRUCell(4, 32, key=jax.random.PRNGKey(0))
    head = eqx.nn.Linear(32, 1, key=jax.random.PRNGKey(1))
    x, y = jnp.asarray(normal(32, 40, 4)), jnp.asarray(normal(32))

    @eqx.filter_jit
    def step(nets, x, y):
        def loss(nets):
            cell, head = nets

            def one(sequence):
                h, _ = jax.lax.scan(lambda h, v: (cell(v, h), None), jnp.zeros(32), sequence)
                return head(h)[0]

            return ((jax.vmap(one)(x) - y) ** 2).mean()

        value, gradient = eqx.filter_value_and_grad(loss)(nets)
        return value, eqx.filter(gradient, eqx.is_array)

    return lambda: step((cell, head), x, y)


# --- graphs, equivariance, curvature --------------------------------------------------------------


@program("jraph", "haiku")
def jraph_graph_network():
    """Loss and gradients of a graph network on a batch of graphs."""
    import haiku as hk
    import jax
    import jax.numpy as jnp
    import jraph

    graphs = jraph.batch(
        [
            jraph.GraphsTuple(
                nodes=normal(20, 8),
                edges=normal(60, 4),
                senders=rng.integers(0, 20, 60),
                receivers=rng.integers(0, 20, 60),
                globals=np.zeros((1, 4), np.float32),
                n_node=np.array([20]),
                n_edge=np.array([60]),
            )
            for _ in range(16)
        ]
    )
    graphs = jax.tree.map(jnp.asarray, graphs)

    def forward(graphs):
        def update(features):
            return jraph.concatenated_args(lambda x: hk.nets.MLP([32, features])(x))

        for _ in range(2):
            graphs = jraph.GraphNetwork(
                update_node_fn=update(16), update_edge_fn=update(16), update_global_fn=update(8)
            )(graphs)
        return graphs.globals

    net = hk.without_apply_rng(hk.transform(forward))
    parameters = net.init(jax.random.PRNGKey(0), graphs)
    step = jax.jit(jax.value_and_grad(lambda p, g: (net.apply(p, g) ** 2).mean()))
    return lambda: step(parameters, graphs)


@program("jraph")
def jraph_graph_attention():
    import jax
    import jax.numpy as jnp
    import jraph

    nodes, edges = 200, 1200
    graph = jraph.GraphsTuple(
        nodes=jnp.asarray(normal(nodes, 16)),
        edges=None,
        senders=jnp.asarray(rng.integers(0, nodes, edges)),
        receivers=jnp.asarray(rng.integers(0, nodes, edges)),
        globals=None,
        n_node=jnp.array([nodes]),
        n_edge=jnp.array([edges]),
    )
    weights = jnp.asarray(normal(16, 16)) / 4
    attention = jnp.asarray(normal(32, 1)) / 4

    @jax.jit
    def forward(weights, attention, graph):
        layer = jraph.GAT(
            attention_query_fn=lambda n: n @ weights,
            attention_logit_fn=lambda s, r, e: jax.nn.leaky_relu(
                jnp.concatenate([s, r], 1) @ attention
            ),
            node_update_fn=jax.nn.elu,
        )
        return layer(layer(graph)).nodes

    return lambda: forward(weights, attention, graph)


@program("e3nn_jax")
def e3nn_message_passing():
    """Spherical harmonics, tensor products and a gate, with gradients by positions."""
    import e3nn_jax as e3nn
    import jax
    import jax.numpy as jnp

    positions = jnp.asarray(normal(30, 3))
    senders, receivers = (jnp.asarray(rng.integers(0, 30, 150)) for _ in range(2))
    features = e3nn.normal("8x0e + 4x1o", jax.random.PRNGKey(0), (30,))
    mix = jnp.asarray(normal(30))

    def energy(positions, features):
        edges = e3nn.IrrepsArray("1o", positions[receivers] - positions[senders] + 0.1)
        angles = e3nn.spherical_harmonics("0e + 1o + 2e", edges, normalize=True)
        messages = e3nn.tensor_product(features[senders], angles)
        summed = e3nn.scatter_sum(messages, dst=receivers, output_size=30)
        return (
            e3nn.norm_activation(summed, [jnp.tanh] * len(summed.irreps)).array.sum(1) * mix
        ).sum()

    step = jax.jit(jax.value_and_grad(energy))
    return lambda: step(positions, features)


@program("kfac_jax", tolerance=1e-2)
def kfac_step():
    """Steps of K-FAC on a small net."""
    import jax
    import jax.numpy as jnp
    import kfac_jax

    x, y = jnp.asarray(normal(64, 8)), jnp.asarray(normal(64, 2))
    parameters = [(jnp.asarray(normal(a, b)) / a**0.5, jnp.zeros(b)) for a, b in ((8, 16), (16, 2))]

    def loss(parameters, batch):
        h, y = batch
        (w, b), (v, c) = parameters
        h = jnp.tanh(kfac_dense(h, w, b))
        out = kfac_dense(h, v, c)
        kfac_jax.register_squared_error_loss(out, y)
        return ((out - y) ** 2).sum(-1).mean() + 0.5e-3 * sum((p**2).sum() for p in (w, v))

    def kfac_dense(h, w, b):
        return h @ w + b

    optimizer = kfac_jax.Optimizer(
        value_and_grad_func=jax.value_and_grad(loss),
        l2_reg=1e-3,
        value_func_has_aux=False,
        use_adaptive_learning_rate=True,
        use_adaptive_momentum=True,
        use_adaptive_damping=True,
        initial_damping=1.0,
        num_burnin_steps=0,
        multi_device=False,
    )

    def call():
        key = jax.random.PRNGKey(0)
        p = jax.tree.map(jnp.copy, parameters)
        state = optimizer.init(p, key, (x, y))
        for i in range(5):
            p, state, stats = optimizer.step(
                p, state, jax.random.fold_in(key, i), batch=(x, y), global_step_int=i
            )
        return stats["loss"]

    return call

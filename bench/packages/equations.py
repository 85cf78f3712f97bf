"""Programs that solve differential equations."""

import numpy as np

from . import REQUIREMENTS, program

REQUIREMENTS |= {
    "diffrax": "diffrax==0.7.2",
}

rng = np.random.default_rng(1)


# --- diffrax --------------------------------------------------------------------------------------


def lotka_volterra(t, y, args):
    import jax.numpy as jnp

    prey, predator = y
    return jnp.array([1.1 * prey - 0.4 * prey * predator, 0.1 * prey * predator - 0.4 * predator])


@program("diffrax")
def diffrax_tsit5():
    import diffrax
    import jax
    import jax.numpy as jnp

    @jax.jit
    def solve(y0):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lotka_volterra),
            diffrax.Tsit5(),
            t0=0,
            t1=50,
            dt0=0.1,
            y0=y0,
            saveat=diffrax.SaveAt(ts=jnp.linspace(0, 50, 200)),
            stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-5),
        ).ys

    return lambda: solve(jnp.array([10.0, 5.0]))


@program("diffrax", tolerance=1e-2)
def diffrax_tsit5_vmapped():
    import diffrax
    import jax
    import jax.numpy as jnp

    def solve(y0):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lotka_volterra),
            diffrax.Tsit5(),
            t0=0,
            t1=20,
            dt0=0.1,
            y0=y0,
            stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-4),
        ).ys

    solve_all = jax.jit(jax.vmap(solve))
    starts = jnp.asarray(rng.uniform(1, 10, (256, 2)), jnp.float32)
    return lambda: solve_all(starts)


@program("diffrax", x64=True)
def diffrax_kvaerno5_stiff():
    """Robertson's chemical reactions, by an implicit method."""
    import diffrax
    import jax
    import jax.numpy as jnp

    def robertson(t, y, k):
        slow, fast = k[0] * y[0] - k[2] * y[1] * y[2], k[1] * y[1] ** 2
        return jnp.array([-slow, slow - fast, fast])

    @jax.jit
    def solve(k):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(robertson),
            diffrax.Kvaerno5(),
            t0=0.0,
            t1=100.0,
            dt0=2e-4,
            y0=jnp.array([1.0, 0.0, 0.0]),
            args=k,
            saveat=diffrax.SaveAt(ts=jnp.array([0.1, 1.0, 10.0, 100.0])),
            stepsize_controller=diffrax.PIDController(rtol=1e-6, atol=1e-8),
        ).ys

    return lambda: solve(jnp.array([0.04, 3e7, 1e4]))


@program("diffrax")
def diffrax_sde():
    """Paths of an Ornstein-Uhlenbeck process."""
    import diffrax
    import jax
    import jax.numpy as jnp

    def path(key):
        noise = diffrax.VirtualBrownianTree(0.0, 2.0, tol=1e-3, shape=(), key=key)
        terms = diffrax.MultiTerm(
            diffrax.ODETerm(lambda t, y, args: -y),
            diffrax.ControlTerm(lambda t, y, args: 0.3, noise),
        )
        saveat = diffrax.SaveAt(ts=jnp.linspace(0, 2, 20))
        return diffrax.diffeqsolve(
            terms, diffrax.Euler(), t0=0.0, t1=2.0, dt0=0.01, y0=jnp.array(1.0), saveat=saveat
        ).ys

    paths = jax.jit(jax.vmap(path))
    keys = jax.random.split(jax.random.PRNGKey(0), 64)
    return lambda: paths(keys)


@program("diffrax", "equinox", "optax")
def diffrax_neural_ode():
    """Training steps of a neural ODE, by the adjoint of recursive checkpoints."""
    import diffrax
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import optax

    net = eqx.nn.MLP(2, 2, 32, 2, activation=jax.nn.softplus, key=jax.random.PRNGKey(1))
    ts = jnp.linspace(0, 3, 20)
    starts = jnp.asarray(rng.uniform(-1, 1, (16, 2)), jnp.float32)
    targets = jnp.stack([starts * jnp.cos(t) for t in ts], 1)
    optimizer = optax.adabelief(3e-3)

    def loss(net):
        def solve(y0):
            return diffrax.diffeqsolve(
                diffrax.ODETerm(lambda t, y, args: net(y)),
                diffrax.Tsit5(),
                t0=0.0,
                t1=3.0,
                dt0=0.15,
                y0=y0,
                saveat=diffrax.SaveAt(ts=ts),
                stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-6),
            ).ys

        return ((jax.vmap(solve)(starts) - targets) ** 2).mean()

    @eqx.filter_jit
    def train(net, state):
        value, gradient = eqx.filter_value_and_grad(loss)(net)
        updates, state = optimizer.update(gradient, state)
        return value, eqx.apply_updates(net, updates), state

    state = optimizer.init(eqx.filter(net, eqx.is_inexact_array))

    def call():
        value, trained, _ = train(net, state)
        return value, eqx.filter(trained, eqx.is_array)

    return call

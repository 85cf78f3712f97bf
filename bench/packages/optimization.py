"""Programs that minimize functions and solve equations."""

import numpy as np

from . import REQUIREMENTS, program

REQUIREMENTS |= {
    "jaxopt": "jaxopt==0.8.5",
    "optimistix": "optimistix==0.1.0",
    "lineax": "lineax==0.1.1",
    "evosax": "evosax==0.3.2",
    "optax": "optax==0.2.8",
}

rng = np.random.default_rng(2)


def normal(*shape):
    return rng.standard_normal(shape, np.float32)


# --- jaxopt ---------------------------------------------------------------------------------------


@program("jaxopt")
def jaxopt_lbfgs():
    """Multinomial logistic regression by L-BFGS."""
    import jax
    import jax.numpy as jnp
    import jaxopt

    x, y = jnp.asarray(normal(300, 10)), jnp.asarray(rng.integers(0, 3, 300))
    solver = jaxopt.LBFGS(jaxopt.objective.l2_multiclass_logreg, maxiter=30)
    run = jax.jit(lambda w: solver.run(w, l2reg=0.1, data=(x, y)))

    def call():
        found = run(jnp.zeros((10, 3)))
        return found.params, found.state.error < 0.05

    return call


@program("jaxopt")
def jaxopt_projected_gradient():
    """The dual of a support vector machine by block coordinate descent and by projections."""
    import jax
    import jax.numpy as jnp
    import jaxopt

    x = jnp.asarray(normal(100, 8))
    labels = jax.nn.one_hot(jnp.asarray(rng.integers(0, 3, 100)), 3)

    def objective(beta, lam):
        dual = x.T @ (labels - beta)
        return 0.5 / lam * (dual**2).sum() + ((1 - labels) * -beta).sum()

    def project(beta, _):
        return jax.vmap(jaxopt.projection.projection_simplex)(beta)

    solver = jaxopt.ProjectedGradient(objective, project, maxiter=200)

    @jax.jit
    def run(lam):
        return solver.run(jnp.full((100, 3), 1 / 3), lam=lam).params

    return lambda: run(10.0)


@program("jaxopt")
def jaxopt_lasso_path():
    import jax
    import jax.numpy as jnp
    import jaxopt

    x, y = jnp.asarray(normal(200, 30)), jnp.asarray(normal(200))
    solver = jaxopt.ProximalGradient(
        jaxopt.objective.least_squares, jaxopt.prox.prox_lasso, maxiter=200
    )

    @jax.jit
    @jax.vmap
    def run(weight):
        return solver.run(jnp.zeros(30), hyperparams_prox=weight, data=(x, y)).params

    return lambda: run(jnp.logspace(-2, 0, 8))


# --- optimistix, lineax ---------------------------------------------------------------------------


@program("optimistix")
def optimistix_levenberg_marquardt():
    import jax
    import jax.numpy as jnp
    import optimistix as optx

    t = jnp.linspace(0, 3, 200)
    seen = 2.0 * jnp.exp(-1.3 * t) * jnp.cos(4 * t) + 0.01 * jnp.asarray(normal(200))

    def residuals(p, args):
        return p[0] * jnp.exp(-p[1] * t) * jnp.cos(p[2] * t) - seen

    @jax.jit
    def fit(p):
        solver = optx.LevenbergMarquardt(rtol=1e-5, atol=1e-5)
        return optx.least_squares(residuals, solver, p).value

    return lambda: fit(jnp.array([1.0, 1.0, 3.8]))


@program("optimistix")
def optimistix_roots_vmapped():
    """Kepler's equation, for many eccentricities and mean anomalies."""
    import jax
    import jax.numpy as jnp
    import optimistix as optx

    def solve(mean, eccentricity):
        def f(anomaly, args):
            return anomaly - eccentricity * jnp.sin(anomaly) - mean

        return optx.root_find(f, optx.Newton(rtol=1e-6, atol=1e-6), mean).value

    solve_all = jax.jit(jax.vmap(solve))
    mean = jnp.asarray(rng.uniform(0.1, 3, 500), jnp.float32)
    eccentricity = jnp.asarray(rng.uniform(0, 0.6, 500), jnp.float32)
    return lambda: solve_all(mean, eccentricity)


@program("optimistix")
def optimistix_bfgs():
    import jax
    import jax.numpy as jnp
    import optimistix as optx

    def rosenbrock(x, args):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    @jax.jit
    def fit(x):
        return optx.minimise(
            rosenbrock, optx.BFGS(rtol=1e-6, atol=1e-6), x, max_steps=500, throw=False
        ).value

    return lambda: fit(jnp.zeros(8))


@program("lineax")
def lineax_solvers():
    """A batch of small systems by LU, and a large one by conjugate gradients and GMRES."""
    import jax
    import jax.numpy as jnp
    import lineax as lx

    small, rhs = jnp.asarray(normal(64, 6, 6)), jnp.asarray(normal(64, 6))
    factor = jnp.asarray(normal(200, 200)) / 20
    large, right = factor @ factor.T + jnp.eye(200), jnp.asarray(normal(200))

    @jax.jit
    def solve(small, rhs, large, right):
        batch = jax.vmap(lambda a, b: lx.linear_solve(lx.MatrixLinearOperator(a), b).value)
        definite = lx.MatrixLinearOperator(large, lx.positive_semidefinite_tag)
        general = lx.MatrixLinearOperator(large)
        return (
            batch(small, rhs),
            lx.linear_solve(definite, right, lx.CG(rtol=1e-5, atol=1e-5)).value,
            lx.linear_solve(general, right, lx.GMRES(rtol=1e-4, atol=1e-4)).value,
        )

    return lambda: solve(small, rhs, large, right)


# --- evosax, optax --------------------------------------------------------------------------------


def evolution_call(algorithm, generations):
    import jax
    import jax.numpy as jnp

    parameters = algorithm.default_params

    @jax.jit
    def run(key):
        def step(state, key):
            ask, tell = jax.random.split(key)
            population, state = algorithm.ask(ask, state, parameters)
            fitness = (population**2 - 10 * jnp.cos(2 * jnp.pi * population) + 10).sum(-1)
            state, _ = algorithm.tell(tell, population, fitness, state, parameters)
            return state, fitness.min()

        state = algorithm.init(key, jnp.ones(10), parameters)
        return jax.lax.scan(step, state, jax.random.split(key, generations))[1]

    return lambda: run(jax.random.PRNGKey(0))


def evolution_start(population):
    import jax.numpy as jnp

    return {"population_size": population, "solution": jnp.zeros(10)}


@program("evosax.algorithms", tolerance=0.5)
def evosax_cma_es():
    from evosax.algorithms import CMA_ES

    return evolution_call(CMA_ES(**evolution_start(32)), 50)


@program("evosax.algorithms", tolerance=1e-2)
def evosax_open_es():
    from evosax.algorithms import Open_ES

    return evolution_call(Open_ES(**evolution_start(128)), 100)


@program("optax")
def optax_adam_fit():
    """A small net trained by optax, a schedule and clipping, in a scan over batches."""
    import jax
    import jax.numpy as jnp
    import optax

    x, y = jnp.asarray(normal(20, 64, 16)), jnp.asarray(normal(20, 64, 4))
    parameters = {"w": jnp.asarray(normal(16, 32)) / 4, "v": jnp.asarray(normal(32, 4)) / 6}
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 5, 20)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule))

    def loss(p, x, y):
        return optax.huber_loss(jax.nn.gelu(x @ p["w"]) @ p["v"], y).mean()

    @jax.jit
    def train(parameters):
        def step(carry, batch):
            parameters, state = carry
            value, gradient = jax.value_and_grad(loss)(parameters, *batch)
            updates, state = optimizer.update(gradient, state, parameters)
            return (optax.apply_updates(parameters, updates), state), value

        carry = parameters, optimizer.init(parameters)
        return jax.lax.scan(step, carry, (x, y))

    return lambda: train(parameters)


@program("optax")
def optax_step():
    """One jitted step of AdamW, as training loops written in Python call it."""
    import jax
    import jax.numpy as jnp
    import optax

    parameters = [jnp.asarray(normal(64, 64)) / 8 for _ in range(6)]
    x = jnp.asarray(normal(32, 64))
    optimizer = optax.adamw(1e-3)

    def loss(parameters):
        h = x
        for w in parameters:
            h = jnp.tanh(h @ w)
        return (h**2).mean()

    @jax.jit
    def step(parameters, state):
        value, gradient = jax.value_and_grad(loss)(parameters)
        updates, state = optimizer.update(gradient, state, parameters)
        return optax.apply_updates(parameters, updates), state, value

    def call():
        p, state = parameters, optimizer.init(parameters)
        for _ in range(10):
            p, state, value = step(p, state)
        return p, value

    return call

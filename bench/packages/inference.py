"""Programs of statistical inference: samplers, variational inference, filters."""

import numpy as np

from . import REQUIREMENTS, program

REQUIREMENTS |= {
    "numpyro": "numpyro==0.22.0",
    "blackjax": "blackjax==1.7.1",
    "dynamax": "dynamax==1.0.3",
    "tinygp": "tinygp==0.3.1",
    "gpjax": "gpjax==1.0.0",
    "distrax": "distrax==0.1.9",
    "flowjax": "flowjax==19.1.2",
    "jaxns": "jaxns==3.0.0",
}

rng = np.random.default_rng(0)


# --- numpyro --------------------------------------------------------------------------------------


def mcmc_call(kernel, *data, warmup=50, samples=50):
    """A call that runs a chain, jitted as a whole, and gives the means of what it samples."""
    import jax
    from numpyro.infer import MCMC

    @jax.jit
    def run(key, *data):
        mcmc = MCMC(kernel, num_warmup=warmup, num_samples=samples, progress_bar=False)
        mcmc.run(key, *data)
        return {name: values.mean(0) for name, values in mcmc.get_samples().items()}

    return lambda: run(jax.random.PRNGKey(0), *data)


@program("numpyro.infer", tolerance=1.0)
def numpyro_eight_schools():
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import NUTS
    from numpyro.infer.reparam import LocScaleReparam

    effects = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    errors = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

    def model(effects, errors):
        mean = numpyro.sample("mean", dist.Normal(0, 5))
        spread = numpyro.sample("spread", dist.HalfCauchy(5))
        with (
            numpyro.plate("schools", 8),
            numpyro.handlers.reparam(config={"effect": LocScaleReparam(0)}),
        ):
            effect = numpyro.sample("effect", dist.Normal(mean, spread))
            numpyro.sample("seen", dist.Normal(effect, errors), obs=effects)

    return mcmc_call(NUTS(model), effects, errors)


@program("numpyro.infer", tolerance=0.3)
def numpyro_logistic_regression():
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import NUTS

    x = jnp.asarray(rng.standard_normal((500, 6)), jnp.float32)
    y = jnp.asarray(rng.random(500) < 1 / (1 + np.exp(-np.asarray(x).sum(1))), jnp.int32)

    def model(x, y):
        weights = numpyro.sample("weights", dist.Normal(jnp.zeros(6), 1).to_event(1))
        bias = numpyro.sample("bias", dist.Normal(0, 1))
        numpyro.sample("y", dist.Bernoulli(logits=x @ weights + bias), obs=y)

    return mcmc_call(NUTS(model), x, y)


@program("numpyro.infer", tolerance=0.1)
def numpyro_hidden_markov():
    """A hidden Markov model whose states are enumerated in a scan."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import NUTS

    y = jnp.asarray(np.where(np.arange(100) // 10 % 2, 2.0, -1.0) + rng.normal(size=100))

    def model(y):
        rows = numpyro.sample(
            "rows", dist.Dirichlet(jnp.array([[4.0, 1.0], [1.0, 4.0]])).to_event(1)
        )
        means = numpyro.sample("means", dist.Normal(jnp.array([-1.0, 1.0]), 1).to_event(1))

        def step(alpha, seen):
            scores = jax.nn.logsumexp(alpha[:, None] + jnp.log(rows), axis=0)
            return scores + dist.Normal(means, 1).log_prob(seen), None

        alpha, _ = jax.lax.scan(step, dist.Normal(means, 1).log_prob(y[0]), y[1:])
        numpyro.factor("likelihood", jax.nn.logsumexp(alpha))

    return mcmc_call(NUTS(model), y)


@program("numpyro.infer", tolerance=0.3)
def numpyro_stochastic_volatility():
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import NUTS

    returns = jnp.asarray(0.02 * rng.standard_t(8, 300), jnp.float32)

    def model(returns):
        size = numpyro.sample("size", dist.Exponential(50.0))
        walk = numpyro.sample("walk", dist.GaussianRandomWalk(scale=size, num_steps=len(returns)))
        freedom = numpyro.sample("freedom", dist.Exponential(0.1))
        numpyro.sample("r", dist.StudentT(freedom, loc=0.0, scale=jnp.exp(walk)), obs=returns)

    call = mcmc_call(NUTS(model, max_tree_depth=6), returns, warmup=20, samples=10)
    return lambda: {"walk": call()["walk"].mean()}


@program("numpyro.infer", "numpyro.infer.autoguide", tolerance=1e-2)
def numpyro_svi():
    """Variational inference of a regression with an automatic guide."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal
    from numpyro.optim import Adam

    x = jnp.asarray(rng.standard_normal((200, 4)), jnp.float32)
    y = x @ jnp.array([1.0, -2.0, 0.5, 0.0]) + 0.1

    def model(x, y):
        weights = numpyro.sample("weights", dist.Normal(jnp.zeros(4), 1).to_event(1))
        noise = numpyro.sample("noise", dist.HalfNormal(1))
        numpyro.sample("y", dist.Normal(x @ weights, noise), obs=y)

    svi = SVI(model, AutoNormal(model), Adam(0.02), Trace_ELBO())

    @jax.jit
    def run(key, x, y):
        result = svi.run(key, 500, x, y, progress_bar=False)
        return result.params, result.losses[-100:].mean()

    return lambda: run(jax.random.PRNGKey(1), x, y)


@program("numpyro.infer", tolerance=0.2)
def numpyro_gaussian_process():
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import NUTS

    x = jnp.linspace(-1, 1, 30)
    y = jnp.sin(4 * x) + 0.1 * jnp.asarray(rng.standard_normal(30), jnp.float32)

    def model(x, y):
        amplitude = numpyro.sample("amplitude", dist.LogNormal(0.0, 1.0))
        length = numpyro.sample("length", dist.LogNormal(-1.0, 0.5))
        noise = numpyro.sample("noise", dist.LogNormal(-2.0, 0.5))
        apart = (x[:, None] - x) / length
        covariance = amplitude * jnp.exp(-0.5 * apart**2) + (noise + 1e-5) * jnp.eye(30)
        numpyro.sample("y", dist.MultivariateNormal(jnp.zeros(30), covariance), obs=y)

    return mcmc_call(NUTS(model), x, y)


@program("numpyro.infer")
def numpyro_predictive():
    """Draws from the posterior predictive distribution of a hierarchical model."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import Predictive

    groups = jnp.asarray(rng.integers(0, 10, 300))

    def model(groups):
        centre = numpyro.sample("centre", dist.Normal(0, 1))
        with numpyro.plate("groups", 10):
            level = numpyro.sample("level", dist.Normal(centre, 0.3))
        with numpyro.plate("rows", len(groups)):
            numpyro.sample("y", dist.Poisson(jnp.exp(level[groups])))

    draw = jax.jit(Predictive(model, num_samples=100))
    return lambda: draw(jax.random.PRNGKey(2), groups)


# --- blackjax -------------------------------------------------------------------------------------


def banana(x):
    return -0.5 * (x[0] ** 2 + 10 * (x[1] - x[0] ** 2) ** 2 + (x[2:] ** 2).sum())


def chain_call(kernel, state, steps):
    import jax

    @jax.jit
    def run(key, state):
        def step(state, key):
            state, _ = kernel.step(key, state)
            return state, state.position

        return jax.lax.scan(step, state, jax.random.split(key, steps))[1].mean(0)

    return lambda: run(jax.random.PRNGKey(3), state)


@program("blackjax", tolerance=0.5)
def blackjax_hmc():
    import blackjax
    import jax.numpy as jnp

    kernel = blackjax.hmc(banana, 0.1, jnp.ones(4), num_integration_steps=20)
    return chain_call(kernel, kernel.init(jnp.ones(4)), 500)


@program("blackjax", tolerance=0.5)
def blackjax_nuts():
    import blackjax
    import jax.numpy as jnp

    kernel = blackjax.nuts(banana, 0.2, jnp.ones(4))
    return chain_call(kernel, kernel.init(jnp.ones(4)), 500)


@program("blackjax", tolerance=0.5)
def blackjax_window_adaptation():
    import blackjax
    import jax
    import jax.numpy as jnp

    adaptation = blackjax.window_adaptation(blackjax.nuts, banana)

    @jax.jit
    def call():
        (state, parameters), _ = adaptation.run(jax.random.PRNGKey(4), jnp.ones(4), num_steps=300)
        return parameters["inverse_mass_matrix"], state.logdensity > -100

    return call


@program("blackjax", "blackjax.smc.resampling", tolerance=0.3)
def blackjax_tempered_smc():
    """Sequential Monte Carlo on a mixture of two normal distributions."""
    import blackjax
    import blackjax.smc.resampling as resampling
    import jax
    import jax.numpy as jnp
    from blackjax.smc import extend_params

    def prior(x):
        return -0.5 * (x**2).sum() / 25

    def likelihood(x):
        return jnp.logaddexp(-2 * ((x - 3) ** 2).sum(), -2 * ((x + 3) ** 2).sum())

    smc = blackjax.adaptive_tempered_smc(
        prior,
        likelihood,
        blackjax.hmc.build_kernel(),
        blackjax.hmc.init,
        extend_params(
            {"step_size": 0.2, "inverse_mass_matrix": jnp.eye(2), "num_integration_steps": 10}
        ),
        resampling.systematic,
        0.5,
        num_mcmc_steps=2,
    )
    particles = jax.random.normal(jax.random.PRNGKey(5), (500, 2)) * 5

    @jax.jit
    def call():
        def step(state, key):
            state, _ = smc.step(key, state)
            return state, None

        keys = jax.random.split(jax.random.PRNGKey(6), 8)
        state, _ = jax.lax.scan(step, smc.init(particles), keys)
        return jnp.abs(state.particles).mean(0)

    return call


@program("blackjax", tolerance=1e-2)
def blackjax_sgld():
    """Stochastic gradient Langevin dynamics with batches of the data."""
    import blackjax
    import jax
    import jax.numpy as jnp

    x = jnp.asarray(rng.standard_normal((1000, 8)), jnp.float32)
    y = x @ jnp.arange(8.0)
    gradients = blackjax.sgmcmc.gradients.grad_estimator(
        lambda w: -0.5 * (w**2).sum(),
        lambda w, row: -0.5 * (row[0] @ w - row[1]) ** 2,
        1000,
    )
    sgld = blackjax.sgld(gradients)

    @jax.jit
    def call():
        def step(w, key):
            pick, move = jax.random.split(key)
            rows = jax.random.choice(pick, 1000, (50,))
            w = sgld.step(move, w, (x[rows], y[rows]), 1e-5)
            return w, None

        return jax.lax.scan(step, jnp.zeros(8), jax.random.split(jax.random.PRNGKey(7), 500))[0]

    return call


# --- dynamax --------------------------------------------------------------------------------------


@program("dynamax.hidden_markov_model", tolerance=1e-2)
def dynamax_hmm_em():
    import jax
    import jax.numpy as jnp
    from dynamax.hidden_markov_model import GaussianHMM

    hmm = GaussianHMM(num_states=3, emission_dim=2)
    parameters, properties = hmm.initialize(jax.random.PRNGKey(0))
    levels = np.repeat(rng.normal(size=(10, 2)) * 3, 50, 0)
    emissions = jnp.asarray(levels + rng.normal(size=levels.shape), jnp.float32)

    def call():
        return hmm.fit_em(parameters, properties, emissions, num_iters=10, verbose=False)[1]

    return call


@program("dynamax.linear_gaussian_ssm")
def dynamax_kalman_smoother():
    import jax
    import jax.numpy as jnp
    from dynamax.linear_gaussian_ssm import LinearGaussianSSM

    lgssm = LinearGaussianSSM(state_dim=4, emission_dim=2)
    parameters, _ = lgssm.initialize(
        jax.random.PRNGKey(0),
        dynamics_weights=jnp.eye(4) * 0.95 + 0.1 * jnp.eye(4, k=2),
        emission_weights=jnp.eye(2, 4),
    )
    emissions = jnp.asarray(rng.normal(size=(300, 2)).cumsum(0), jnp.float32)
    smooth = jax.jit(lambda y: lgssm.smoother(parameters, y))

    def call():
        posterior = smooth(emissions)
        return posterior.marginal_loglik, posterior.smoothed_means

    return call


@program("dynamax.hidden_markov_model")
def dynamax_viterbi():
    import jax
    import jax.numpy as jnp
    from dynamax.hidden_markov_model import CategoricalHMM

    hmm = CategoricalHMM(num_states=8, emission_dim=1, num_classes=10)
    parameters, _ = hmm.initialize(jax.random.PRNGKey(1))
    emissions = jnp.asarray(rng.integers(0, 10, (500, 1)))

    @jax.jit
    def decode(y):
        return hmm.most_likely_states(parameters, y), hmm.smoother(parameters, y).smoothed_probs

    return lambda: decode(emissions)


# --- Gaussian processes ---------------------------------------------------------------------------


@program("tinygp", "jaxopt")
def tinygp_fit():
    """Fits the parameters of a kernel by gradient steps."""
    import jax
    import jax.numpy as jnp
    from tinygp import GaussianProcess, kernels

    x = jnp.sort(jnp.asarray(rng.uniform(0, 10, 60), jnp.float32))
    y = jnp.sin(x) + 0.1 * jnp.asarray(rng.normal(size=60), jnp.float32)

    def loss(theta):
        kernel = jnp.exp(theta["amplitude"]) * kernels.Matern32(jnp.exp(theta["scale"]))
        return -GaussianProcess(kernel, x, diag=jnp.exp(theta["noise"])).log_probability(y)

    @jax.jit
    def fit(theta):
        def step(theta, _):
            value, gradient = jax.value_and_grad(loss)(theta)
            return jax.tree.map(lambda t, g: t - 0.005 * g, theta, gradient), value

        return jax.lax.scan(step, theta, length=50)

    theta = {name: jnp.float32(value) for name, value in
             [("amplitude", 0), ("scale", 0), ("noise", -2)]}  # fmt: skip
    return lambda: fit(theta)


@program("gpjax", "optax", tolerance=1e-2, x64=True)
def gpjax_fit():
    import gpjax
    import jax
    import jax.numpy as jnp
    import optax

    x = jnp.sort(jnp.asarray(rng.uniform(-3, 3, (60, 1))), 0)
    data = gpjax.Dataset(X=x, y=jnp.sin(2 * x) + 0.1 * jnp.asarray(rng.normal(size=(60, 1))))
    prior = gpjax.gps.Prior(mean_function=gpjax.mean_functions.Zero(), kernel=gpjax.kernels.RBF())
    posterior = prior * gpjax.likelihoods.Gaussian(num_datapoints=60)

    def call():
        return gpjax.fit(
            model=posterior,
            objective=lambda p, d: -gpjax.objectives.conjugate_mll(p, d),
            train_data=data,
            optim=optax.adam(0.05),
            num_iters=50,
            key=jax.random.PRNGKey(0),
            verbose=False,
        )[1]

    return call


# --- distrax, flowjax, jaxns ----------------------------------------------------------------------


@program("distrax", "haiku")
def distrax_flow():
    """A normalizing flow of affine couplings: densities and their gradients."""
    import distrax
    import jax
    import jax.numpy as jnp

    def init(key):
        a, b = jax.random.split(key)
        return [
            (
                0.1 * jax.random.normal(k, (2, 32)),
                jnp.zeros(32),
                0.1 * jax.random.normal(k, (32, 4)),
            )
            for k in (*jax.random.split(a, 2), *jax.random.split(b, 2))
        ]

    def flow(layers):
        bijectors = []
        for i, (w, b, v) in enumerate(layers):
            bijectors.append(
                distrax.MaskedCoupling(
                    mask=jnp.arange(2) % 2 == i % 2,
                    bijector=lambda p: distrax.ScalarAffine(p[..., :2], log_scale=p[..., 2:]),
                    conditioner=lambda x, w=w, b=b, v=v: jnp.tanh(x @ w + b) @ v,
                )
            )
        base = distrax.MultivariateNormalDiag(jnp.zeros(2), jnp.ones(2))
        return distrax.Transformed(base, distrax.Block(distrax.Chain(bijectors), 0))

    @jax.jit
    def step(layers, x):
        return jax.value_and_grad(lambda p: -flow(p).log_prob(x).mean())(layers)

    layers = init(jax.random.PRNGKey(0))
    x = jnp.asarray(rng.normal(size=(512, 2)), jnp.float32)
    return lambda: step(layers, x)


@program("distrax")
def distrax_hmm():
    import distrax
    import jax
    import jax.numpy as jnp

    @jax.jit
    def smooth(y, means):
        hmm = distrax.HMM(
            trans_dist=distrax.Categorical(logits=jnp.eye(5) * 3),
            init_dist=distrax.Categorical(logits=jnp.zeros(5)),
            obs_dist=distrax.Normal(means, 1.0),
        )
        return hmm.forward_backward(y)

    y = jnp.asarray(rng.normal(size=300), jnp.float32)
    return lambda: smooth(y, jnp.arange(5.0) - 2)


@program("flowjax.flows", "flowjax.distributions", "equinox")
def flowjax_spline_flow():
    """Densities, gradients and samples of a coupling flow with rational quadratic splines."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    from flowjax.bijections import RationalQuadraticSpline
    from flowjax.distributions import Normal
    from flowjax.flows import coupling_flow

    flow = coupling_flow(
        jax.random.PRNGKey(0),
        base_dist=Normal(jnp.zeros(3)),
        transformer=RationalQuadraticSpline(knots=8, interval=4),
        flow_layers=4,
        nn_width=32,
    )
    x = jnp.asarray(rng.normal(size=(256, 3)), jnp.float32)

    @eqx.filter_jit
    def step(flow, x):
        value, gradient = eqx.filter_value_and_grad(lambda f: -f.log_prob(x).mean())(flow)
        return value, eqx.filter(gradient, eqx.is_array), flow.sample(jax.random.PRNGKey(1), (100,))

    return lambda: step(flow, x)


@program("jaxns", "tensorflow_probability.substrates.jax", tolerance=0.2, x64=True)
def jaxns_nested_sampling():
    """The evidence of a linear model by nested sampling."""
    import jax
    import jax.numpy as jnp
    import tensorflow_probability.substrates.jax as tfp
    from jaxns.core import NestedSampler
    from jaxns.model import Model
    from jaxns.priors import Prior

    x = jnp.linspace(0, 1, 8)
    y = 0.3 + 1.2 * x + 0.1 * jnp.asarray(rng.normal(size=8))

    def prior_model(x, y):
        normal = tfp.distributions.Normal
        intercept = Prior(normal(loc=0.0, scale=1.0), name="intercept").realise()
        slope = Prior(normal(loc=0.0, scale=2.0), name="slope").realise()
        return normal(loc=intercept + slope * x, scale=0.1).log_prob(y).sum()

    sampler = NestedSampler(
        model=Model(prior_model=prior_model), root_allocation_degree=50, max_samples=1000
    )

    def call():
        state = sampler.run(key=jax.random.PRNGKey(0), args=(x, y))
        return state.to_result().log_Z_mean

    return call

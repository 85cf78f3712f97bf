"""Programs of reinforcement learning: environments, games and search."""

import numpy as np

from . import REQUIREMENTS, program

REQUIREMENTS |= {
    "gymnax": "gymnax==1.0.1",
    "jumanji": "jumanji==1.1.2",
    "pgx": "pgx==2.6.0",
    "mctx": "mctx==0.0.71",
}

rng = np.random.default_rng(4)


# --- gymnax ---------------------------------------------------------------------------------------


def rollout_call(name, steps, lanes):
    """A call that steps copies of an environment with random actions."""
    import gymnax
    import jax

    environment, parameters = gymnax.make(name)
    space = environment.action_space(parameters)

    def rollout(key):
        start, run = jax.random.split(key)
        _, state = environment.reset(start, parameters)

        def step(state, key):
            act, move = jax.random.split(key)
            observation, state, reward, done, _, _ = environment.step(
                move, state, space.sample(act), parameters
            )
            return state, (observation.mean(), reward, done)

        return jax.lax.scan(step, state, jax.random.split(run, steps))[1]

    run = jax.jit(jax.vmap(rollout))
    keys = jax.random.split(jax.random.PRNGKey(0), lanes)
    return lambda: run(keys)


@program("gymnax")
def gymnax_cartpole():
    return rollout_call("CartPole-v1", 200, 64)


@program("gymnax", tolerance=0.1)
def gymnax_pendulum():
    return rollout_call("Pendulum-v1", 200, 64)


@program("gymnax")
def gymnax_breakout():
    return rollout_call("Breakout-MinAtar", 100, 16)


@program("gymnax")
def gymnax_asterix():
    return rollout_call("Asterix-MinAtar", 100, 16)


# --- jumanji --------------------------------------------------------------------------------------


def jumanji_call(name, steps, lanes, act):
    import jax
    import jumanji

    environment = jumanji.make(name)

    def rollout(key):
        start, run = jax.random.split(key)
        state, timestep = environment.reset(start)

        def step(carry, key):
            state, timestep = carry
            state, timestep = environment.step(state, act(key, timestep.observation))
            return (state, timestep), timestep.reward

        return jax.lax.scan(step, (state, timestep), jax.random.split(run, steps))[1]

    run = jax.jit(jax.vmap(rollout))
    keys = jax.random.split(jax.random.PRNGKey(1), lanes)
    return lambda: run(keys)


def allowed_action(key, observation):
    import jax
    import jax.numpy as jnp

    return jax.random.categorical(key, jnp.where(observation.action_mask, 0.0, -1e9))


@program("jumanji")
def jumanji_snake():
    return jumanji_call("Snake-v1", 50, 16, allowed_action)


@program("jumanji")
def jumanji_2048():
    return jumanji_call("Game2048-v1", 50, 16, allowed_action)


@program("jumanji")
def jumanji_tsp():
    return jumanji_call("TSP-v1", 20, 64, allowed_action)


# --- pgx ------------------------------------------------------------------------------------------


def pgx_call(name, steps, lanes):
    """A call that plays random legal moves in games side by side."""
    import jax
    import jax.numpy as jnp
    import pgx

    environment = pgx.make(name)
    init, step = jax.vmap(environment.init), jax.vmap(environment.step)

    @jax.jit
    def play(key):
        start, run = jax.random.split(key)

        def turn(state, key):
            logits = jnp.where(state.legal_action_mask, 0.0, -1e9)
            state = step(state, jax.random.categorical(key, logits))
            return state, (state.rewards, state.terminated)

        state = init(jax.random.split(start, lanes))
        state, seen = jax.lax.scan(turn, state, jax.random.split(run, steps))
        return seen, state.observation.sum()

    return lambda: play(jax.random.PRNGKey(2))


@program("pgx")
def pgx_tic_tac_toe():
    return pgx_call("tic_tac_toe", 9, 256)


@program("pgx")
def pgx_connect_four():
    return pgx_call("connect_four", 30, 64)


@program("pgx")
def pgx_othello():
    return pgx_call("othello", 20, 32)


@program("pgx")
def pgx_go_9x9():
    return pgx_call("go_9x9", 10, 8)


@program("pgx")
def pgx_chess():
    return pgx_call("chess", 4, 4)


# --- mctx -----------------------------------------------------------------------------------------


def search_call(policy, simulations=16, lanes=16):
    """A call that searches a small chain of states by a learned-like model."""
    import jax
    import jax.numpy as jnp
    import mctx

    w = jnp.asarray(rng.standard_normal((16, 16)), jnp.float32) / 4
    v = jnp.asarray(rng.standard_normal((16, 8)), jnp.float32) / 4

    def recurrent(parameters, key, action, embedding):
        w, v = parameters
        embedding = jnp.tanh(embedding @ w + jax.nn.one_hot(action, 16))
        return (
            mctx.RecurrentFnOutput(
                reward=embedding[:, 0],
                discount=jnp.full(len(embedding), 0.99),
                prior_logits=embedding @ v,
                value=embedding.mean(1),
            ),
            embedding,
        )

    @jax.jit
    def search(parameters, key, embedding):
        root = mctx.RootFnOutput(
            prior_logits=embedding @ parameters[1], value=embedding.mean(1), embedding=embedding
        )
        found = policy(parameters, key, root, recurrent, num_simulations=simulations)
        return found.action, found.action_weights

    embedding = jnp.asarray(rng.standard_normal((lanes, 16)), jnp.float32)
    return lambda: search((w, v), jax.random.PRNGKey(0), embedding)


@program("mctx")
def mctx_muzero():
    import mctx

    return search_call(mctx.muzero_policy)


@program("mctx")
def mctx_gumbel_muzero():
    import mctx

    return search_call(mctx.gumbel_muzero_policy)

"""Writes orbits.jax, a program of JAX that orbits.cpp calls: python orbits.py, with JAX."""

import jax
import jax.numpy as jnp
from jax import export, lax

STEP, STEPS = 0.01, 628


def orbits(place, velocity):
    """Returns the positions of planets after each quarter of a turn at distance 1, and their
    energies."""

    def pull(place):
        return -place / (place**2).sum(axis=1, keepdims=True) ** 1.5

    def step(_, state):
        place, velocity = state
        velocity += STEP * pull(place)
        return place + STEP * velocity, velocity

    def quarter(state, _):
        state = lax.fori_loop(0, STEPS // 4, step, state)
        return state, state[0]

    (place, velocity), places = lax.scan(quarter, (place, velocity), length=4)
    energy = (velocity**2).sum(axis=1) / 2 - 1 / jnp.sqrt((place**2).sum(axis=1))
    return {"places": places, "energy": energy}


# Omit source locations, so that the file is reproducible.
jax.config.update("jax_traceback_in_locations_limit", 0)
(planets,) = export.symbolic_shape("planets")
planet = jax.ShapeDtypeStruct((planets, 2), jnp.float32)
program = export.export(jax.jit(orbits), platforms=["cpu"])(planet, planet)
with open("orbits.jax", "wb") as file:
    file.write(program.serialize())

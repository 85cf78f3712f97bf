"""Writes pendulum.mlir, a simulator that is written in JAX, to the current folder."""

import jax
import jax.numpy as jnp
from jax import export, lax

GRAVITY, LENGTH, SECONDS = 9.81, 1.0, 0.01


def simulate(angle, speed, steps):
    """The angle and its speed after `steps` steps of SECONDS each."""

    def step(_, state):
        angle, speed = state
        speed -= SECONDS * GRAVITY / LENGTH * jnp.sin(angle)
        return angle + SECONDS * speed, speed

    angle, speed = lax.fori_loop(0, steps, step, (angle, speed))
    return {"angle": angle, "speed": speed}


# Omit source locations, so that the file is reproducible.
jax.config.update("jax_traceback_in_locations_limit", 0)
arguments = jnp.float32(0), jnp.float32(0), jnp.int32(0)
program = export.export(jax.jit(simulate), platforms=["cpu"])(*arguments)
with open("pendulum.mlir", "w") as file:
    file.write(program.mlir_module())

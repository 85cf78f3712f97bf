"""Writes net, a SavedModel of Keras on JAX that waves.cpp calls: python waves.py.

This needs Keras, JAX and TensorFlow, which writes SavedModels.
"""

import os

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np

# The same as in waves.cpp.
SHAPES = [np.sin, lambda t: np.sign(np.sin(t)), lambda t: t / np.pi % 2 - 1]


def waves(random, count, length=64):
    """Waves of any frequency and phase, with some noise, and which shape each has."""
    frequency = random.uniform(0.2, 0.6, (count, 1))
    t = frequency * np.arange(length) + random.uniform(0, 6, (count, 1))
    shape = random.integers(len(SHAPES), size=count)
    wave = np.choose(shape[:, None], [f(t) for f in SHAPES])
    return (wave + random.normal(0, 0.05, wave.shape))[..., None].astype(np.float32), shape


# Omit source locations, so that the file is reproducible.
jax.config.update("jax_traceback_in_locations_limit", 0)
keras.utils.set_random_seed(1)
layers = [keras.layers.GRU(8), keras.layers.Dense(3, activation="softmax")]
net = keras.Sequential([keras.Input((None, 1), name="waves"), *layers])
net.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
random = np.random.default_rng(1)
net.fit(*waves(random, 8192), batch_size=64, epochs=5, verbose=2)
print(net.evaluate(*waves(random, 1024), verbose=0))
net.export("net")

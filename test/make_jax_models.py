"""Writes the SavedModels in test/models that hold programs of JAX; PYTHON has JAX and TensorFlow.

    PYTHON test/make_jax_models.py FOLDER

jax2tf: functions whose programs are for one shape, for any, for several platforms, for another one,
and with a loop. keras: a net of Keras on JAX, with a batch of any size; keras.npz has an answer.
step.jax: a function with unused arguments, for several platforms; other.jax: one for another of
them.
"""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"

import jax
import jax.numpy as jnp
import keras
import numpy as np
import tensorflow as tf
from jax import export
from jax.experimental import jax2tf


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def converted(function, *specs, **options):
    called = jax2tf.convert(function, with_gradient=False, **options)
    return tf.function(called, autograph=False, input_signature=specs)


def cumulated(x):
    def step(total, row):
        total = total + row
        return total, jnp.tanh(total)

    return jax.lax.scan(step, jnp.zeros(x.shape[1:]), x)


class Jax(tf.Module):
    def __init__(self):
        super().__init__()
        self.weights = tf.Variable([[1.0, -1.0], [2.0, 0.5]])
        layer = jax2tf.convert(lambda w, x: jax.nn.relu(x @ w), with_gradient=False)
        self.layer = tf.function(
            lambda x: layer(self.weights, x), autograph=False, input_signature=[spec(1, 2)]
        )
        self.fixed = converted(lambda x: jnp.sin(x) * 2 + x.sum(), spec(3))
        self.sizes = converted(
            lambda x, y: (x @ y, x.shape[0]),
            spec(None, 2),
            spec(2, None),
            polymorphic_shapes=["b, 2", "2, c"],
        )
        self.even = converted(
            lambda x: x.reshape(-1, 2).sum(1), spec(None), polymorphic_shapes=["2*n"]
        )
        self.platforms = converted(
            lambda x: jax.lax.platform_dependent(
                x, cpu=lambda x: x + 1, cuda=lambda x: x + 2, default=lambda x: x + 3
            ),
            spec(2),
            native_serialization_platforms=["tpu", "cuda", "cpu"],
        )
        self.others = converted(jnp.sin, spec(2), native_serialization_platforms=["cuda"])
        self.loop = converted(cumulated, spec(None, 2), polymorphic_shapes=["n, 2"])


def write_jax2tf(folder):
    model = Jax()
    for name in ("layer", "fixed", "sizes", "even", "platforms", "others", "loop"):
        getattr(model, name).get_concrete_function()
    tf.saved_model.save(model, str(folder / "jax2tf"))
    (folder / "jax2tf" / "fingerprint.pb").unlink()


def write_keras(folder):
    keras.utils.set_random_seed(1)
    layers = [keras.layers.GRU(3), keras.layers.Dense(2, activation="softmax")]
    model = keras.Sequential([keras.Input((None, 2)), *layers])
    model.export(str(folder / "keras"), verbose=False)
    (folder / "keras" / "fingerprint.pb").unlink()
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(3, 4, 2)
    np.savez(folder / "keras.npz", **{"in/0": x, "out/0": np.asarray(model(x))})


def write_exports(folder):
    def step(state, unused, x, *, rate):
        total = state["total"] + rate * x
        return {"total": total, "count": state["count"] + 1}, (x.sum(),)

    wide = jax.ShapeDtypeStruct((1, 2), jnp.float32)
    state = {"total": wide, "count": jax.ShapeDtypeStruct((), jnp.int32)}
    unused = {"key": jax.eval_shape(lambda: jax.random.key(0)), "sizes": (wide, jnp.int8(1))}
    exporter = export.export(jax.jit(step), platforms=["tpu", "cpu", "cuda"])
    exported = exporter(state, unused, wide, rate=jnp.float32(1))
    (folder / "step.jax").write_bytes(exported.serialize())
    other = export.export(jax.jit(jnp.sin), platforms=["cuda"])(jnp.float32(1))
    (folder / "other.jax").write_bytes(other.serialize())


if __name__ == "__main__":
    # Programs hold the names of the files that they come from: without folders.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    write_jax2tf(Path(sys.argv[1]))
    write_keras(Path(sys.argv[1]))
    write_exports(Path(sys.argv[1]))

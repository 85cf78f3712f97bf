"""A plug-in of pytest: JAX's tests take the device for a CPU."""

import jax._src.test_util

jax._src.test_util.device_under_test = lambda: "cpu"

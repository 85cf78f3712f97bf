"""A plug-in of pytest: JAX's tests take the device for a CPU, and get as many as they ask for."""

import os

import jax._src.test_util

jax._src.test_util.device_under_test = lambda: "cpu"
request_cpus = jax._src.test_util.request_cpu_devices


def request_devices(count):
    os.environ["TREADLE_NUM_DEVICES"] = str(count)
    request_cpus(count)


jax._src.test_util.request_cpu_devices = request_devices

"""Programs that use JAX packages as their documentation shows, for `./dev bench packages`.

A program is a function that prepares its data and returns a call: a function without arguments that
computes the same values each time. The values are compared between platforms.
"""

import dataclasses
import typing

# The requirement that provides a top-level module.
REQUIREMENTS = {}

FIELDS = ("inference", "equations", "physics", "optimization", "networks", "games")


@dataclasses.dataclass(frozen=True)
class Program:
    """A program, the modules that are imported before the clock starts, and its tolerance.

    The tolerance is relative to the largest magnitude of an array. Programs whose rounding errors
    grow, such as samplers, return statistics and have a larger one. `x64` enables JAX's 64-bit
    types, for packages that ask for them.
    """

    function: typing.Callable
    modules: tuple[str, ...]
    tolerance: float
    x64: bool


PROGRAMS = {}


def program(*modules, tolerance=1e-3, x64=False):
    """Registers a program under the name of its function."""

    def register(function):
        PROGRAMS[function.__name__] = Program(function, modules, tolerance, x64)
        return function

    return register

"""Imports the native module so that it uses the libraries that it was built with.

TensorFlow exports symbols of another version of protobuf to the global scope, which would otherwise
take precedence over the native module's own libraries.
"""

import os
import sys

from . import (
    _processor as _processor,
)  # an ImportError if the processor can't run the native module

_flags = sys.getdlopenflags()
sys.setdlopenflags(os.RTLD_NOW | os.RTLD_DEEPBIND)
try:
    from . import _native as _native
finally:
    sys.setdlopenflags(_flags)

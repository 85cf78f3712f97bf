"""Imports the native module so that it finds the libraries that it was built with.

TensorFlow puts symbols of another version of protobuf into the global scope, where the native
module's own libraries would come second.
"""

import os
import sys

from . import _processor as _processor  # an error where the native module can't run

_flags = sys.getdlopenflags()
sys.setdlopenflags(os.RTLD_NOW | os.RTLD_DEEPBIND)
try:
    from . import _native as _native
finally:
    sys.setdlopenflags(_flags)

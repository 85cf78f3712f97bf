"""Writes the pages of the site, from which Sphinx makes it with conf.py.

    PYTHONPATH=scripts:build/release/python python -m docs build/release OUT

The build needs the command, the package and treadle-reference.
"""

import pathlib
import sys

import treadle

from . import site

site.write(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), treadle)

"""Writes the pages from which Sphinx builds the site with conf.py.

    PYTHONPATH=scripts:build/release/python python -m docs build/release OUT

The build needs the command, the package and treadle-reference.
"""

import pathlib
import sys

import treadle

from . import site

site.write(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), treadle)

"""What all tests share: they compile what they test, and leave no files of code behind."""

import os

os.environ.setdefault("TREADLE_CACHE_DIR", "")

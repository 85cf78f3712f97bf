"""The lit suite: the .mlir files in the tests/ folders beside the sources."""

import os
import shutil

import lit.formats

config.name = "treadle"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.join(config.treadle_source_root, "treadle")
config.test_exec_root = os.path.join(config.treadle_build_root, "test", "lit")
config.excludes = ["Inputs"]
config.environment["PATH"] = os.pathsep.join(
    [
        os.path.join(config.treadle_build_root, "bin"),
        config.llvm_tools_dir,
        config.environment["PATH"],
    ]
)

for tool in ("FileCheck", "not", "treadle-opt"):
    if not shutil.which(tool, path=config.environment["PATH"]):
        lit_config.fatal(f"found no {tool} on {config.environment['PATH']}: build it first")

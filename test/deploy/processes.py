"""What the system says of processes."""

import os
import pathlib


def seconds(process):
    """Of processor time that a process took so far."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

"""Process groups of gloo whose links have a latency and a bandwidth: a backend "delayed".

An exchange begins when gloo has brought all ranks together, and when the one before has ended. A
thread sleeps until it would have ended on such a link, so that waiting takes no processor.
"""

import queue
import threading
import time

import torch
import torch.distributed as dist
from treadle.steps import Exchange, Link

# Gloo's name of each method, what it is, and where its input is among the arguments.
METHODS = {
    "allreduce": ("all_reduce", 0),
    "allreduce_coalesced": ("all_reduce", 0),
    "allgather": ("all_gather", 1),
    "_allgather_base": ("all_gather", 1),
    "all_gather_single": ("all_gather", 1),
    "all_gather_single_coalesced": ("all_gather", 1),
    "allgather_into_tensor_coalesced": ("all_gather", 1),
    "reduce_scatter": ("reduce_scatter", 1),
    "_reduce_scatter_base": ("reduce_scatter", 1),
    "reduce_scatter_single": ("reduce_scatter", 1),
    "reduce_scatter_single_coalesced": ("reduce_scatter", 1),
    "reduce_scatter_tensor_coalesced": ("reduce_scatter", 1),
    "broadcast": ("broadcast", 0),
    "all_to_all_single": ("all_to_all", 1),
    "alltoall_base": ("all_to_all", 1),
    "send": ("send", 0),
    "recv": ("receive", 0),
    "barrier": None,
    "gather": None,
    "scatter": None,
    "reduce": None,
}


class LinkThread:
    """Ends exchanges one after the other. All groups of a process share it."""

    def __init__(self):
        self.link = Link(0, 1e18)
        self.jobs = queue.SimpleQueue()
        self.free = 0.0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            work, exchange, results, future = self.jobs.get()
            work.wait()
            if exchange:
                self.free = max(time.perf_counter(), self.free) + self.link.seconds(exchange)
                time.sleep(max(0, self.free - time.perf_counter()))
            future.set_result(results)


LINK = LinkThread()


class DelayedGroup(dist.ProcessGroup):
    def __init__(self, store, rank, size, timeout):
        super().__init__(rank, size)
        self.ranks = size
        self.inner = dist.ProcessGroupGloo(store, rank, size, timeout)

    def size(self):
        return self.ranks

    def getBackendName(self):
        return "delayed"

    @property
    def group_name(self):
        return dist.distributed_c10d._world.pg_names[self]

    def begin(self, method, what, *arguments):
        inner = getattr(self.inner, method, None) or getattr(self.inner, NEWER[method])
        work = inner(*arguments)
        exchange = None
        if what:
            size = sum(t.nbytes for t in flat(arguments[what[1]]))
            exchange = Exchange(what[0], "", self.ranks, size)
        future = torch.futures.Future()
        results = flat(arguments[0]) if arguments else []
        LINK.jobs.put((work, exchange, results, future))
        return torch._C._distributed_c10d._create_work_from_future(future)


# New names of functions in later releases of PyTorch.
NEWER = {
    "allgather_into_tensor_coalesced": "all_gather_single_coalesced",
    "reduce_scatter_tensor_coalesced": "reduce_scatter_single_coalesced",
}


def flat(tensors):
    if isinstance(tensors, torch.Tensor):
        return [tensors]
    if isinstance(tensors, (list, tuple)):
        return [t for part in tensors for t in flat(part)]
    return []


def _delayed(method, what):
    def run(self, *arguments, opts=None):
        return self.begin(method, what, *arguments, *([opts] if opts else []))

    return run


for method, what in METHODS.items():
    setattr(DelayedGroup, method, _delayed(method, what))

dist.Backend.register_backend("delayed", DelayedGroup, devices=["cpu"])

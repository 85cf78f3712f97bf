"""Jobs come from a queue, and a slow service answers several at a time.

python examples/pipeline.py
"""

import threading

import treadle

JOBS, AT_ONCE = 12, 4
meeting = threading.Barrier(AT_ONCE, timeout=60)


def ask_service(job):
    """Answers once AT_ONCE jobs have arrived; sequential jobs would wait forever."""
    meeting.wait()
    return job * job


treadle.register_op("AskService", ask_service, effects="none")


def write_pipeline():
    g = treadle.Builder()
    queue = g.op("FIFOQueueV2", component_types=["int32"], capacity=4, shared_name="jobs")
    g.op("QueueEnqueueV2", [queue, [g.placeholder("job", "int32", [])]], name="put")
    answers = g.op("TensorListReserve", [[], JOBS], element_dtype="int32")
    with g.while_loop(i=0, answers=answers, parallel_iterations=AT_ONCE) as loop:
        loop.condition(loop.i < JOBS)
        (job,) = g.op("QueueDequeueV2", [queue], component_types=["int32"], name="take")
        answer = g.op("AskService", [job], outputs=["int32"], name="ask")
        loop.answers = g.op("TensorListSetItem", [loop.answers, loop.i, answer])
        loop.i += 1
    g.op("TensorListStack", [loop.answers, []], element_dtype="int32", name="answers")
    return g.build()


def put_jobs(session):
    for job in range(JOBS):
        session.run([], {"job": job}, targets=["put"])


graph = write_pipeline()
(loop,) = graph.explain().loops
print("overlaps:", loop.in_auto)
print("in order:", ", ".join(op.name for op in loop.in_turns))
print("at once: ", ", ".join(op.name for op in loop.overlapping))

session = treadle.Session(graph)
threading.Thread(target=put_jobs, args=[session], daemon=True).start()
print(session.run("answers"))

"""Long work releases the interpreter's lock, and callbacks take it."""

import threading
import time

import numpy as np
from attention import attend

import gqaverify


def counted_during(work):
    """How often another thread got its turn while `work` ran, and how long that took."""
    stop = threading.Event()
    turns = 0

    def count():
        nonlocal turns
        while not stop.is_set():
            turns += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    time.sleep(0.02)
    before, start = turns, time.perf_counter()
    try:
        work()
        seconds, after = time.perf_counter() - start, turns
    finally:
        stop.set()
        counter.join()
    return after - before, seconds


def test_another_thread_runs_during_an_audit():
    random = np.random.default_rng(51)
    query = random.standard_normal((1, 8, 256, 64)).astype(np.float32)
    key, value = (random.standard_normal((1, 2, 256, 64)).astype(np.float32) for _ in range(2))
    output = attend(query, key, value)
    for work in (
        lambda: gqaverify.audit(query, key, value, output, max_ulp=1),
        lambda: gqaverify.reference(query[:, :, :16], key, value),
        lambda: gqaverify.enumerate_cases(max_heads=24, engine="boost"),
    ):
        turns, seconds = counted_during(work)
        # Held, the lock would leave one turn or two, whatever the work; a slow machine leaves
        # fewer than one a millisecond.
        assert turns >= min(5, seconds * 50), (turns, seconds)


def test_several_threads_audit_at_once():
    random = np.random.default_rng(52)
    problems = []
    for seed in range(4):
        query = random.standard_normal((1, 4, 9, 8)).astype(np.float32)
        key, value = (random.standard_normal((1, 2, 9, 8)).astype(np.float32) for _ in range(2))
        repeat = np.tile if seed % 2 else np.repeat
        problems.append((query, key, value, attend(query, key, value, repeat=repeat)))
    found = [None] * len(problems)

    def work(index):
        found[index] = gqaverify.audit(*problems[index]).faults

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(problems))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[], ["head_map.tiled"], [], ["head_map.tiled"]]


def test_kernels_are_identified_in_several_threads():
    found = {}

    def work(name, repeat):
        def kernel(query, key, value):
            return attend(query, key, value, repeat=repeat)

        found[name] = gqaverify.identify(kernel).faults

    threads = [
        threading.Thread(target=work, args=words)
        for words in (("right", np.repeat), ("wrong", np.tile))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"right": [], "wrong": ["head_map.tiled"]}

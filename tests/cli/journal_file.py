"""Reading the journal of an audit, as its documentation states the format."""

import json
import time
import zlib


def records(path):
    """The whole lines, each checked against its checksum."""
    lines = path.read_bytes().split(b"\n")[:-1]
    for line in lines:
        checksum, text = line.split(b" ", 1)
        assert int(checksum, 16) == zlib.crc32(text), line
    return [json.loads(line.split(b" ", 1)[1]) for line in lines]


def line_of(record):
    text = json.dumps(record, separators=(",", ":"), sort_keys=True).encode()
    return f"{zlib.crc32(text):08x} ".encode() + text + b"\n"


def blocks(path):
    """(job, block) of every finished block, in the order of the file."""
    return [(r["job"], r["block"]) for r in records(path) if r["record"] == "block"]


def wait_for_blocks(path, count, process, seconds=120):
    """Until the journal has that many blocks; fails if the process ends before."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if path.exists() and path.read_bytes().count(b'"record":"block"') >= count:
            return
        if process.poll() is not None:
            raise AssertionError(f"the audit ended with {process.returncode} before it was killed")
        time.sleep(0.01)
    raise AssertionError("no block was finished")

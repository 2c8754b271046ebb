"""Small safetensors files for the command-line tests, standard library only.

A tensor is (shape, numbers), binary32, or (shape, integers, "I32").
"""

import json
import struct


def read(path):
    """(metadata, {name: (shape, [float, ...])})"""
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        data = content[8 + length + begin : 8 + length + end]
        tensors[name] = (entry["shape"], list(struct.unpack(f"<{len(data) // 4}f", data)))
    return metadata, tensors


def write(path, metadata, tensors):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, (shape, values, *dtype) in tensors.items():
        encoded = struct.pack(f"<{len(values)}{'i' if dtype else 'f'}", *values)
        offsets = [len(data), len(data) + len(encoded)]
        header[name] = {"dtype": dtype[0] if dtype else "F32", "shape": shape, "data_offsets": offsets}
        data += encoded
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)

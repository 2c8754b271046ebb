"""A random decoder of four layers with grouped heads, for recordings."""

import numpy as np
import torch_stand_in as functional
from torch_stand_in import Module

WIDTH, Q_HEADS, KV_HEADS, SIZE = 32, 4, 2, 8


def heads_of(x, weight):
    """[B, T, D] -> [B, H, T, d]"""
    batch, rows, _ = x.shape
    return (x @ weight).reshape(batch, rows, -1, SIZE).swapaxes(1, 2)


class CoreAttention(Module):
    """query [B, Hq, T, d], key and value [B, Hkv, T, d] -> [B, Hq, T, d]; expands the KV heads."""

    def __init__(self, expand=np.repeat):
        self.expand = expand

    def forward(self, query, key, value, is_causal=False):
        group = query.shape[1] // key.shape[1]
        if self.expand is np.tile:
            key, value = (np.tile(x, (1, group, 1, 1)) for x in (key, value))
        else:
            key, value = (self.expand(x, group, axis=1) for x in (key, value))
        return functional.scaled_dot_product_attention(query, key, value, is_causal=is_causal)


class FusedAttention(Module):
    """The same through the function's own grouping."""

    def forward(self, query, key, value, is_causal=False):
        return functional.scaled_dot_product_attention(
            query, key, value, is_causal=is_causal, enable_gqa=True)


class Layer(Module):
    def __init__(self, random, attention):
        def weight(*shape):
            return (random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

        self.attention = attention
        self.project = [weight(WIDTH, h * SIZE) for h in (Q_HEADS, KV_HEADS, KV_HEADS)]
        self.out = weight(Q_HEADS * SIZE, WIDTH)
        self.up, self.down = weight(WIDTH, 64), weight(64, WIDTH)

    def forward(self, x):
        query, key, value = (heads_of(x, weight) for weight in self.project)
        attended = self.attention(query, key, value, is_causal=True)
        x = x + attended.swapaxes(1, 2).reshape(*x.shape[:2], -1) @ self.out
        return x + np.maximum(x @ self.up, 0) @ self.down


class Transformer(Module):
    """attention: makes the attention of the layer with that number."""

    def __init__(self, seed=0, layers=4, attention=lambda number: CoreAttention()):
        random = np.random.default_rng(seed)
        self.embedding = random.standard_normal((11, WIDTH)).astype(np.float32)
        self.layers = [Layer(random, attention(number)) for number in range(layers)]

    def forward(self, tokens):
        x = self.embedding[tokens]
        for layer in self.layers:
            x = layer(x)
        return x


TOKENS = np.arange(14).reshape(2, 7) * 5 % 11

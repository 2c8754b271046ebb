"""What a model needs of torch, in NumPy: modules with names, and the attention function.

The signature is that of torch.nn.functional.scaled_dot_product_attention since PyTorch 2.5; the
values are those of its documentation (is_causal hides by position from the first key).
"""

import numpy as np
from attention import attend


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False,
                                 scale=None, enable_gqa=False):
    assert enable_gqa or query.shape[-3] == key.shape[-3]
    if dropout_p:
        keep = np.random.default_rng(0).random(query.shape) >= dropout_p
        query = query * keep
    if is_causal:
        attn_mask = np.tri(query.shape[-2], key.shape[-2], dtype=bool)
    return attend(query, key, value, attn_mask=attn_mask, scale=scale)


class Module:
    """As torch.nn.Module, as far as names and calls go."""

    def __call__(self, *arguments, **keywords):
        return self.forward(*arguments, **keywords)

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, child in vars(self).items():
            children = enumerate(child) if isinstance(child, list) else [("", child)]
            for number, entry in children:
                if isinstance(entry, Module):
                    own = f"{name}.{number}" if isinstance(child, list) else name
                    yield from entry.named_modules(f"{prefix}.{own}" if prefix else own)

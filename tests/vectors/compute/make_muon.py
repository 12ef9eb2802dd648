"""Makes the golden vectors of Muon: five steps of every tensor of a model in two stages, from an independent implementation.

The step is written here once more, in NumPy with float64, sharing nothing with our code: the Newton-Schulz rounds run on the
matrix itself, one tensor at a time, and AdamW takes embedding, head and gains. State at rest is float32, as a stage keeps it.
muon.json names the tensors and the numbers of each step; muon.bin holds little-endian float32: for each tensor its values, its
five gradients, its values after five steps, then its momentum (Muon's) or both of its moments (AdamW's).

Run, from this folder, in a virtual environment:
    pip install "numpy<3"
    python make_muon.py
"""

import json

import numpy as np

D, HEADS, KV_HEADS, FFN, VOCAB, LAYERS, R, STEPS = 16, 4, 2, 24, 16, 2, 4, 5
MOMENTUM, BETA1, BETA2, EPSILON, DECAY, GRADIENT_SCALE, RATE_FACTOR = 0.95, 0.9, 0.95, 1e-8, 0.1, 0.5, 2.5
RATES = [0.01, 0.02, 0.02, 0.015, 0.005]
random = np.random.RandomState(7)


def shapes():
    named = {"model.embed_tokens.weight": (VOCAB, D)}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        named[prefix + "self_attn.q_proj.weight"] = (D, D)
        named[prefix + "self_attn.k_proj.weight"] = (KV_HEADS * D // HEADS, D)
        named[prefix + "self_attn.v_proj.weight"] = (KV_HEADS * D // HEADS, D)
        named[prefix + "self_attn.o_proj.weight"] = (D, D)
        named[prefix + "mlp.gate_proj.weight"] = (FFN, D)
        named[prefix + "mlp.up_proj.weight"] = (FFN, D)
        named[prefix + "mlp.down_proj.weight"] = (D, FFN)
        named[prefix + "input_layernorm.weight"] = (D,)
        named[prefix + "post_attention_layernorm.weight"] = (D,)
    named["model.boundary.1.encoder.weight"] = (R, D)
    named["model.boundary.1.decoder.weight"] = (D, R)
    named["lm_head.weight"] = (VOCAB, D)
    named["model.norm.weight"] = (D,)
    return named


def rounded(values):
    return np.asarray(values).astype(np.float32).astype(np.float64)


def draw_gradient(name, shape):
    """Of full rank, but for one matrix of rank one and one that is zero."""
    if name == "model.layers.1.mlp.up_proj.weight":
        return rounded(1e-3 * np.outer(random.randn(shape[0]), random.randn(shape[1])))
    if name == "model.layers.1.self_attn.o_proj.weight":
        return np.zeros(shape)
    return rounded(1e-2 * random.randn(*shape))


def orthogonal(u):
    x = u / (np.linalg.norm(u) + 1e-7)
    if u.shape[0] > u.shape[1]:
        x = x.T
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.T if u.shape[0] > u.shape[1] else x


def muon(value, gradients):
    momentum = np.zeros_like(value)
    for rate, gradient in zip(RATES, gradients):
        g = GRADIENT_SCALE * gradient
        momentum = rounded(MOMENTUM * momentum + g)
        change = 0.2 * np.sqrt(max(value.shape)) * orthogonal(g + MOMENTUM * momentum)
        value = rounded(value * (1 - RATE_FACTOR * rate * DECAY) - RATE_FACTOR * rate * change)
    return [value, momentum]


def adamw(value, gradients):
    first, second = np.zeros_like(value), np.zeros_like(value)
    for t, (rate, gradient) in enumerate(zip(RATES, gradients), 1):
        g = GRADIENT_SCALE * gradient
        first = rounded(BETA1 * first + (1 - BETA1) * g)
        second = rounded(BETA2 * second + (1 - BETA2) * g * g)
        change = first / (1 - BETA1**t) / (np.sqrt(second / (1 - BETA2**t)) + EPSILON)
        decay = DECAY * value if value.ndim == 2 else 0
        value = rounded(value - rate * (change + decay))
    return [value, first, second]


tensors, arrays = [], []
for name, shape in shapes().items():
    value = rounded(1 + 0.2 * random.randn(*shape) if len(shape) == 1 else random.randn(*shape) / np.sqrt(shape[-1]))
    gradients = [draw_gradient(name, shape) for _ in range(STEPS)]
    is_muon = len(shape) == 2 and name not in ("model.embed_tokens.weight", "lm_head.weight")
    arrays += [value, *gradients, *(muon if is_muon else adamw)(value, gradients)]
    tensors.append({"name": name, "size": int(value.size), "optimizer": "muon" if is_muon else "adamw"})
record = {
    "model": {"vocabSize": VOCAB, "width": D, "layers": LAYERS, "heads": HEADS, "kvHeads": KV_HEADS, "ffnWidth": FFN},
    "bottleneckWidth": R,
    "learningRates": RATES,
    "gradientScale": GRADIENT_SCALE,
    "train": {"beta1": BETA1, "beta2": BETA2, "epsilon": EPSILON, "weightDecay": DECAY},
    "tensors": tensors,
}
with open("muon.json", "w") as file:
    json.dump(record, file, indent=2)
    file.write("\n")
np.concatenate([np.ravel(each) for each in arrays]).astype("<f4").tofile("muon.bin")

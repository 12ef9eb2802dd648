"""Makes the golden vectors of the model: losses, logits and gradients from an independent implementation.

The model is written here once more, in JAX with float64 and automatic differentiation, sharing nothing with our code. For
codec `none` the script itself checks it against Hugging Face's own Flax Llama (loss, logits and every gradient) before it
writes anything. Each .json names its tensors; the .bin beside it holds little-endian float32: all parameters, then all
gradients in the same order, then the logits (B, T, V).

Run, from this folder, in a virtual environment:
    pip install "transformers==4.45.2" "jax[cpu]==0.4.34" "flax==0.9.0" "numpy<2"
    python make_vectors.py
"""

import json

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp
import numpy as np
from transformers import FlaxLlamaForCausalLM, LlamaConfig

D, HEADS, KV_HEADS, FFN, VOCAB, T, B, LAYERS, R = 16, 4, 2, 32, 32, 8, 2, 3, 4
HEAD_WIDTH = D // HEADS
ROPE_BASE, EPSILON = 10000.0, 1e-5
random = np.random.RandomState(20)


def shapes(codec):
    """Hugging Face's names; linear weights are (out, in)."""
    named = {"model.embed_tokens.weight": (VOCAB, D)}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        named[prefix + "input_layernorm.weight"] = (D,)
        named[prefix + "self_attn.q_proj.weight"] = (D, D)
        named[prefix + "self_attn.k_proj.weight"] = (KV_HEADS * HEAD_WIDTH, D)
        named[prefix + "self_attn.v_proj.weight"] = (KV_HEADS * HEAD_WIDTH, D)
        named[prefix + "self_attn.o_proj.weight"] = (D, D)
        named[prefix + "post_attention_layernorm.weight"] = (D,)
        named[prefix + "mlp.gate_proj.weight"] = (FFN, D)
        named[prefix + "mlp.up_proj.weight"] = (FFN, D)
        named[prefix + "mlp.down_proj.weight"] = (D, FFN)
    if codec == "iota":  # one layer per stage: a boundary before every layer but the first
        for boundary in range(1, LAYERS):
            named[f"model.boundary.{boundary}.encoder.weight"] = (R, D)
            named[f"model.boundary.{boundary}.decoder.weight"] = (D, R)
    named["model.norm.weight"] = (D,)
    named["lm_head.weight"] = (VOCAB, D)
    return named


def draw(shape):
    """float32 values, so that the file holds exactly what was computed with."""
    values = 1 + 0.2 * random.randn(*shape) if len(shape) == 1 else random.randn(*shape) / np.sqrt(shape[-1])
    return values.astype(np.float32).astype(np.float64)


def rms_norm(x, gain):
    return x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + EPSILON) * gain


def rotate(x):  # (B, T, heads, hd)
    inverse_frequency = ROPE_BASE ** (-jnp.arange(0, HEAD_WIDTH, 2) / HEAD_WIDTH)
    angle = jnp.arange(T)[:, None] * inverse_frequency[None, :]  # (T, hd/2)
    angle = jnp.concatenate([angle, angle], axis=-1)[None, :, None, :]
    first, second = jnp.split(x, 2, axis=-1)
    return x * jnp.cos(angle) + jnp.concatenate([-second, first], axis=-1) * jnp.sin(angle)


def attention(p, layer, x):
    name = lambda part: p[f"model.layers.{layer}.{part}.weight"]
    n = rms_norm(x, name("input_layernorm"))
    q = rotate((n @ name("self_attn.q_proj").T).reshape(B, T, HEADS, HEAD_WIDTH))
    k = rotate((n @ name("self_attn.k_proj").T).reshape(B, T, KV_HEADS, HEAD_WIDTH))
    v = (n @ name("self_attn.v_proj").T).reshape(B, T, KV_HEADS, HEAD_WIDTH)
    k, v = (jnp.repeat(each, HEADS // KV_HEADS, axis=2) for each in (k, v))
    scores = jnp.einsum("bthc,bshc->bhts", q, k) / np.sqrt(HEAD_WIDTH)
    scores = jnp.where(jnp.tril(jnp.ones((T, T), bool)), scores, -jnp.inf)
    mixed = jnp.einsum("bhts,bshc->bthc", jax.nn.softmax(scores, axis=-1), v).reshape(B, T, D)
    return mixed @ name("self_attn.o_proj").T


def ffn(p, layer, a):
    name = lambda part: p[f"model.layers.{layer}.{part}.weight"]
    n = rms_norm(a, name("post_attention_layernorm"))
    return (jax.nn.silu(n @ name("mlp.gate_proj").T) * (n @ name("mlp.up_proj").T)) @ name("mlp.down_proj").T


def logits_of(p, tokens, codec):
    x = p["model.embed_tokens.weight"][tokens]
    z = None
    for layer in range(LAYERS):
        if z is None:
            a = x + attention(p, layer, x)
        else:
            lifted = jax.nn.relu(z @ p[f"model.boundary.{layer}.decoder.weight"].T)
            a = attention(p, layer, lifted) + jnp.pad(z, ((0, 0), (0, 0), (0, D - R)))
        f = ffn(p, layer, a)
        if codec == "iota" and layer < LAYERS - 1:
            z = jax.nn.silu(f) @ p[f"model.boundary.{layer + 1}.encoder.weight"].T + a[:, :, :R]
        else:
            x = a + f
    return rms_norm(x, p["model.norm.weight"]) @ p["lm_head.weight"].T


def losses_of(logits, targets):
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits, axis=-1), targets[..., None], axis=-1)
    return -jnp.mean(chosen[..., 0], axis=-1)  # (B)


def check_against_hugging_face(p, tokens, targets, logits, gradients):
    config = LlamaConfig(
        vocab_size=VOCAB, hidden_size=D, intermediate_size=FFN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS, max_position_embeddings=T, rms_norm_eps=EPSILON, rope_theta=ROPE_BASE,
        tie_word_embeddings=False, attention_bias=False)
    model = FlaxLlamaForCausalLM(config, input_shape=(1, T), dtype=jnp.float64)

    def nested(flat):
        tree = {}
        for name, value in flat.items():
            *path, last = name.split(".")
            node = tree
            for part in path:
                node = node.setdefault(part, {})
            if "embed" in name:
                node["embedding"] = value
            elif value.ndim == 2:
                node["kernel"] = value.T
            else:
                node["weight"] = value
        return tree

    def loss(flat):
        theirs = model(tokens, params=nested(flat)).logits
        return jnp.mean(losses_of(theirs, targets)), theirs

    their_gradients, their_logits = jax.grad(loss, has_aux=True)(p)
    distance = lambda a, b: float(jnp.linalg.norm(a - b) / jnp.linalg.norm(b))
    worst = max(distance(gradients[name], their_gradients[name]) for name in p)
    print(f"against Hugging Face: logits {distance(logits, their_logits):.1e}, worst gradient {worst:.1e}")
    assert distance(logits, their_logits) < 1e-5 and worst < 1e-5


def write(codec):
    p = {name: jnp.asarray(draw(shape)) for name, shape in shapes(codec).items()}
    stream = random.randint(0, VOCAB, (B, T + 1))
    tokens, targets = stream[:, :-1], stream[:, 1:]
    loss = lambda p: jnp.mean(losses_of(logits_of(p, tokens, codec), targets))
    gradients = jax.grad(loss)(p)
    logits = logits_of(p, tokens, codec)
    if codec == "none":
        check_against_hugging_face(p, tokens, targets, logits, gradients)
    record = {
        "model": {"vocabSize": VOCAB, "width": D, "layers": LAYERS, "heads": HEADS, "kvHeads": KV_HEADS,
                  "ffnWidth": FFN, "contextLength": T, "ropeBase": ROPE_BASE, "normEpsilon": EPSILON},
        "bottleneckWidth": R,
        "sequences": B,
        "tokens": tokens.ravel().tolist(),
        "targets": targets.ravel().tolist(),
        "lossPerSequence": [float(value) for value in losses_of(logits, targets)],
        "tensors": [{"name": name, "size": int(value.size)} for name, value in p.items()],
    }
    with open(f"{codec}.json", "w") as file:
        json.dump(record, file, indent=2)
        file.write("\n")
    arrays = [*p.values(), *(gradients[name] for name in p), logits]
    np.concatenate([np.asarray(each).ravel() for each in arrays]).astype("<f4").tofile(f"{codec}.bin")


for codec in ("none", "iota"):
    write(codec)

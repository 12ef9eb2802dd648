"""Makes the golden traces of training: twenty optimizer steps of a small Llama by PyTorch, for codecs `none` and `iota`.

The model is written here once more for PyTorch's automatic differentiation, sharing nothing with our code; torch.optim.AdamW
takes the steps, torch.nn.utils measures the gradient's norm, and torch.optim.lr_scheduler makes the learning rates. Before
anything is written, two independent implementations confirm the model: for `none` Hugging Face's own LlamaForCausalLM, which
trains the same twenty steps (logits, every gradient, all losses); for `iota` the vectors of make_vectors.py (JAX), with the
rounding of the wires left out.

Arithmetic is float64, so that a difference from the trace is the tested implementation's own. Parameters and moments stay
float64 too; that a stage keeps them as float32 is part of the difference. Wires of `iota` are rounded to bfloat16 in both
directions, by way of float32, as the codec gets them. A value on the other side of a rounding tie would be a difference of a
thousandth that grows with every step and hides all others, so microbatches that bring a wire's value near a tie are drawn
again: every implementation with float32's accuracy has to round as this one does.

The gradient of a microbatch is that of its mean loss, rounded on the wires; a step takes the mean over its microbatches.
Clipping multiplies it by clipNorm / norm where the norm is larger than clipNorm (clip_grad_norm_ itself divides by norm +
1e-6). Decay is on matrices only, those of the boundaries included.

trace.json holds the settings, the token streams of all microbatches, (B, T + 1) each, and for each codec its losses, norms
and tensors. trace_<codec>.bin holds little-endian float32: all parameters at the start, all mean gradients of step 1 before
clipping, all parameters at the end, then the logits of step 1 and of the last step, before it is taken, (M, B, T, V) each.

Run, from this folder, with Python 3.11 in a virtual environment:
    pip install "torch==2.5.1" "transformers==4.45.2" "numpy==1.26.4"
    python make_traces.py
"""

import json
import math
import warnings
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional as F
from torch.optim.lr_scheduler import LinearLR, SequentialLR
from transformers import LlamaConfig, LlamaForCausalLM

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # sums in one order
random = np.random.RandomState(21)


@dataclass(frozen=True)
class Shape:
    vocabSize: int
    width: int
    layers: int
    heads: int
    kvHeads: int
    ffnWidth: int
    contextLength: int
    ropeBase: float
    normEpsilon: float


SHAPE = Shape(vocabSize=32, width=16, layers=3, heads=2, kvHeads=1, ffnWidth=32, contextLength=8, ropeBase=1000.0,
              normEpsilon=1e-4)
B, R = 2, 8
NEAR_TIE = 6e-6  # of the wire's root mean square, several times the error of a float32 implementation
SMALL_ULP = 1e-4  # in the same unit: values this small may be rounded either way
# None has the value of its default, so that a default used by mistake shows; the norms lie on both sides of clipNorm.
TRAIN = dict(
    sequencesPerMicrobatch=B, microbatchesPerStep=2, steps=20, learningRate=0.01, warmupSteps=4, decayFraction=0.25,
    finalLearningRateFraction=0.2, beta1=0.85, beta2=0.96, epsilon=1e-5, weightDecay=0.3, clipNorm=2.5)


def shapes(codec):
    """Hugging Face's names; linear weights are (out, in)."""
    d, ffn, kv = SHAPE.width, SHAPE.ffnWidth, SHAPE.kvHeads * SHAPE.width // SHAPE.heads
    named = {"model.embed_tokens.weight": (SHAPE.vocabSize, d)}
    for layer in range(SHAPE.layers):
        prefix = f"model.layers.{layer}."
        named[prefix + "input_layernorm.weight"] = (d,)
        named[prefix + "self_attn.q_proj.weight"] = (d, d)
        named[prefix + "self_attn.k_proj.weight"] = (kv, d)
        named[prefix + "self_attn.v_proj.weight"] = (kv, d)
        named[prefix + "self_attn.o_proj.weight"] = (d, d)
        named[prefix + "post_attention_layernorm.weight"] = (d,)
        named[prefix + "mlp.gate_proj.weight"] = (ffn, d)
        named[prefix + "mlp.up_proj.weight"] = (ffn, d)
        named[prefix + "mlp.down_proj.weight"] = (d, ffn)
    if codec == "iota":  # one layer per stage: a boundary before every layer but the first
        for boundary in range(1, SHAPE.layers):
            named[f"model.boundary.{boundary}.encoder.weight"] = (R, d)
            named[f"model.boundary.{boundary}.decoder.weight"] = (d, R)
    named["model.norm.weight"] = (d,)
    named["lm_head.weight"] = (SHAPE.vocabSize, d)
    return named


def draw(name, shape):
    """float32 values, so that the file holds exactly what was computed with. Scaled as at the start of a run, but for the gains."""
    if len(shape) == 1:
        values = 1 + 0.2 * random.randn(*shape)
    else:
        writes_residual = any(part in name for part in ("o_proj", "down_proj", "encoder"))
        values = random.randn(*shape) / np.sqrt(shape[-1] * (2 * SHAPE.layers if writes_residual else 1))
    return torch.from_numpy(values.astype(np.float32).astype(np.float64))


class Bfloat16Wire(torch.autograd.Function):
    """The value and, on the way back, its gradient as the wire carries them: straight through the rounding."""

    was_near_tie = False  # whether a value was, since this was last cleared

    @staticmethod
    def forward(_, values):
        return Bfloat16Wire.round(values)

    @staticmethod
    def backward(_, gradient):
        return Bfloat16Wire.round(gradient)

    @staticmethod
    def round(values):
        rounded = values.float().bfloat16().double()
        ulp = 2.0 ** (torch.frexp(values).exponent - 8)
        to_tie = ((values - rounded).abs() - ulp / 2).abs()
        size = values.square().mean().sqrt()
        if bool(((to_tie < NEAR_TIE * size) & (ulp > SMALL_ULP * size)).any()):
            Bfloat16Wire.was_near_tie = True
        return rounded


class Llama:
    """`wire` is what happens to the values that cross a boundary; None for codec `none`, whose boundaries change nothing."""

    def __init__(self, p, shape, wire):
        self.p, self.shape, self.wire = p, shape, wire

    def rms_norm(self, x, gain):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.shape.normEpsilon) * self.p[gain + ".weight"]

    def rotate(self, x):  # (B, heads, T, hd)
        length, head_width = x.shape[-2:]
        frequency = self.shape.ropeBase ** (-torch.arange(0, head_width, 2) / head_width)
        angle = torch.outer(torch.arange(length, dtype=torch.float64), frequency).repeat(1, 2)  # (T, hd)
        first, second = x.chunk(2, dim=-1)
        return x * angle.cos() + torch.cat([-second, first], dim=-1) * angle.sin()

    def attention(self, layer, x):
        part = f"model.layers.{layer}."
        heads, kv_heads = self.shape.heads, self.shape.kvHeads
        n = self.rms_norm(x, part + "input_layernorm")
        project = lambda name, count: F.linear(n, self.p[f"{part}self_attn.{name}_proj.weight"]).unflatten(
            -1, (count, -1)).transpose(1, 2)
        q, k, v = self.rotate(project("q", heads)), self.rotate(project("k", kv_heads)), project("v", kv_heads)
        k, v = (each.repeat_interleave(heads // kv_heads, dim=1) for each in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return F.linear(mixed.transpose(1, 2).flatten(2), self.p[part + "self_attn.o_proj.weight"])

    def ffn(self, layer, a):
        part = f"model.layers.{layer}."
        n = self.rms_norm(a, part + "post_attention_layernorm")
        project = lambda name, values: F.linear(values, self.p[f"{part}mlp.{name}_proj.weight"])
        return project("down", F.silu(project("gate", n)) * project("up", n))

    def __call__(self, tokens):  # (B, T) to (B, T, V)
        x, z = F.embedding(tokens, self.p["model.embed_tokens.weight"]), None
        for layer in range(self.shape.layers):
            if z is None:
                a = x + self.attention(layer, x)
            else:
                lifted = F.relu(F.linear(z, self.p[f"model.boundary.{layer}.decoder.weight"]))
                a = F.pad(z, (0, self.shape.width - z.shape[-1])) + self.attention(layer, lifted)
            f = self.ffn(layer, a)
            if self.wire is None or layer == self.shape.layers - 1:
                x = a + f
            else:
                encoder = self.p[f"model.boundary.{layer + 1}.encoder.weight"]
                z = self.wire(F.linear(F.silu(f), encoder) + a[..., : len(encoder)])
        return F.linear(self.rms_norm(x, "model.norm"), self.p["lm_head.weight"])


def optimizer_of(p):
    matrices, gains = [[value for value in p.values() if value.ndim == n] for n in (2, 1)]
    groups = [{"params": matrices, "weight_decay": TRAIN["weightDecay"]}, {"params": gains, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(
        groups, lr=TRAIN["learningRate"], betas=(TRAIN["beta1"], TRAIN["beta2"]), eps=TRAIN["epsilon"])
    warmup, steps = TRAIN["warmupSteps"], TRAIN["steps"]
    decay = round(TRAIN["decayFraction"] * steps)
    rising = LinearLR(optimizer, start_factor=1 / warmup, total_iters=warmup - 1)
    falling = LinearLR(optimizer, 1.0, TRAIN["finalLearningRateFraction"], total_iters=decay)
    return optimizer, SequentialLR(optimizer, [rising, falling], milestones=[steps - decay - 1])


def train(p, logits_of, batches):
    """Trains p in place. Everything the trace records, by name."""
    optimizer, schedule = optimizer_of(p)
    trace = {"batches": [], "losses": [], "norms": [], "learningRates": [], "logits": []}
    for streams in batches:
        trace["batches"].append(streams)
        losses, logits = [], []
        for stream in streams:
            logits.append(logits_of(stream[:, :-1]))
            losses.append(loss_of(logits[-1], stream))
            losses[-1].backward()
        for value in p.values():
            value.grad /= len(streams)
        norm = float(torch.nn.utils.clip_grad_norm_(p.values(), math.inf))  # only measures
        trace.setdefault("gradients", {name: value.grad.clone() for name, value in p.items()})
        for value in p.values():
            value.grad *= min(1, TRAIN["clipNorm"] / norm)
        trace["losses"].append(float(sum(losses)) / len(losses))
        trace["norms"].append(norm)
        trace["learningRates"].append(schedule.get_last_lr()[0])
        trace["logits"].append(torch.stack(logits).detach())
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    return trace


def learnable_streams():
    """Token streams, (B, T + 1): two of three tokens follow from the one before, the others are random."""
    successor = random.permutation(SHAPE.vocabSize)
    while True:
        stream = random.randint(0, SHAPE.vocabSize, (B, SHAPE.contextLength + 1))
        is_free = random.rand(*stream.shape) < 1 / 3
        for t in range(1, SHAPE.contextLength + 1):
            stream[:, t] = np.where(is_free[:, t], stream[:, t], successor[stream[:, t - 1]])
        yield torch.from_numpy(stream)


def draw_batches(p, logits_of):
    """Batches for p as it is when each is asked for: none brings a wire near a tie."""
    streams = learnable_streams()
    for _ in range(TRAIN["steps"]):
        yield [next(stream for stream in streams if not is_near_tie(p, logits_of, stream))
               for _ in range(TRAIN["microbatchesPerStep"])]


def is_near_tie(p, logits_of, stream):
    Bfloat16Wire.was_near_tie = False
    torch.autograd.grad(loss_of(logits_of(stream[:, :-1]), stream), list(p.values()))
    return Bfloat16Wire.was_near_tie


def loss_of(logits, stream):
    return F.cross_entropy(logits.flatten(0, 1), stream[:, 1:].flatten())


def distance(a, b):
    return float(torch.linalg.norm(a - b) / torch.linalg.norm(b))


def leaves(p):
    return {name: value.clone().requires_grad_() for name, value in p.items()}


def check_against_hugging_face(start, trace, batches):
    """Its norms, rotary angles and softmax are float32 inside, whatever the model's type: no better agreement than 1e-6."""
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=SHAPE.vocabSize, hidden_size=SHAPE.width, intermediate_size=SHAPE.ffnWidth,
        num_hidden_layers=SHAPE.layers, num_attention_heads=SHAPE.heads, num_key_value_heads=SHAPE.kvHeads,
        max_position_embeddings=SHAPE.contextLength, rms_norm_eps=SHAPE.normEpsilon, rope_theta=SHAPE.ropeBase,
        tie_word_embeddings=False, attention_bias=False, attn_implementation="eager"))
    model.load_state_dict(start)
    p = dict(model.named_parameters())
    theirs = train(p, lambda tokens: model(tokens).logits.double(), batches)
    first = distance(trace["logits"][0], theirs["logits"][0])
    last = distance(trace["logits"][-1], theirs["logits"][-1])
    gradient = max(distance(value, theirs["gradients"][name]) for name, value in trace["gradients"].items())
    loss = max(abs(a / b - 1) for a, b in zip(trace["losses"], theirs["losses"], strict=True))
    norm = max(abs(a / b - 1) for a, b in zip(trace["norms"], theirs["norms"], strict=True))
    print(f"none against Hugging Face: logits of step 1 {first:.1e}, of the last step {last:.1e}, worst gradient of "
          f"step 1 {gradient:.1e}, worst of 20 losses {loss:.1e}, of 20 norms {norm:.1e}")
    assert max(first, gradient) < 5e-6 and max(last, loss, norm) < 1e-4


def check_against_jax():
    """The bottleneck without rounding, in make_vectors.py's shape."""
    with open("iota.json") as file:
        golden = json.load(file)
    shape = Shape(**golden["model"])
    values = torch.from_numpy(np.fromfile("iota.bin", "<f4").astype(np.float64))
    sizes = [tensor["size"] for tensor in golden["tensors"]]
    *parts, logits = values.split([*sizes, *sizes, golden["sequences"] * shape.contextLength * shape.vocabSize])
    names = [tensor["name"] for tensor in golden["tensors"]]
    width_in = lambda name: (
        golden["bottleneckWidth"] if "decoder" in name else shape.ffnWidth if "down" in name else shape.width)
    p = {name: value if "norm" in name else value.view(-1, width_in(name)) for name, value in zip(names, parts)}
    p = leaves(p)
    tokens, targets = (torch.tensor(golden[key]).view(golden["sequences"], -1) for key in ("tokens", "targets"))
    ours = Llama(p, shape, wire=lambda z: z)(tokens)
    F.cross_entropy(ours.flatten(0, 1), targets.flatten()).backward()
    worst = max(distance(p[name].grad.flatten(), each) for name, each in zip(names, parts[len(names):], strict=True))
    print(f"iota without rounding against JAX: logits {distance(ours.flatten(), logits):.1e}, worst gradient {worst:.1e}")
    assert distance(ours.flatten(), logits) < 1e-6 and worst < 1e-6


def make(codec, start, batches_of):
    p = leaves(start)
    logits_of = Llama(p, SHAPE, wire=Bfloat16Wire.apply if codec == "iota" else None)
    trace = train(p, logits_of, batches_of(p, logits_of))
    clipped = sum(norm > TRAIN["clipNorm"] for norm in trace["norms"])
    print(f"{codec}: loss {trace['losses'][0]:.3f} to {trace['losses'][-1]:.3f}, "
          f"{clipped} of {TRAIN['steps']} steps clipped")
    assert 3 <= clipped <= TRAIN["steps"] - 3
    arrays = [*start.values(), *trace["gradients"].values(), *p.values(), trace["logits"][0], trace["logits"][-1]]
    return trace, torch.cat([each.detach().flatten() for each in arrays])


warnings.filterwarnings("ignore", message="The epoch parameter")  # SequentialLR's own call
check_against_jax()
starts = {codec: {name: draw(name, shape) for name, shape in shapes(codec).items()} for codec in ("none", "iota")}
traces = {"iota": make("iota", starts["iota"], draw_batches)}
batches = traces["iota"][0]["batches"]
traces["none"] = make("none", starts["none"], lambda *_: batches)
check_against_hugging_face(starts["none"], traces["none"][0], batches)
record = {
    "model": vars(SHAPE),
    "bottleneckWidth": R,
    "train": TRAIN,
    "learningRates": traces["none"][0]["learningRates"],
    "batches": [[stream.flatten().tolist() for stream in streams] for streams in batches],
    "codecs": {
        codec: {
            "losses": trace["losses"],
            "norms": trace["norms"],
            "tensors": [{"name": name, "size": value.numel()} for name, value in starts[codec].items()],
        } for codec, (trace, _) in traces.items()
    },
}
with open("trace.json", "w") as file:
    json.dump(record, file, indent=2)
    file.write("\n")
for codec, (_, values) in traces.items():
    values.numpy().astype("<f4").tofile(f"trace_{codec}.bin")

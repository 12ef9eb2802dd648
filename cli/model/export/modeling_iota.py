"""The model of this folder for Hugging Face transformers: AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True).

It is a Llama cut into stages. Between two stages only a few rounded values per token pass (a "boundary"); later stages may
also look up a small table by token. Without these parts the weights compute something else, so a plain Llama class must not
load them. The numbers follow iota, the program that trained the model (core/codec and gpu/codecs in its source).
"""

import torch
import torch.nn.functional as F
from torch import nn
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.cache_utils import DynamicCache
from transformers.modeling_outputs import CausalLMOutputWithPast


class IotaConfig(PretrainedConfig):
    model_type = "iota"

    def __init__(self, **fields):
        self.iota = fields.pop("iota", None)  # layersOfStages, boundaries (codec, width), sideWidth
        for name in ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                     "num_key_value_heads", "max_position_embeddings", "rope_theta", "rope_scaling", "rms_norm_eps"):
            setattr(self, name, fields.pop(name, None))
        super().__init__(**fields)


def round_bfloat16(values):
    return values.to(torch.bfloat16).to(values.dtype)


# 2^(0/4) to 2^(3/4), as float32
QUARTERS = (1.0, 1.0 + 0x1837F0 / 2**23, 1.0 + 0x3504F3 / 2**23, 1.0 + 0x5744FD / 2**23)


def round_codes(values, bits):
    """Codes of `bits` bits with one scale per token: the least quarter power of 2 not below its largest value."""
    values = values.float()
    largest = values.abs().amax(-1, keepdim=True)
    mantissa, exponent = torch.frexp(largest)  # mantissa in [1/2, 1)
    mantissa, exponent = 2 * mantissa, exponent - 1
    quarter = sum((mantissa > q).int() for q in QUARTERS)  # 0 to 4
    byte = (4 * exponent + quarter + 161).clamp(max=254)
    quarters = torch.tensor(QUARTERS, dtype=torch.float32, device=values.device)
    scale = torch.ldexp(quarters[(byte - 161) % 4], torch.div(byte - 161, 4, rounding_mode="floor"))
    levels = 2 ** (bits - 1)
    codes = torch.minimum((values.abs() * (levels / scale)).trunc(), torch.tensor(levels - 1.0, device=values.device))
    sign = torch.where(values < 0, -1.0, 1.0)
    rounded = sign * (2 * codes + 1) * (scale / (2 * levels))
    return torch.where((largest > 0) & (byte >= 1), rounded, torch.zeros_like(rounded))


def cross(values, codec):
    """What arrives at the next stage. Gradients pass unchanged."""
    if codec == "none":
        return values
    with torch.no_grad():
        arrived = round_codes(values, int(codec[1])) if codec.endswith("block") else round_bfloat16(values)
    return values + (arrived.to(values.dtype) - values).detach()


class Gain(nn.Module):
    """RMSNorm."""

    def __init__(self, config):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(config.hidden_size))
        self.epsilon = config.rms_norm_eps

    def forward(self, x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.epsilon)).to(x.dtype) * self.weight


def turn(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


class Attention(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.layer = layer
        self.heads, self.kv_heads = config.num_attention_heads, config.num_key_value_heads
        self.head = config.hidden_size // self.heads
        d = config.hidden_size
        self.q_proj = nn.Linear(d, d, bias=False)
        self.k_proj = nn.Linear(d, self.kv_heads * self.head, bias=False)
        self.v_proj = nn.Linear(d, self.kv_heads * self.head, bias=False)
        self.o_proj = nn.Linear(d, d, bias=False)

    def forward(self, x, rope, mask, cache):
        batch, length, _ = x.shape
        heads = lambda values, count: values.view(batch, length, count, self.head).transpose(1, 2)
        q = turn(heads(self.q_proj(x), self.heads), *rope)
        k = turn(heads(self.k_proj(x), self.kv_heads), *rope)
        v = heads(self.v_proj(x), self.kv_heads)
        if cache is not None:
            k, v = cache.update(k, v, self.layer)
        share = self.heads // self.kv_heads
        k, v = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, length, -1))


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        d, inner = config.hidden_size, config.intermediate_size
        self.gate_proj = nn.Linear(d, inner, bias=False)
        self.up_proj = nn.Linear(d, inner, bias=False)
        self.down_proj = nn.Linear(inner, d, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.self_attn = Attention(config, layer)
        self.mlp = FeedForward(config)
        self.input_layernorm = Gain(config)
        self.post_attention_layernorm = Gain(config)


class Pair(nn.Module):
    def __init__(self, inward, hidden, outward):
        super().__init__()
        self.first = nn.Linear(inward, hidden, bias=False)
        self.second = nn.Linear(hidden, outward, bias=False)

    def forward(self, x):
        return self.second(F.silu(self.first(x)))


class Boundary(nn.Module):
    """What the stages before and after it hold for it."""

    def __init__(self, config, codec, width, side_width):
        super().__init__()
        d = config.hidden_size
        self.codec, self.width = codec, width
        if codec == "resbm":
            hidden = max(4 * width, 64)
            self.encoder, self.decoder = Pair(d, hidden, width), Pair(width, hidden, d)
        elif codec != "none":
            self.encoder, self.decoder = nn.Linear(d, width, bias=False), nn.Linear(width, d, bias=False)
        if side_width > 0:
            self.side_table = nn.Embedding(config.vocab_size, side_width)
            self.side = nn.Linear(side_width, d, bias=False)

    def send(self, attended, out):
        """`attended`: the last block's stream after attention. `out`: its feed-forward part, without that stream."""
        if self.codec == "none":
            return attended + out
        if self.codec == "resbm":
            stream = attended + out
            return cross(self.encoder(stream) + stream[..., :self.width], self.codec)
        return cross(self.encoder(F.silu(out)) + attended[..., :self.width], self.codec)

    def receive(self, wire, ids):
        """Input of the first block's attention, what is added to its output, and what to its first channels."""
        side = self.side(self.side_table(ids)) if hasattr(self, "side") else None
        if self.codec in ("none", "resbm"):
            stream = wire
            if self.codec == "resbm":
                stream = self.decoder(wire) + F.pad(wire, (0, self.decoder.second.out_features - self.width))
            stream = stream if side is None else stream + side
            return stream, stream, None
        lifted = F.relu(self.decoder(wire))
        return (lifted if side is None else lifted + side), side, wire


class IotaModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        parts = config.iota
        self.stages = parts["layersOfStages"]
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Block(config, layer) for layer in range(config.num_hidden_layers))
        self.boundary = nn.ModuleDict({
            str(i + 1): Boundary(config, b["codec"], b["width"], parts["sideWidth"])
            for i, b in enumerate(parts["boundaries"])
        })
        self.norm = Gain(config)
        self.head, self.base = config.hidden_size // config.num_attention_heads, config.rope_theta
        self.scaling = config.rope_scaling

    def rope(self, positions, dtype):
        steps = torch.arange(0, self.head, 2, device=positions.device, dtype=torch.float32)
        frequencies = self.base ** (-steps / self.head)
        if self.scaling is not None:  # of Llama 3.1: slow channels turn slower still
            low, high = self.scaling["low_freq_factor"], self.scaling["high_freq_factor"]
            turns = self.scaling["original_max_position_embeddings"] * frequencies / (2 * torch.pi)
            kept = ((turns - low) / (high - low)).clamp(0, 1)
            frequencies = frequencies * ((1 - kept) / self.scaling["factor"] + kept)
        angles = positions[..., None].float() * frequencies
        angles = torch.cat((angles, angles), -1)[:, None]
        return angles.cos().to(dtype), angles.sin().to(dtype)

    def forward(self, ids, positions, mask, cache):
        x = self.embed_tokens(ids)
        rope = self.rope(positions, x.dtype)
        layers = iter(self.layers)
        residual, leading = x, None
        for stage, count in enumerate(self.stages):
            for i in range(count):
                block = next(layers)
                attended = block.self_attn(block.input_layernorm(x), rope, mask, cache)
                attended = attended if residual is None else attended + residual
                if leading is not None:
                    attended = attended + F.pad(leading, (0, attended.shape[-1] - leading.shape[-1]))
                out = block.mlp(block.post_attention_layernorm(attended))
                x, leading = attended + out, None
                residual = x
            if stage < len(self.stages) - 1:
                boundary = self.boundary[str(stage + 1)]
                x, residual, leading = boundary.receive(boundary.send(attended, out), ids)
        return self.norm(x)


class IotaForCausalLM(PreTrainedModel, GenerationMixin):
    config_class = IotaConfig
    base_model_prefix = "model"
    _supports_cache_class = True
    _supports_sdpa = True

    def __init__(self, config):
        super().__init__(config)
        self.model = IotaModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def get_input_embeddings(self):
        return self.model.embed_tokens

    def get_output_embeddings(self):
        return self.lm_head

    def forward(self, input_ids, attention_mask=None, position_ids=None, past_key_values=None, labels=None,
                use_cache=None, **_):
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache()
        past = 0 if past_key_values is None else past_key_values.get_seq_length()
        batch, length = input_ids.shape
        keys = torch.arange(past + length, device=input_ids.device)
        allowed = (keys[None, :] <= keys[past:, None])[None, None]
        if attention_mask is not None and attention_mask.dim() == 2:
            real = attention_mask[:, None, None, :past + length].bool()
            allowed = allowed & (real | (keys[None, :] == keys[past:, None]))  # a padded row still sees itself
            if position_ids is None:
                position_ids = (attention_mask.long().cumsum(-1) - 1).clamp(min=0)[:, past:past + length]
        if position_ids is None:
            position_ids = keys[None, past:].expand(batch, -1)
        hidden = self.model(input_ids, position_ids, allowed, past_key_values)
        logits = self.lm_head(hidden)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), labels[:, 1:].flatten())
        return CausalLMOutputWithPast(loss=loss, logits=logits, past_key_values=past_key_values)

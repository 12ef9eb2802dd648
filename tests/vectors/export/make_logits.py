"""Makes logits.json: what Hugging Face transformers computes from our exports, and llama/: a model that transformers wrote.

Run from the repository's root, with Python 3.11 in a virtual environment:
    pip install "torch==2.6.0" "transformers==4.49.0" "numpy<2.3"
    deno run -A tests/support/exported_models.ts /tmp/exports
    python tests/vectors/export/make_logits.py /tmp/exports

logits.json: per kind of export the logits of the last position for `tokens`, and the SHA-256 of the files that the numbers
come from. llama/ has untied weights in bfloat16, in three shards; its logits are computed in float32. llama-rope/ has the rotary angles
of Llama 3.1 (factor 8 over a short original context) and a tied head.
"""

import hashlib
import json
import pathlib
import shutil
import sys

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

torch.set_num_threads(1)
here = pathlib.Path(__file__).parent
tokens = [84, 104, 101, 32, 112, 101, 111, 112, 108, 101, 44, 0, 255]
files = ("model.safetensors", "config.json", "modeling_iota.py")


def last_logits(model):
    with torch.no_grad():
        return [round(value, 6) for value in model(torch.tensor([tokens])).logits[0, -1].tolist()]


kinds = {}
for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    export = folder / "model"
    model, info = AutoModelForCausalLM.from_pretrained(export, trust_remote_code=True, output_loading_info=True)
    assert not any(info.values()), info
    hashes = {name: hashlib.sha256((export / name).read_bytes()).hexdigest() for name in files if (export / name).exists()}
    kinds[folder.name] = {"hashes": hashes, "logits": last_logits(model)}

shape = dict(vocab_size=260, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=32, rope_theta=50_000.0, rms_norm_eps=1e-5,
             initializer_range=0.3, bos_token_id=256, eos_token_id=256)
rope = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)
own = {"llama": dict(tie_word_embeddings=False), "llama-rope": dict(tie_word_embeddings=True, rope_scaling=rope)}
seeds = {"llama": 7, "llama-rope": 3}  # the second: no near ties in greedy.json, which llama.cpp's float16 cache would decide
for name, fields in own.items():
    torch.manual_seed(seeds[name])
    model = LlamaForCausalLM(LlamaConfig(**shape, **fields)).to(torch.bfloat16)
    shutil.rmtree(here / name, ignore_errors=True)
    model.save_pretrained(here / name, max_shard_size="30KB")
    shutil.copy(pathlib.Path(sys.argv[1]) / "plain" / "model" / "tokenizer.json", here / name)
    read = LlamaForCausalLM.from_pretrained(here / name, torch_dtype=torch.float32)
    kinds[name] = {"hashes": {}, "logits": last_logits(read)}

(here / "logits.json").write_text(json.dumps({"tokens": tokens, "kinds": kinds}, indent=1) + "\n")

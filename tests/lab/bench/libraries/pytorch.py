"""
PyTorch as `iota bench` measures it beside ours: `pytorch.py cpu`, on one thread of the processor, or `pytorch.py gpu`, float32
without TF32, as ours computes. JSON lines in and out, as main.ts has them for the libraries of npm. The model, its tokens and its
step are those of ours in eager mode.
"""

import json
import resource
import sys
import time

BATCHES_IN_BUDGET = 4
WARM_UP_BUDGETS = 2


def answer(line):
    print(json.dumps(line), flush=True)


try:
    import torch
    import torch.nn.functional as F
except ImportError:
    answer({"missing": "is not installed for this python3"})
    sys.exit(0)

torch.set_num_threads(1)
is_on_gpu = sys.argv[1:] == ["gpu"]
if is_on_gpu:
    if not torch.cuda.is_available():
        answer({"missing": "finds no GPU of its own (CUDA or ROCm)"})
        sys.exit(0)
    torch.set_default_device("cuda")
    torch.backends.cuda.matmul.allow_tf32 = False


def settle():
    """Returns when everything that was started is done."""
    if is_on_gpu:
        torch.cuda.synchronize()


def values(*shape):
    count = 1
    for size in shape:
        count *= size
    return ((torch.arange(count) % 251) / 251 - 0.5).reshape(shape)


def gemm(task):
    rows, inner, outer = task["rows"], task["inWidth"], task["outWidth"]
    x, w, y = values(rows, inner), values(outer, inner), values(rows, outer)
    product = {
        "forward": lambda: x @ w.T,
        "inputGradient": lambda: y @ w,
        "weightGradient": lambda: y.T @ x,
    }[task["kind"]]
    return 2 * rows * inner * outer, product


def attention(task):
    length, heads, width = task["length"], task["heads"], task["headWidth"]
    shape = (task["sequences"], heads, length, width)
    dots = task["sequences"] * heads * width * length * (length + 1)
    q, k, v, gradient = (values(*shape) for _ in range(4))
    attend = lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)
    if task["pass"] == "forward":
        return 2 * dots, attend
    for tensor in (q, k, v):
        tensor.requires_grad_()
    output = attend()
    return 5 * dots, lambda: torch.autograd.grad(output, (q, k, v), gradient, retain_graph=True)


class Block(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        width, ffn = model["width"], model["ffnWidth"]
        kv = width * model["kvHeads"] // model["heads"]
        self.heads, self.kv_heads = model["heads"], model["kvHeads"]
        self.n1, self.n2 = (torch.nn.RMSNorm(width, model["normEpsilon"]) for _ in range(2))
        linear = lambda rows, columns: torch.nn.Linear(rows, columns, bias=False)
        self.qkv, self.o = linear(width, width + 2 * kv), linear(width, width)
        self.gate_up, self.down = linear(width, 2 * ffn), linear(ffn, width)
        self.sizes = [width, kv, kv]

    def forward(self, x, cos, sin):
        b, t, width = x.shape
        q, k, v = self.qkv(self.n1(x)).split(self.sizes, -1)
        heads = lambda z, count: z.view(b, t, count, -1).transpose(1, 2)

        def rotated(z):
            first, second = z.chunk(2, -1)
            return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)

        q, k, v = rotated(heads(q, self.heads)), rotated(heads(k, self.kv_heads)), heads(v, self.kv_heads)
        groups = self.heads // self.kv_heads
        if groups > 1:
            k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(attended.transpose(1, 2).reshape(b, t, width))
        gate, up = self.gate_up(self.n2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Model(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        width, vocabulary, length = model["width"], model["vocabSize"], model["contextLength"]
        self.embedding = torch.nn.Embedding(vocabulary, width)
        self.blocks = torch.nn.ModuleList(Block(model) for _ in range(model["layers"]))
        self.norm = torch.nn.RMSNorm(width, model["normEpsilon"])
        self.head = torch.nn.Linear(width, vocabulary, bias=False)
        half = width // model["heads"] // 2
        angles = torch.outer(torch.arange(length), model["ropeBase"] ** (-torch.arange(half) / half))
        self.cos, self.sin = angles.cos(), angles.sin()

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        return self.head(self.norm(x))


def step(task):
    model = Model(task["model"])
    length, vocabulary = task["model"]["contextLength"], task["model"]["vocabSize"]
    tokens = (torch.arange(task["sequences"] * length) * 7 % vocabulary).view(-1, length)
    optimizer = torch.optim.AdamW(model.parameters(), task["learningRate"], (0.9, 0.95), weight_decay=0.1)

    def once():
        optimizer.zero_grad()
        for _ in range(task["microbatches"]):
            loss = F.cross_entropy(model(tokens).view(-1, vocabulary), tokens.view(-1))
            (loss / task["microbatches"]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()
        optimizer.step()

    return tokens.numel() * task["microbatches"], once


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measure(units, once, budget_ms):
    """The loop of gpu/speed/batch_speed.ts."""
    end, wanted = time.perf_counter() + budget_ms / 1000, budget_ms / 1000 / BATCHES_IN_BUDGET
    per_second = per_cpu_second = last = 0.0
    times = 1
    settle()
    while per_second == 0 or time.perf_counter() + last < end:
        start, cpu = time.perf_counter(), cpu_seconds()
        for _ in range(times):
            once()
        settle()
        last, used = time.perf_counter() - start, cpu_seconds() - cpu
        per_second = max(per_second, times * units / last)
        per_cpu_second = max(per_cpu_second, times * units / max(1e-6, used))
        if last < wanted:
            times = -int(-times * max(2, min(8, wanted / last)) // 1)
    return {"perSecond": per_second, "perCpuSecond": per_cpu_second}


prepared = {"gemm": gemm, "attention": attention, "step": step}
known = (None, None)
answer({"version": f"{torch.__version__}, {'eager float32' if is_on_gpu else 'one thread'}"})
for line in sys.stdin:
    request = json.loads(line)
    try:
        if known[0] != request["task"]:
            known = (request["task"], prepared[request["task"]["type"]](request["task"]))
            measure(*known[1], WARM_UP_BUDGETS * request["budgetMs"])
        answer(measure(*known[1], request["budgetMs"]))
    except RuntimeError as error:
        answer({"missing": str(error)})

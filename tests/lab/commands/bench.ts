/**
 * `lab bench`: measures the code beside other libraries, and what an orchestrator costs. The benchmarks are in
 * tests/lab/bench.
 */

import { refuseIgnored, unknownName } from "../../../cli/tools/bench/taken_words.ts";
import type { Command, CommandContext } from "../../../cli/terminal/command.ts";
import { command as product } from "../../../cli/commands/bench.ts";
import { deviceOption, threadsOption } from "../../../cli/terminal/options/node_options.ts";

/** A new benchmark is one line here and one folder or file in tests/lab/bench. */
const benchmarks: Readonly<Record<string, (context: CommandContext) => Promise<number>>> = {
  hub: async (context) => await (await import("../bench/hub_bench.ts")).runHubBench(context),
  step: async (context) => await (await import("../bench/compute/step_bench.ts")).runStepBench(context),
  gemm: async (context) => await (await import("../bench/compute/gemm_bench.ts")).runGemmBench(context),
  attention: async (context) => await (await import("../bench/compute/attention_bench.ts")).runAttentionBench(context),
  wire: async (context) => await (await import("../bench/wire_bench.ts")).runWireBench(context),
  adapter: async (context) => await product.run(context),
};

export const command: Command = {
  name: "bench",
  summary: "measure kernels, training steps, wires and the orchestrator, beside other libraries",
  usage: "bench step|gemm|attention|wire|adapter|hub [PART] [options]",
  about:
    "Step measures whole training steps of a model on one device, gemm the matrix products in them, attention the attention; each " +
    "beside other libraries (jax-js, tfjs, onnxruntime-web, PyTorch), in turn, per CPU second, as medians. Wire tells the bytes of " +
    "every wire codec for a model of so many channels, with gradients of codes in 8 bits, without the ids of tokens, and with some " +
    "0.07 bytes per token of framing. `bench hub` measures an orchestrator. Its parts: relay moves segments from one node through it " +
    "to another, over real sockets and between processes, and compares it with the bare WebSocket library. hello measures what a " +
    "connecting node costs. messages sends small messages there and back. restart measures how long the orchestrator is away after " +
    "a kill at the worst moment. machine runs the orchestrator alone in virtual time: how well it fills a pipeline, and how it " +
    "handles ten thousand miners for ten minutes.",
  examples: [
    "lab bench step --size tiny",
    "lab bench gemm --device cpu --peers jax-js",
    "lab bench wire --d 2048",
    "lab bench hub relay --seconds 10",
    "lab bench hub --json",
  ],
  options: [
    deviceOption,
    { ...threadsOption, defaultText: "1, as other libraries have" },
    {
      name: "size",
      kind: "string",
      placeholder: "NAME",
      default: "1m",
      doc: "the model of step: 1m (0.92 M parameters), or a size of iota swarm that one device holds",
    },
    {
      name: "d",
      kind: "int",
      placeholder: "N",
      min: 32,
      max: 65_536,
      default: 2048,
      doc: "the model's width for wire, in channels: a multiple of 32",
    },
    {
      name: "peers",
      kind: "string",
      placeholder: "LIST",
      default: "all",
      suggestions: ["all", "none", "jax-js", "tfjs", "onnxruntime-web", "pytorch"],
      doc: "other libraries to measure beside ours: all, none, or names with commas",
    },
    {
      name: "seconds",
      kind: "float",
      placeholder: "S",
      min: 0.1,
      max: 600,
      default: 3,
      doc: "how long each number is measured, after a warm-up",
    },
  ],
  positionals: { max: 2, placeholder: "PART", choices: Object.keys(benchmarks) },
  rights: { read: "any", write: "any", net: "any", run: "any", env: "any", sys: "any" },
  async run(context) {
    const [name = ""] = context.positionals;
    const run = Object.hasOwn(benchmarks, name) ? benchmarks[name] : undefined;
    if (run === undefined) throw unknownName("benchmark", { name, known: Object.keys(benchmarks) });
    refuseIgnored(context, { program: "lab", takers, declared: command.options });
    return await run(context);
  },
};

/** Options by the words after `lab bench`; of the parts of `hub`, those that measure for some seconds. */
const takers: Readonly<Record<string, readonly string[]>> = {
  step: ["device", "threads", "size", "peers", "seconds"],
  gemm: ["device", "threads", "peers", "seconds"],
  attention: ["device", "threads", "peers", "seconds"],
  adapter: ["device", "seconds"],
  wire: ["d", "seconds"],
  hub: ["seconds"],
  "hub relay": ["seconds"],
  "hub hello": ["seconds"],
  "hub messages": ["seconds"],
  "hub restart": [],
  "hub machine": [],
};

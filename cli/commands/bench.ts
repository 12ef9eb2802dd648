/**
 * `iota bench`: measures this machine. The benchmarks are in cli/bench.
 *
 * Two words are internal: benchmarks start `iota bench peer SPEC` as the process at the other end of a link, and `iota bench
 * compile DEVICE` as one that compiles a stage's kernels.
 */

import type { Command, CommandContext } from "../command.ts";
import { deviceOption, memoryOption, threadsOption, tlsAuthorityOption } from "../options/node_options.ts";

/** A new benchmark is one line here and one folder or file in cli/bench. */
const benchmarks: Readonly<Record<string, (context: CommandContext) => Promise<number>>> = {
  hub: async (context) => await (await import("../bench/hub_bench.ts")).runHubBench(context),
  step: async (context) => await (await import("../bench/compute/step_bench.ts")).runStepBench(context),
  gemm: async (context) => await (await import("../bench/compute/gemm_bench.ts")).runGemmBench(context),
  attention: async (context) => await (await import("../bench/compute/attention_bench.ts")).runAttentionBench(context),
  wire: async (context) => await (await import("../bench/wire_bench.ts")).runWireBench(context),
  adapter: async (context) => await (await import("../bench/compute/adapter_bench.ts")).runAdapterBench(context),
};

export const command: Command = {
  name: "bench",
  summary: "measure what this machine can compute, or carry as an orchestrator",
  usage: "bench [step|gemm|attention|wire|adapter|hub] [PART] [options]",
  about:
    "Alone it tells within a minute what this machine is worth to a run: which stages of each size it can hold, how many tokens a " +
    "second pass through one, and what its link must carry. Step measures whole training steps of a model on one device, gemm " +
    "the matrix products in them, attention the attention; in a checkout of the source each is measured beside other libraries " +
    "(jax-js, tfjs, onnxruntime-web, PyTorch), in turn, per CPU second, as medians. Adapter measures what the device can do at most, " +
    "what its use costs and how long it compiles. Wire tells the bytes of every wire codec for a model of so many channels, with gradients of codes in 8 bits, without the ids " +
    "of tokens, and with some 0.07 bytes per token of framing. Hub measures an orchestrator. Its parts: relay moves segments from one node through " +
    "the hub to another, over real sockets and between processes, and compares it with the " +
    "bare WebSocket library. hello measures what a connecting node costs. messages sends small messages there and back. restart measures how long the " +
    "orchestrator is away after a kill at the worst moment. machine runs the orchestrator alone in virtual time: how well it fills " +
    "a pipeline, and how it handles ten thousand miners for ten minutes.",
  examples: [
    "iota bench",
    "iota bench --tune",
    "iota bench --memory 8GiB --orchestrator wss://hub.example:9009",
    "iota bench step --size tiny",
    "iota bench gemm --device cpu --peers jax-js",
    "iota bench adapter",
    "iota bench wire --d 2048",
    "iota bench hub relay --seconds 10",
    "iota bench hub --json",
  ],
  options: [
    deviceOption,
    { ...threadsOption, defaultText: "1, as other libraries have; one for each core when bench runs alone" },
    memoryOption,
    {
      name: "orchestrator",
      kind: "string",
      placeholder: "URL",
      doc: "the hub whose link is measured when bench runs alone",
    },
    tlsAuthorityOption,
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
      doc: "other libraries to measure beside ours, from a checkout: all, none, or names with commas",
    },
    {
      name: "tune",
      kind: "boolean",
      doc:
        "alone: find the fastest kernels of this adapter, for the model of --size (100m on a GPU), and keep them in the data folder",
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
  positionals: { max: 2, placeholder: "PART", choices: ["hub", "step", "gemm", "attention", "wire", "adapter"] },
  rights: { read: "any", write: "any", net: "any", run: "any", env: "any", sys: "any" }, // starts peers as processes; whole: confinement.ts
  async run(context) {
    const [name, part] = context.positionals;
    if (name === "peer") return await (await import("../bench/peer.ts")).runPeer(part ?? "");
    if (name === "compile") return await (await import("../bench/compute/adapter_bench.ts")).runCompile(part ?? "auto");
    const run = name !== undefined && Object.hasOwn(benchmarks, name) ? benchmarks[name] : undefined;
    if (name !== undefined && run === undefined) {
      const { unknownName } = await import("../bench/unknown_name.ts");
      throw unknownName("benchmark", { name, known: Object.keys(benchmarks) });
    }
    (await import("../bench/ignored_words.ts")).refuseIgnored(context, command.options);
    if (run !== undefined) return await run(context);
    if (context.options.flag("tune")) return await (await import("../bench/compute/tune_bench.ts")).runTune(context);
    return await (await import("../bench/compute/worth_bench.ts")).runWorthBench(context);
  },
};

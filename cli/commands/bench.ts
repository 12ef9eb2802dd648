/**
 * Measurements are in cli/tools/bench. They start `iota bench peer SPEC` as the process at the other end of a link, and
 * `iota bench compile DEVICE` as one that compiles a stage's kernels.
 */

import type { Command, CommandContext } from "../terminal/command.ts";
import { deviceOption, memoryOption, threadsOption, tlsAuthorityOption } from "../terminal/options/node_options.ts";

const benchmarks: Readonly<Record<string, (context: CommandContext) => Promise<number>>> = {
  hub: async (context) => await (await import("../tools/bench/hub_bench.ts")).runHubBench(context),
  adapter: async (context) => await (await import("../tools/bench/adapter_bench.ts")).runAdapterBench(context),
};

export const command: Command = {
  name: "bench",
  summary: "measure what this machine can compute, or carry as an orchestrator",
  usage: "bench [adapter|hub] [options]",
  about:
    "Alone it tells within a minute what this machine is worth to a run: which stages of each size it can hold, how many tokens a " +
    "second pass through one, and what its link must carry. `adapter` measures what the device can do at most, what its use costs " +
    "and how long it compiles. `hub` moves segments between two processes through an orchestrator of this machine, over real " +
    "sockets, and tells how many miners of each size it could carry.",
  examples: [
    "iota bench",
    "iota bench --tune",
    "iota bench --memory 8GiB --orchestrator wss://hub.example:9009",
    "iota bench adapter",
    "iota bench hub",
  ],
  options: [
    deviceOption,
    { ...threadsOption, defaultText: "one for each core" },
    memoryOption,
    {
      name: "orchestrator",
      kind: "string",
      placeholder: "URL",
      doc: "the orchestrator whose link is measured when bench runs alone",
    },
    tlsAuthorityOption,
    {
      name: "tune",
      kind: "boolean",
      doc: "alone: find the fastest kernels of this adapter, for the model of --size, and keep them in the data folder",
    },
    {
      name: "size",
      kind: "string",
      placeholder: "NAME",
      defaultText: "100m on a GPU, otherwise tiny",
      doc: "the model of --tune",
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
  positionals: { max: 2, placeholder: "PART", choices: ["hub", "adapter"] },
  rights: { read: "any", write: "any", net: "any", run: "any", env: "any", sys: "any" }, // starts peers as processes; whole: confinement.ts
  async run(context) {
    const [name, part] = context.positionals;
    if (name === "peer") return await (await import("../tools/bench/peer.ts")).runPeer(part ?? "");
    if (name === "compile") return await (await import("../tools/bench/adapter_bench.ts")).runCompile(part ?? "auto");
    const run = name !== undefined && Object.hasOwn(benchmarks, name) ? benchmarks[name] : undefined;
    const { refuseIgnored, unknownName } = await import("../tools/bench/taken_words.ts");
    if (name !== undefined && run === undefined) {
      throw unknownName("benchmark", { name, known: Object.keys(benchmarks) });
    }
    refuseIgnored(context, { program: "iota", takers, declared: command.options });
    if (run !== undefined) return await run(context);
    if (context.options.flag("tune")) return await (await import("../tools/bench/tune_bench.ts")).runTune(context);
    return await (await import("../tools/bench/worth_bench.ts")).runWorthBench(context);
  },
};

const takers: Readonly<Record<string, readonly string[]>> = {
  "": ["device", "threads", "memory", "orchestrator", "tls-ca"],
  "--tune": ["device", "size", "tune"],
  adapter: ["device", "seconds"],
  hub: ["seconds"],
};

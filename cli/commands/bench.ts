/**
 * `iota bench`: measures this machine. The benchmarks are in cli/bench.
 *
 * `iota bench peer SPEC` is internal: benchmarks start it as the process at the other end of a link.
 */

import type { Command, CommandContext } from "../command.ts";
import { deviceOption, threadsOption } from "../options/node_options.ts";

/** A new benchmark is one line here and one folder or file in cli/bench. */
const benchmarks: Readonly<Record<string, (context: CommandContext) => Promise<number>>> = {
  hub: async (context) => await (await import("../bench/hub_bench.ts")).runHubBench(context),
  step: async (context) => await (await import("../bench/step_bench.ts")).runStepBench(context),
  gemm: async (context) => await (await import("../bench/gemm_bench.ts")).runGemmBench(context),
};

export const command: Command = {
  name: "bench",
  summary: "measure what this machine can compute, or carry as an orchestrator",
  usage: "bench step|gemm|hub [PART] [options]",
  about:
    "The benchmark step measures whole training steps of a model on one device, gemm the matrix products in them. Hub measures an orchestrator. Its parts: relay moves segments from one node through the hub to another, over real sockets and between processes, and compares it with the " +
    "bare WebSocket library. hello measures what a connecting node costs. messages sends small messages there and back. restart measures how long the " +
    "orchestrator is away after a kill at the worst moment. machine runs the orchestrator alone in virtual time: how well it fills " +
    "a pipeline, and how it handles ten thousand miners for ten minutes.",
  examples: [
    "iota bench step --size tiny",
    "iota bench gemm --device cpu",
    "iota bench hub",
    "iota bench hub relay --seconds 10",
    "iota bench hub --json",
  ],
  options: [
    deviceOption,
    threadsOption,
    {
      name: "size",
      kind: "string",
      placeholder: "NAME",
      default: "1m",
      doc: "the model of step: 1m (0.92 M parameters), or a size of iota swarm that one device holds",
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
  positionals: { max: 2, placeholder: "PART", choices: ["hub", "step", "gemm"] },
  rights: { read: "any", write: "any", net: "any", run: "any", env: "any" }, // starts peers as processes
  async run(context) {
    const [name, part] = context.positionals;
    if (name === "peer") return await (await import("../bench/peer.ts")).runPeer(part ?? "");
    const run = name !== undefined && Object.hasOwn(benchmarks, name) ? benchmarks[name] : undefined;
    if (run === undefined) {
      const { unknownName } = await import("../bench/unknown_name.ts");
      throw unknownName("benchmark", { name, known: Object.keys(benchmarks) });
    }
    return await run(context);
  },
};

/** The device that all nodes of a swarm share: opened before anything starts, so that mistakes fail first. */

import type { ComputeWorker } from "../../gpu/worker_client.ts";
import type { CommandContext } from "../terminal/command.ts";
import { byteOption } from "../terminal/text/byte_text.ts";
import { tuningFolder } from "../program/paths.ts";
import { type Memory, mustFit } from "../device/model_fit.ts";
import type { RunPlan } from "../orchestrator/run/plan_run.ts";
import { deviceSentence, deviceText, openDevice, threadsOf } from "../device/open_device.ts";
import { readTuning } from "../device/tuning_file.ts";

export const usersFolder = (context: CommandContext): string =>
  tuningFolder(context.environment) ?? context.dataFolder();

/** Opens the device of all nodes, and leaves it at rest. */
export async function preflight(
  context: CommandContext,
  { config, folder: { isResumed } }: RunPlan,
): Promise<ComputeWorker> {
  const { pipeline, swarm } = config;
  const nodes = pipeline.stages * swarm.replicas + swarm.validators;
  const threads = context.options.number("threads") ?? threadsOf(nodes);
  const tuned = await readTuning(usersFolder(context));
  const worker = await openDevice(context.options.text("device"), { isShared: true, threads, tuned });
  context.output.line(deviceSentence(worker));
  context.output.detail(`Computes on ${deviceText(worker)}`);
  try {
    const given = byteOption("memory", context.options.text("memory"));
    const memory: Memory = { memoryBytes: given ?? Infinity };
    if (!isResumed) await mustFit(config, { worker, memory, memoryBytes: () => Deno.systemMemoryInfo().available });
  } finally {
    await worker.finish();
  }
  return worker;
}

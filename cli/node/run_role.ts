/** Runs a node's role from its start to its summary and exit code. */

import type { CommandContext } from "../terminal/command.ts";
import { Terminated } from "../program/errors.ts";
import { newVersion } from "../files/long_run.ts";
import type { RunningRole } from "./miner_role.ts";
import type { OpenNode } from "./run_node.ts";

interface RoleOptions {
  readonly node: OpenNode;
  readonly start: () => Promise<RunningRole>;
  readonly failed?: Promise<never>;
  readonly end?: (options: { isFinished: boolean; interruption: AbortSignal }) => Promise<void>;
  readonly summary: () => Record<string, unknown>;
}

export async function runRole(context: CommandContext, options: RoleOptions): Promise<number> {
  const { node } = options;
  const { output } = context;
  const interruption = context.interruption();
  const role = await options.start();
  const onAbort = () => role.stop("interrupted");
  interruption.addEventListener("abort", onAbort);
  if (interruption.aborted) onAbort();
  try {
    const { finished, reason } = await Promise.race([role.finished, ...(options.failed ? [options.failed] : [])]);
    await options.end?.({ isFinished: finished, interruption });
    const { address } = node.signer;
    const { adapter, losses: deviceLosses } = node.device;
    output.summary({ node: address, finished, reason, device: adapter.name, deviceLosses, ...options.summary() });
    if (!finished) output.log.warn(`Stopped: ${reason}`);
    const isInOrder = finished || interruption.reason instanceof Terminated || reason === newVersion;
    return isInOrder ? 0 : 1;
  } finally {
    await node.device.finish();
  }
}

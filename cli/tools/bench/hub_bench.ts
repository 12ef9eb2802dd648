/**
 * `iota bench hub`: how many miners of each size an orchestrator on this machine could carry.
 *
 * Wires pass through it, so its relay rate is the limit. That is measured between two processes, with every event in
 * the journal, and divided by the traffic of a miner of 10 TFLOP/s. The internet connection, usually slower, is left
 * out.
 */

import { resolveConfig } from "../../../core/settings/parse.ts";
import { type SizeName, sizeNames } from "../../../core/config/size.ts";
import { stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { interrupted, untilStopped } from "../../program/errors.ts";
import { byteSize, decimal } from "../../terminal/text/format.ts";
import { roundBytes } from "../plan/round_bytes.ts";
import { measureMessages } from "./messages.ts";
import { measureRelay } from "./relay.ts";

const segmentBytes = 1024 * 1024;
const minerFlops = 1e13; // a second, as a recent gaming GPU reaches

export async function runHubBench(context: CommandContext): Promise<number> {
  const { output, options } = context;
  const signal = context.interruption();
  const seconds = options.number("seconds") ?? 3;
  const summary: Record<string, unknown> = {};
  const measureAll = async () => {
    const relayed = await measureRelay({ way: "session, journaled", segmentBytes, seconds, signal });
    const bytesPerSecond = relayed.bytes / relayed.seconds;
    Object.assign(summary, {
      relayJournaledMegabytesPerSecond: bytesPerSecond / 1e6,
      relayJournaledCpuSecondsPerGigabyte: relayed.cpuSeconds / (relayed.bytes / 1e9),
    });
    output.line(`Relays ${byteSize(bytesPerSecond)}/s in segments of ${byteSize(segmentBytes)}, journal included`);
    const sent = await measureMessages(seconds, signal);
    summary["messageRoundTripsPerSecond"] = sent.count / sent.seconds;
    output.line(`Sends ${decimal(Math.round(sent.count / sent.seconds))} small messages a second there and back`);
    summary["miners"] = Object.fromEntries(judgedSizes.map((size) => [size, carriedMiners(size, bytesPerSecond)]));
    output.line(`Miners of ${minerFlops / 1e12} TFLOP/s that it could carry, by size of the model:`);
    for (const [size, miners] of Object.entries(summary["miners"] as object)) {
      output.line(`  ${size.padEnd(6)}${decimal(miners).padStart(8)}`);
    }
  };
  await untilStopped(measureAll, () => output.summary({ ...summary, ...interrupted }));
  output.summary(output.mode === "json" ? summary : {});
  return 0;
}

/** Smaller models are bound by their links. */
const judgedSizes = sizeNames.slice(sizeNames.indexOf("100m"));

export function carriedMiners(size: SizeName, bytesPerSecond: number): number {
  const resolved = resolveConfig({ size });
  if (!resolved.ok) throw new Error(`size ${size} must be valid by itself`);
  const { config } = resolved;
  const rounds = roundBytes(config, stageSpecs(config, splitLayers(config)));
  const rates = rounds.map(({ wires, merge, shown, flops }) =>
    (wires.received + wires.sent + merge.received + merge.sent + shown) / (flops / minerFlops)
  );
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  return Math.floor(2 * bytesPerSecond / mean); // a relayed byte is received once and sent once
}

/**
 * `iota bench wire`: what every wire codec puts on a socket, and what its code on the processor costs.
 *
 * Bytes are those of the very frames that carry a microbatch's wire: the output of a forward (`taskDone`) and the gradient of a
 * backward. A device with kernels of its own encodes there; the speeds here are of the code that checks, compares and stands in
 * for it, in bytes of float32 values per CPU second.
 */

import process from "node:process";
import type { WireDirection } from "../../core/codec/codec.ts";
import { type Codec, codecNames } from "../../core/codec/codec_names.ts";
import { codecs } from "../../core/codec/codecs.ts";
import { decodeWire, encodeWire, type Wire } from "../../core/codec/wire.ts";
import { microbatchId, stageIndex, taskId } from "../../core/ids.ts";
import { keyOf, nextUint32, openStream } from "../../core/prng.ts";
import type { NodeMessage } from "../../core/protocol/message.ts";
import { encodeFrame } from "../../net/messages/frame.ts";
import type { CommandContext } from "../command.ts";

const rows = 2048; // tokens of a microbatch: one sequence of the larger sizes
const share = 32; // of the model's width that crosses: 64 values of 2048
const directions: readonly WireDirection[] = ["forward", "gradient"];

const task = taskId({ microbatch: microbatchId(123_456), stage: stageIndex(12), direction: "forward", attempt: 0 });

export interface WireCost {
  readonly codec: Codec;
  readonly direction: WireDirection;
  readonly values: number; // per token
  readonly bytesPerToken: number; // on the socket, framing included
  readonly timesSmaller: number; // than the whole residual stream in bfloat16
  readonly encodeGbPerCpuSecond: number;
  readonly decodeGbPerCpuSecond: number;
}

export function runWireBench(context: CommandContext): number {
  const { options, output } = context;
  const width = options.number("d") ?? 2048;
  const seconds = options.number("seconds") ?? 3;
  const wires = codecNames.flatMap((codec) => directions.map((direction) => wireOf({ codec, direction }, width)));
  output.line(`${width} channels, microbatches of ${rows} tokens; bfloat16 would take ${2 * width} bytes per token`);
  output.line(
    `${"codec".padEnd(9)}${"direction".padEnd(11)}${"values".padStart(6)}${"bytes/token".padStart(13)}` +
      `${"smaller".padStart(10)}${"encode GB/s".padStart(13)}${"decode GB/s".padStart(13)}`,
  );
  const found = wires.map((wire): WireCost => {
    const cost = measured(wire, { width, seconds: seconds / wires.length });
    output.event({ type: "measurement", benchmark: "wire", ...cost });
    output.line(
      `${cost.codec.padEnd(9)}${cost.direction.padEnd(11)}${String(cost.values).padStart(6)}` +
        `${cost.bytesPerToken.toFixed(2).padStart(13)}${`${cost.timesSmaller.toFixed(1)}x`.padStart(10)}` +
        `${cost.encodeGbPerCpuSecond.toFixed(2).padStart(13)}${cost.decodeGbPerCpuSecond.toFixed(2).padStart(13)}`,
    );
    return cost;
  });
  output.answer({ d: width, rows: found }, "");
  return 0;
}

function wireOf({ codec, direction }: Pick<Wire, "codec" | "direction">, modelWidth: number): Wire {
  const bottleneckWidth = Math.max(8, modelWidth / share);
  const width = codecs[codec].wireWidth({ model: { width: modelWidth }, pipeline: { bottleneckWidth } });
  return { codec, direction, rows, width };
}

function measured(wire: Wire, { width, seconds }: { width: number; seconds: number }): WireCost {
  const stream = openStream(keyOf(1, "wire bench"));
  const values = Float32Array.from({ length: rows * wire.width }, () => nextUint32(stream) / 2 ** 32 - 0.5);
  const bytes = encodeWire(wire, values);
  const message: NodeMessage = { type: "taskDone", task, losses: null, computeMs: 123.456 };
  const bytesPerToken = encodeFrame({ header: message, segments: [bytes] }).length / rows;
  const gigabytes = 4 * values.length / 1e9;
  return {
    codec: wire.codec,
    direction: wire.direction,
    values: wire.width,
    bytesPerToken,
    timesSmaller: 2 * width / bytesPerToken,
    encodeGbPerCpuSecond: gigabytes * perCpuSecond(() => encodeWire(wire, values), seconds / 2),
    decodeGbPerCpuSecond: gigabytes * perCpuSecond(() => decodeWire(wire, bytes), seconds / 2),
  };
}

/** Times a CPU second, after a warm-up of a quarter. */
function perCpuSecond(work: () => void, seconds: number): number {
  repeat(work, seconds / 4);
  const { count, cpuSeconds } = repeat(work, seconds);
  return count / cpuSeconds;
}

function repeat(work: () => void, seconds: number): { count: number; cpuSeconds: number } {
  const start = process.cpuUsage();
  let count = 0;
  while (true) {
    work();
    count += 1;
    const { user, system } = process.cpuUsage(start);
    const cpuSeconds = (user + system) / 1e6;
    if (cpuSeconds >= seconds) return { count, cpuSeconds };
  }
}

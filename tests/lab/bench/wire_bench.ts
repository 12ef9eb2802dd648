/**
 * `lab bench wire`: what every wire codec puts on a socket, and what its code on the processor costs.
 *
 * Bytes are those of the very frames that carry a microbatch's wire: the output of a forward (`taskDone`) and the gradient of a
 * backward. A device with kernels of its own encodes there; the speeds here are of the code that checks, compares and stands in
 * for it, in bytes of float32 values per CPU second. Gradients of codecs with codes have the default number of bits, and no wire
 * carries its tokens' ids. Framing is the header of each frame, about 0.07 bytes per token of a microbatch.
 */

import process from "node:process";
import type { WireDirection } from "../../../core/codec/codec.ts";
import { type Codec, codecNames } from "../../../core/codec/codec_names.ts";
import { codecs } from "../../../core/codec/codecs.ts";
import { decodeWire, encodeWire, type Wire } from "../../../core/codec/wire.ts";
import { microbatchId, stageIndex, taskId } from "../../../core/ids.ts";
import { keyOf, nextUint32, openStream } from "../../../core/prng.ts";
import type { NodeMessage } from "../../../core/protocol/message.ts";
import { encodeFrame } from "../../../net/messages/frame.ts";
import { nextTurn } from "../../../net/turns.ts";
import type { CommandContext } from "../../../cli/terminal/command.ts";
import { interrupted, untilStopped, UsageError } from "../../../cli/program/errors.ts";

const rows = 2048; // tokens of a microbatch: one sequence of the larger sizes
const share = 32; // of the model's width that crosses: 64 values of 2048
const ofModel = 32, ofWire = 4; // widths are multiples of these: core/config/knobs.ts
const noticeSeconds = 0.1; // of the processor, between looks for Ctrl-C
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

export async function runWireBench(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const width = options.number("d") ?? 2048;
  mustBeWidth(width);
  const signal = context.interruption();
  const seconds = options.number("seconds") ?? 3;
  const wires = codecNames.flatMap((codec) => directions.map((direction) => wireOf({ codec, direction }, width)));
  output.line(`${width} channels, microbatches of ${rows} tokens; bfloat16 would take ${2 * width} bytes per token`);
  output.line(
    `${"codec".padEnd(9)}${"direction".padEnd(11)}${"values".padStart(6)}${"bytes/token".padStart(13)}` +
      `${"smaller".padStart(10)}${"encode GB/s".padStart(13)}${"decode GB/s".padStart(13)}`,
  );
  const found: WireCost[] = [];
  const measure = async (wire: Wire) => {
    const cost = await measured(wire, { width, seconds: seconds / wires.length, signal });
    output.event({ type: "measurement", benchmark: "wire", ...cost });
    output.line(
      `${cost.codec.padEnd(9)}${cost.direction.padEnd(11)}${String(cost.values).padStart(6)}` +
        `${cost.bytesPerToken.toFixed(2).padStart(13)}${`${cost.timesSmaller.toFixed(1)}x`.padStart(10)}` +
        `${cost.encodeGbPerCpuSecond.toFixed(2).padStart(13)}${cost.decodeGbPerCpuSecond.toFixed(2).padStart(13)}`,
    );
    found.push(cost);
  };
  const measureAll = async () => {
    for (const wire of wires) await measure(wire);
  };
  await untilStopped(measureAll, () => output.answer({ d: width, rows: found, ...interrupted }, ""));
  output.answer({ d: width, rows: found }, "");
  return 0;
}

function mustBeWidth(width: number): void {
  if (width % ofModel === 0) return;
  throw new UsageError(
    `--d is ${width}, and a model's width must be a multiple of ${ofModel}`,
    {
      next: `For example: lab bench wire --d ${ofModel * Math.round(width / ofModel)}`,
    },
  );
}

function wireOf({ codec, direction }: Pick<Wire, "codec" | "direction">, modelWidth: number): Wire {
  const bottleneckWidth = Math.max(8, ofWire * Math.ceil(modelWidth / share / ofWire));
  const width = codecs[codec].wireWidth({ model: { width: modelWidth }, pipeline: { bottleneckWidth } });
  return { codec, direction, rows, width };
}

async function measured(
  wire: Wire,
  { width, seconds, signal }: { width: number; seconds: number; signal: AbortSignal },
): Promise<WireCost> {
  const stream = openStream(keyOf(1, "wire bench"));
  const values = Float32Array.from({ length: rows * wire.width }, () => nextUint32(stream) / 2 ** 32 - 0.5);
  const bytes = encodeWire(wire, values);
  const message: NodeMessage = { type: "taskDone", task, losses: null, computeMs: 123.456 };
  const bytesPerToken = encodeFrame({ header: message, segments: [bytes] }).length / rows;
  const gigabytes = 4 * values.length / 1e9;
  const perCpuSecond = (work: () => void) => timesPerCpuSecond(work, { seconds: seconds / 2, signal });
  return {
    codec: wire.codec,
    direction: wire.direction,
    values: wire.width,
    bytesPerToken,
    timesSmaller: 2 * width / bytesPerToken,
    encodeGbPerCpuSecond: gigabytes * await perCpuSecond(() => encodeWire(wire, values)),
    decodeGbPerCpuSecond: gigabytes * await perCpuSecond(() => decodeWire(wire, bytes)),
  };
}

interface Repetition {
  readonly seconds: number;
  readonly signal: AbortSignal;
}

/** After a warm-up of a quarter. */
async function timesPerCpuSecond(work: () => void, { seconds, signal }: Repetition): Promise<number> {
  await repeat(work, { seconds: seconds / 4, signal });
  const { count, cpuSeconds } = await repeat(work, { seconds, signal });
  return count / cpuSeconds;
}

/** Ctrl-C is noticed between two pieces of work, now and then. */
async function repeat(
  work: () => void,
  { seconds, signal }: Repetition,
): Promise<{ count: number; cpuSeconds: number }> {
  let count = 0;
  let [cpuSeconds, noticedAt] = [0, 0];
  const start = process.cpuUsage();
  while (cpuSeconds < seconds) {
    work();
    count += 1;
    const { user, system } = process.cpuUsage(start);
    cpuSeconds = (user + system) / 1e6;
    if (cpuSeconds < noticedAt + noticeSeconds) continue;
    noticedAt = cpuSeconds;
    await nextTurn();
    signal.throwIfAborted();
  }
  return { count, cpuSeconds };
}

/**
 * Wires on their way on and off the device against the CPU's code, for every codec and direction: the same bytes from the same
 * values and the same bits back, whatever the adapter does to floats. Values are all kinds of them: every upper half of a
 * float32 with lower halves around the rounding tie, so each sign, exponent, subnormal, infinity and NaN.
 */

import { assert, assertEquals } from "@std/assert";
import type { WireDirection } from "../../core/codec/codec.ts";
import { codecNames } from "../../core/codec/codec_names.ts";
import { codecs } from "../../core/codec/codecs.ts";
import { roundingKey } from "../../core/codec/rounding_key.ts";
import { decodeWire, encodeWire, type Wire } from "../../core/codec/wire.ts";
import { StageBuffers } from "../../gpu/webgpu/buffers.ts";
import type { WireTransfer } from "../../gpu/codecs/codec.ts";
import { gpuCodecs } from "../../gpu/codecs/codecs.ts";
import { encodeProgram } from "../../gpu/webgpu/kernel.ts";
import { Ops, softwareKernels } from "../../gpu/webgpu/ops.ts";
import type { BufferRange, Dispatch } from "../../gpu/stage_ops.ts";
import { encodeGradient } from "../lab/reference/encode_gradient.ts";
import { type GpuSupport, gpuTest } from "../support/gpu_adapter.ts";

const width = 12; // rows that do not begin at whole words of codes
const lowerHalves = [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff];
const rows = lowerHalves.length * 2 ** 16 / width;
const directions: readonly WireDirection[] = ["forward", "gradient"];

function allKinds(): Float32Array<ArrayBuffer> {
  const bits = new Uint32Array(rows * width);
  bits.forEach((_, i) => bits[i] = ((i >>> 0) % 2 ** 16) * 2 ** 16 + lowerHalves[Math.floor(i / 2 ** 16)]!);
  return new Float32Array(bits.buffer);
}

class Boundary {
  readonly values: BufferRange;
  readonly transfer: WireTransfer;
  readonly #support: GpuSupport;
  readonly #buffers: StageBuffers;

  constructor(support: GpuSupport, wire: Wire) {
    this.#support = support;
    const buffers = this.#buffers = new StageBuffers(support.gpu);
    this.values = buffers.storage("values", wire.rows * wire.width);
    const ops = new Ops(support.kernels, softwareKernels);
    const build = gpuCodecs[wire.codec].transfers[wire.direction];
    this.transfer = build({ ops, buffers }, { wire, values: this.values, label: "wire" });
    buffers.reserveStaging(this.values.size);
  }

  async write(range: BufferRange, content: Float32Array | Uint32Array | Uint8Array): Promise<void> {
    await this.#support.kernels.warmUp(); // leaves rubbish behind
    this.#buffers.upload(range, content);
  }

  async runAndRead(program: readonly Dispatch[], range: BufferRange): Promise<ArrayBuffer> {
    const encoder = this.#support.gpu.device.createCommandEncoder();
    encodeProgram(encoder, program);
    const [content] = await this.#buffers.submitAndRead(encoder, [range]);
    assert(content !== undefined);
    return content;
  }

  close(): void {
    this.#buffers.destroy();
  }
}

/** Of each codec both directions, and gradients in the bits that a run may choose. */
function allWires(): Wire[] {
  return codecNames.flatMap((codec) => {
    const chosen = codecs[codec].gradientFormats === undefined ? [] : ([4, 5, 6, 7] as const);
    return [
      ...directions.map((direction): Wire => ({ codec, direction, rows, width })),
      ...chosen.map((gradientBits): Wire => ({ codec, direction: "gradient", gradientBits, rows, width })),
    ];
  });
}

for (const wire of allWires()) {
  const { codec, direction, gradientBits } = wire;
  gpuTest(
    `Wires on WebGPU: ${
      [codec, direction, gradientBits].join(" ").trim()
    } has the CPU's bytes and bits for every kind of value`,
    async (gpu) => {
      const boundary = new Boundary(gpu, wire);
      const { values, transfer } = boundary;
      const input = new Uint8Array(64).map((_, i) => 5 * i);
      const expected = direction === "gradient"
        ? encodeGradient(wire, allKinds(), input)
        : encodeWire(wire, allKinds());
      await boundary.write(values, allKinds());
      if (transfer.key !== null) await boundary.write(transfer.key, Uint32Array.of(roundingKey(input)));
      const staged = await boundary.runAndRead(transfer.encode, transfer.staged);
      assertEquals(firstDifference(transfer.fromStaged(staged), expected), null, "encoded");

      const frame = new Uint8Array(expected.length + 3); // a segment of a frame starts anywhere
      frame.set(expected, 3);
      await boundary.write(values, new Float32Array(rows * width));
      await boundary.write(transfer.staged, transfer.toStaged(frame.subarray(3)));
      const decoded = await boundary.runAndRead(transfer.decode, values);
      const wanted = decodeWire(wire, expected);
      assertEquals(firstDifference(new Uint8Array(decoded), new Uint8Array(wanted.buffer)), null, "decoded");
      boundary.close();
    },
  );
}

/** "at 5: 1 where 2 is expected", or null. */
function firstDifference(actual: Uint8Array, expected: Uint8Array): string | null {
  if (actual.length !== expected.length) return `${actual.length} bytes where ${expected.length} are expected`;
  const at = actual.findIndex((byte, i) => byte !== expected[i]);
  return at === -1 ? null : `at ${at}: ${actual[at]} where ${expected[at]} is expected`;
}

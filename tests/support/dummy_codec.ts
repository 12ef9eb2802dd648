/**
 * A wire codec that production does not have, as unlike the others as the seam allows: a learned linear bottleneck whose wire is
 * 8-bit codes with one scale a token, and whose gradient is the largest quarter of its values with their places.
 *
 * Owns its three records and their place in the tables while a test runs. It declares no kernels for its bytes, so the host
 * encodes and decodes them. To become a real codec, each record would move to a file beside its siblings, unchanged.
 */

import type { WireCodec, WireEnd, WireFormat, WireSums } from "../../core/codec/codec.ts";
import type { Codec } from "../../core/codec/codec_names.ts";
import { codecs } from "../../core/codec/codecs.ts";
import { normalFor } from "../../core/tensor.ts";
import type { BuildTransfer, GpuCodec } from "../../gpu/codecs/codec.ts";
import { gpuCodecs } from "../../gpu/codecs/codecs.ts";
import { noPiece, plainEnd } from "../../gpu/layers/block_ends.ts";
import { buildLinear } from "../../gpu/layers/context.ts";
import type { ReferenceCodec, ReferenceEnd } from "../lab/reference/codecs/codec.ts";
import { referenceCodecs } from "../lab/reference/codecs/codecs.ts";
import { linear, linearBackward } from "../lab/reference/linear.ts";
import { rowsOf, tensorOf } from "../lab/reference/stage_model.ts";
import { decodeWire, encodeWire } from "../../core/codec/wire.ts";

export const dummyCodec = "dummy" as Codec;

/** With the codec in all three tables; they are as before when `body` is done. */
export async function withDummyCodec(body: () => void | Promise<void>): Promise<void> {
  const tables: [Record<string, unknown>, unknown][] = [
    [codecs as Record<string, unknown>, inCore],
    [gpuCodecs as Record<string, unknown>, onGpu],
    [referenceCodecs as Record<string, unknown>, reference],
  ];
  for (const [table, record] of tables) table[dummyCodec] = record;
  try {
    await body();
  } finally {
    for (const [table] of tables) delete table[dummyCodec];
  }
}

const narrowName = (index: number) => `model.boundary.${index}.narrow.weight`;
const widenName = (index: number) => `model.boundary.${index}.widen.weight`;

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Of the values as they are decoded, for formats without a quicker way. */
function sumsOf(values: Float32Array): WireSums {
  let largest = 0, squareSum = 0;
  for (const value of values) {
    largest = Math.max(largest, Math.abs(value));
    squareSum += value * value;
  }
  return { largest, squareSum };
}

/** A token: the scale as float32, then `width` signed bytes. A non-finite value makes its scale non-finite. */
const codes: WireFormat = {
  byteLength: ({ rows, width }) => rows * (4 + width),
  encode(values, { rows, width }) {
    const bytes = new Uint8Array(rows * (4 + width));
    const view = viewOf(bytes);
    for (let row = 0; row < rows; row++) {
      const own = values.subarray(row * width, (row + 1) * width);
      const scale = Math.fround(own.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / 127);
      const start = row * (4 + width);
      view.setFloat32(start, scale, true);
      own.forEach((value, i) => view.setInt8(start + 4 + i, scale > 0 ? Math.round(value / scale) : 0));
    }
    return bytes;
  },
  decode(bytes, { rows, width }) {
    const view = viewOf(bytes);
    return Float32Array.from({ length: rows * width }, (_, i) => {
      const start = Math.floor(i / width) * (4 + width);
      return view.getFloat32(start, true) * view.getInt8(start + 4 + i % width);
    });
  },
  isFinite(bytes, { rows, width }) {
    const view = viewOf(bytes);
    for (let row = 0; row < rows; row++) if (!Number.isFinite(view.getFloat32(row * (4 + width), true))) return false;
    return true;
  },
  rounding: { ofValue: 0, ofRow: 0, valuesHit: 1 },
  sums: (bytes, shape) => sumsOf(codes.decode(bytes, shape)),
};

/** A token: the largest quarter of its values, each with its column, in the order of columns. */
const largestQuarter: WireFormat = {
  byteLength: ({ rows, width }) => rows * (width / 4) * 6,
  encode(values, { rows, width }) {
    const bytes = new Uint8Array(rows * (width / 4) * 6);
    const view = viewOf(bytes);
    for (let row = 0; row < rows; row++) {
      const own = values.subarray(row * width, (row + 1) * width);
      const sizes = own.map((value) => Number.isFinite(value) ? Math.abs(value) : Infinity); // NaN must not hide
      const columns = Array.from(own, (_, column) => column).sort((a, b) => sizes[b]! - sizes[a]! || a - b);
      columns.slice(0, width / 4).sort((a, b) => a - b).forEach((column, i) => {
        const start = (row * (width / 4) + i) * 6;
        view.setUint16(start, column, true);
        view.setFloat32(start + 2, own[column]!, true);
      });
    }
    return bytes;
  },
  decode(bytes, { rows, width }) {
    const view = viewOf(bytes);
    const values = new Float32Array(rows * width);
    for (let i = 0; i < rows * (width / 4); i++) {
      const row = Math.floor(i / (width / 4));
      values[row * width + view.getUint16(6 * i, true)] = view.getFloat32(6 * i + 2, true);
    }
    return values;
  },
  isFinite(bytes, { width }) {
    const view = viewOf(bytes);
    for (let at = 0; at < bytes.length; at += 6) {
      if (view.getUint16(at, true) >= width || !Number.isFinite(view.getFloat32(at + 2, true))) return false;
    }
    return true;
  },
  rounding: { ofValue: 0, ofRow: 0, valuesHit: 1 },
  sums: (bytes, shape) => sumsOf(largestQuarter.decode(bytes, shape)),
};

const flops: WireEnd["flops"] = ({ modelWidth, wireWidth }) => 2 * modelWidth * wireWidth;

const inCore: WireCodec = {
  keepsStream: false,
  describe: (wireWidth) => ` with ${wireWidth} codes per token`,
  wireWidth: ({ model }) => model.width / 2,
  formats: { forward: codes, gradient: largestQuarter },
  sender: {
    tensors: ({ index, modelWidth, wireWidth }) => [
      { name: narrowName(index), shape: [wireWidth, modelWidth], initial: normalFor(modelWidth) },
    ],
    flops,
  },
  receiver: {
    tensors: ({ index, modelWidth, wireWidth }) => [
      { name: widenName(index), shape: [modelWidth, wireWidth], initial: normalFor(wireWidth) },
    ],
    flops,
  },
};

/** Without kernels: the values cross, and the host encodes and decodes them with the codec's CPU code. */
const hostTransfer: BuildTransfer = (_context, { wire, values }) => ({
  wire,
  staged: values,
  key: null,
  decode: [],
  encode: [],
  toStaged: (bytes) => decodeWire(wire, bytes),
  fromStaged: (content) => encodeWire(wire, new Float32Array(content)),
});

/** x = W z is the residual stream of the receiving stage; z = W' (a + f). */
const onGpu: GpuCodec = {
  buildReceiver(context, { wireWidth }) {
    const { buffers, rows, width, residualGradient, spec } = context;
    const value = buffers.storage("wire in", rows * wireWidth);
    const gradient = buffers.scratch("wire in gradient", rows * wireWidth);
    const widened = buffers.storage("widened wire", rows * width);
    const before = buildLinear(context, {
      names: [widenName(spec.index)],
      inWidth: wireWidth,
      outWidth: width,
      input: value,
      output: widened,
      outputGradient: residualGradient,
      inputGradient: gradient,
    });
    const wire = { value, gradient };
    return {
      ...{ wire, input: widened, residual: widened, before, after: noPiece },
      ...{ inputGradient: residualGradient, accumulate: true },
    };
  },
  buildSender(context, { wireWidth, attended, output }) {
    const { buffers, rows, width, residualGradient, spec } = context;
    const value = buffers.scratch("wire out", rows * wireWidth);
    const gradient = buffers.scratch("wire out gradient", rows * wireWidth);
    const after = buildLinear(context, {
      names: [narrowName(spec.index + 1)],
      inWidth: width,
      outWidth: wireWidth,
      input: output,
      output: value,
      outputGradient: gradient,
      inputGradient: residualGradient,
    });
    return { ...plainEnd(context, attended), after, wire: { value, gradient } };
  },
  transfers: { forward: hostTransfer, gradient: hostTransfer },
};

const sum = (a: Float64Array, b: Float64Array) => a.map((value, i) => value + b[i]!);
const widthsOf = ({ model: { spec }, wire }: ReferenceEnd) => ({
  rows: rowsOf(spec),
  wide: spec.model.width,
  narrow: wire.width,
});
const widenOf = ({ model }: ReferenceEnd) => tensorOf(model, widenName(model.spec.index));
const narrowOf = ({ model }: ReferenceEnd) => tensorOf(model, narrowName(model.spec.index + 1));

const reference: ReferenceCodec = {
  receiver: {
    expand(end, z) {
      const { rows, wide, narrow } = widthsOf(end);
      return linear({ x: z, matrix: widenOf(end).value }, { rows, inputs: narrow, outputs: wide });
    },
    rejoin: (_end, { x, y }) => sum(x, y),
    backward(end, { z, dx, da }) {
      const { rows, wide, narrow } = widthsOf(end);
      const { value: matrix, gradient: dMatrix } = widenOf(end);
      return linearBackward({ x: z, matrix, dy: sum(dx, da), dMatrix }, { rows, inputs: narrow, outputs: wide });
    },
  },
  sender: {
    send(end, { a, f }) {
      const { rows, wide, narrow } = widthsOf(end);
      return linear({ x: sum(a, f), matrix: narrowOf(end).value }, { rows, inputs: wide, outputs: narrow });
    },
    backward(end, { a, f, dz }) {
      const { rows, wide, narrow } = widthsOf(end);
      const { value: matrix, gradient: dMatrix } = narrowOf(end);
      const shape = { rows, inputs: wide, outputs: narrow };
      const dOutput = linearBackward({ x: sum(a, f), matrix, dy: dz, dMatrix }, shape);
      return { df: dOutput, da: dOutput };
    },
  },
};

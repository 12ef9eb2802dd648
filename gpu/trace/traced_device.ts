/**
 * A stage's device that shows what each operation writes, each with a read-back, so a trace is slow. Neither updates
 * are traced nor what is copied before it is read (logits for sampling).
 */

import type { OptimizerName } from "../../core/config/optimizer_names.ts";
import type { AdapterDescription } from "../compute.ts";
import type { StageDevice } from "../stage_device.ts";
import type { BufferRange, DeviceBuffers, Dispatch, StageOps } from "../stage_ops.ts";
import type { GradientNorm, Update, VectorParts } from "../stage_vectors.ts";
import { qkvWidth } from "../attention_sizes.ts";

export interface TracedOutput {
  readonly operation: OperationName;
  readonly memory: string; // its label, such as "layer 0 qkv"
  readonly rows: number;
  readonly rowBytes: number;
  readonly isBytes: boolean; // codes of a wire; otherwise f32 values
  readonly content: Uint8Array;
}

interface Noted {
  readonly operation: OperationName;
  readonly written: readonly Output[];
}

export class TracedDevice implements StageDevice {
  readonly adapter: AdapterDescription;
  readonly buffers: LabelledBuffers;
  readonly ops: StageOps;
  readonly #device: StageDevice;
  readonly #onOutput: (output: TracedOutput) => void;
  readonly #notes = new Map<Dispatch, Noted>(); // by an operation's last dispatch
  #pending: Dispatch[] = [];

  constructor(device: StageDevice, onOutput: (output: TracedOutput) => void) {
    this.adapter = device.adapter;
    this.buffers = new LabelledBuffers(device.buffers);
    this.ops = notingOps(device.ops, (dispatch, noted) => this.#notes.set(dispatch, noted));
    this.#device = device;
    this.#onOutput = onOutput;
  }

  reserveReads(bytes: number): void {
    const largest = [...this.#notes.values()].map(({ written }) =>
      written.reduce((sum, each) => sum + bytesOf(each), 0)
    );
    this.#device.reserveReads(Math.max(bytes, ...largest));
  }

  warmUp(): Promise<void> {
    return this.#device.warmUp();
  }

  buildUpdate(optimizer: OptimizerName, parts: VectorParts): Update {
    return this.#device.buildUpdate(optimizer, parts);
  }

  buildGradientNorm(parts: VectorParts): GradientNorm {
    return this.#device.buildGradientNorm(parts);
  }

  check(): void {
    this.#device.check();
  }

  run(program: readonly Dispatch[]): void {
    this.#pending.push(...program);
  }

  async read(programs: readonly (readonly Dispatch[])[], ranges: readonly BufferRange[]): Promise<ArrayBuffer[]> {
    await this.#trace(programs.flat());
    return await this.#device.read([], ranges);
  }

  readFloats(range: BufferRange, count: number): Promise<Float32Array> {
    return this.#device.readFloats(range, count);
  }

  copy(from: BufferRange, to: BufferRange): void {
    this.#device.run(this.#taken());
    this.#device.copy(from, to);
  }

  clear(ranges: readonly BufferRange[]): void {
    this.#device.run(this.#taken());
    this.#device.clear(ranges);
  }

  async finish(): Promise<void> {
    await this.#trace([]);
    await this.#device.finish();
  }

  async settle(): Promise<void> {
    await this.#trace([]);
    await this.#device.settle();
  }

  destroy(): void {
    this.#device.destroy();
  }

  #taken(): Dispatch[] {
    const taken = this.#pending;
    this.#pending = [];
    return taken;
  }

  async #trace(program: readonly Dispatch[]): Promise<void> {
    let group: Dispatch[] = [];
    for (const dispatch of [...this.#taken(), ...program]) {
      group.push(dispatch);
      const noted = this.#notes.get(dispatch);
      if (noted === undefined) continue;
      await this.#show(group, noted);
      group = [];
    }
    if (group.length > 0) this.#device.run(group);
  }

  async #show(program: readonly Dispatch[], { operation, written }: Noted): Promise<void> {
    const ranges = written.map((output) => ({ ...output.range, size: bytesOf(output) }));
    const contents = await this.#device.read([program], ranges);
    for (const [i, { range, rows, rowBytes, isBytes = false }] of written.entries()) {
      const content = new Uint8Array(contents[i]!);
      this.#onOutput({ operation, memory: this.buffers.labelOf(range), rows, rowBytes, isBytes, content });
    }
  }
}

/** `note` gets each operation's last dispatch and result. */
function notingOps(ops: StageOps, note: (dispatch: Dispatch, noted: Noted) => void): StageOps {
  const noting = (operation: OperationName) => (...args: unknown[]): Dispatch | Dispatch[] => {
    // TypeScript cannot follow the arguments through the name.
    const made = (ops[operation] as (...args: unknown[]) => Dispatch | Dispatch[]).apply(ops, args);
    const written = (outputs[operation] as (...args: unknown[]) => readonly Output[])(...args);
    const last = Array.isArray(made) ? made.at(-1) : made;
    if (last !== undefined) note(last, { operation, written });
    return made;
  };
  const names = Object.keys(outputs) as OperationName[];
  return Object.fromEntries(names.map((name) => [name, noting(name)])) as unknown as StageOps;
}

class LabelledBuffers implements DeviceBuffers {
  readonly #buffers: DeviceBuffers;
  readonly #labels = new Map<object, { label: string; from: number; to: number }[]>();

  constructor(buffers: DeviceBuffers) {
    this.#buffers = buffers;
  }

  get largestBytes(): number {
    return this.#buffers.largestBytes;
  }

  get storageBytes(): number {
    return this.#buffers.storageBytes;
  }

  storage(label: string, count: number): BufferRange {
    return this.#labelled(label, this.#buffers.storage(label, count));
  }

  scratch(label: string, count: number): BufferRange {
    return this.#labelled(label, this.#buffers.scratch(label, count));
  }

  upload(range: BufferRange, data: Float32Array | Uint32Array | Uint8Array): void {
    this.#buffers.upload(range, data);
  }

  labelOf({ buffer, offset }: BufferRange): string {
    const parts = this.#labels.get(buffer) ?? [];
    return parts.find(({ from, to }) => from <= offset && offset < to)?.label ?? "memory without a name";
  }

  #labelled(label: string, range: BufferRange): BufferRange {
    const parts = this.#labels.get(range.buffer) ?? [];
    parts.push({ label, from: range.offset, to: range.offset + range.size });
    this.#labels.set(range.buffer, parts);
    return range;
  }
}

interface Output {
  readonly range: BufferRange;
  readonly rows: number;
  readonly rowBytes: number; // to the next row, which may be part of a wider matrix
  readonly isBytes?: boolean; // @default false
}

type OperationName = keyof StageOps;

type Outputs = { readonly [Name in OperationName]: (...args: Parameters<StageOps[Name]>) => readonly Output[] };

const matrix = (range: BufferRange, rows: number, width: number): Output => ({ range, rows, rowBytes: 4 * width });
const wholeBytes = (range: BufferRange): Output => ({ range, rows: 1, rowBytes: range.size, isBytes: true });

export const outputs: Outputs = {
  linear: ({ rows, outWidth, outStride = outWidth }, { output }) => [matrix(output, rows, outStride)],
  linearInputGradient: ({ rows, inWidth }, { inputGradient }) => [matrix(inputGradient, rows, inWidth)],
  linearWeightGradient: ({ inWidth, outWidth }, { weightGradient }) => [matrix(weightGradient, outWidth, inWidth)],
  rmsNorm: ({ rows, width }, { output, inverseRms }) => [matrix(output, rows, width), matrix(inverseRms, rows, 1)],
  rmsNormBackward: ({ rows, width }, { inputGradient, gainGradient }) => [
    matrix(inputGradient, rows, width),
    matrix(gainGradient, 1, width),
  ],
  swiglu: ({ rows, width }, { activated }) => [matrix(activated, rows, width)],
  swigluBackward: ({ rows, width }, { gateUpGradient }) => [matrix(gateUpGradient, rows, 2 * width)],
  boundaryActivation: ({ rows, width }, { output }) => [matrix(output, rows, width)],
  boundaryActivationBackward: ({ rows, width }, { gradient }) => [matrix(gradient, rows, width)],
  prefix: ({ rows, targetWidth }, { target }) => [matrix(target, rows, targetWidth)],
  embed: ({ rows, width }, { output }) => [matrix(output, rows, width)],
  embedBackward: ({ ids, width }, { embeddingGradient }) => [matrix(embeddingGradient, ids, width)],
  crossEntropy: ({ rows, vocabulary, writeGradient }, { logits, losses }) => [
    matrix(losses, rows, 1),
    ...writeGradient ? [matrix(logits, rows, vocabulary)] : [],
  ],
  rotate: (sizes, { qkv }) => [matrix(qkv, sizes.sequences * sizes.length, qkvWidth(sizes))],
  attention: ({ sequences, length, heads, headWidth }, { output, logSumExp }) => [
    matrix(output, sequences * length, heads * headWidth),
    matrix(logSumExp, sequences * heads, length),
  ],
  attentionBackward: (sizes, { qkvGradient }) => [
    matrix(qkvGradient, sizes.sequences * sizes.length, qkvWidth(sizes)),
  ],
  cacheTokens: ({ rows, ...sizes }, { qkv, keys, values }) => [
    matrix(qkv, rows, qkvWidth(sizes)),
    ...[keys, values].map((cached) => matrix(cached, sizes.streams * sizes.kvHeads * sizes.length, sizes.headWidth)),
  ],
  attendCache: ({ rows, heads, headWidth }, { output }) => [matrix(output, rows, heads * headWidth)],
  bfloat16Encode: (_, { bytes }) => [wholeBytes(bytes)],
  bfloat16Decode: (count, { values }) => [matrix(values, 1, count)],
  codesEncode: ({ bytes }) => [wholeBytes(bytes)],
  codesDecode: ({ shape: { rows, width }, values }) => [matrix(values, rows, width)],
};

/** The last row of a part of a wider matrix ends early. */
const bytesOf = ({ range, rows, rowBytes }: Output): number => Math.min(range.size, rows * rowBytes);

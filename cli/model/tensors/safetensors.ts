/**
 * Named tensors in a file, in the safetensors format (https://github.com/huggingface/safetensors#format): u64 header
 * length, JSON header, raw little-endian values. Refuses malformed headers, offsets outside the data, holes and
 * overlaps.
 */

import * as v from "valibot";
import { isFile } from "../../files/disk.ts";
import { shapedJson } from "../../files/json_file.ts";
import { attempting, UserError } from "../../program/errors.ts";
import { floatBytes, type FloatType, isFloatType, widen } from "./float_types.ts";

const headerLimitBytes = 100_000_000; // as in the reference implementation
const lengthBytes = 8;
const dtypeBytes: Readonly<Record<string, number>> = { F64: 8, I64: 8, F32: 4, I32: 4, U32: 4, F16: 2, BF16: 2, U8: 1 };

const entryShape = v.object({
  dtype: v.string(),
  shape: v.array(v.pipe(v.number(), v.safeInteger(), v.minValue(0))),
  data_offsets: v.tuple([v.pipe(v.number(), v.safeInteger()), v.pipe(v.number(), v.safeInteger())]),
});
const headerShape = v.objectWithRest({ __metadata__: v.optional(v.record(v.string(), v.string())) }, entryShape);

const notList = v.check((value: unknown) => !Array.isArray(value), "must be an object");

export interface TensorData {
  readonly name: string;
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

interface TensorEntry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly offset: number; // from the start of the data
  readonly bytes: number;
}

interface SafetensorsHeader {
  readonly tensors: ReadonlyMap<string, TensorEntry>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly dataStart: number; // from the start of the file
}

/** Each tensor's own memory, uncopied. */
export function formatSafetensors(
  tensors: readonly TensorData[],
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array[] {
  return [...safetensorsHeader(tensors, { type: "F32", metadata }), ...tensors.map(({ values }) => bytesOf(values))];
}

/** The beginning of a file whose tensors follow in this order. */
export function safetensorsHeader(
  tensors: readonly Pick<TensorData, "name" | "shape">[],
  { type, metadata = {} }: { type: FloatType; metadata?: Readonly<Record<string, string>> },
): Uint8Array[] {
  const header: Record<string, unknown> = { __metadata__: { format: "pt", ...metadata } }; // Hugging Face requires `format`
  let offset = 0;
  for (const { name, shape } of tensors) {
    const end = offset + shape.reduce((product, size) => product * size, floatBytes[type]);
    header[name] = { dtype: type, shape, data_offsets: [offset, end] };
    offset = end;
  }
  const json = JSON.stringify(header);
  const text = new TextEncoder().encode(json.padEnd(json.length + padding(new TextEncoder().encode(json).length)));
  const length = new Uint8Array(lengthBytes);
  new DataView(length.buffer).setBigUint64(0, BigInt(text.length), true);
  return [length, text];
}

export class SafetensorsFile {
  readonly header: SafetensorsHeader;
  readonly #path: string;
  readonly #file: Deno.FsFile;

  private constructor(options: { path: string; file: Deno.FsFile; header: SafetensorsHeader }) {
    this.#path = options.path;
    this.#file = options.file;
    this.header = options.header;
  }

  static async open(path: string): Promise<SafetensorsFile> {
    if (!await isFile(path)) throw refusal(path, "it is missing, or not a file"); // opening a pipe could wait forever
    const file = await attempting({ action: "read", value: path }, () => Deno.open(path, { read: true }));
    try {
      return new SafetensorsFile({ path, file, header: await readHeader(file, path) });
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** Throws a `UserError` unless the file has floats of this name and shape. */
  check(name: string, shape: readonly number[]): void {
    this.#entryOf(name, shape);
  }

  /** Floats of 16 bits are widened. */
  async readInto(name: string, { shape, out }: { shape: readonly number[]; out: Float32Array }): Promise<void> {
    const { type, offset, bytes: size } = this.#entryOf(name, shape);
    await this.#file.seek(this.header.dataStart + offset, Deno.SeekMode.Start);
    if (type === "F32") return await readFully(this.#file, { out: bytesOf(out), path: this.#path });
    const bytes = new Uint8Array(size);
    await readFully(this.#file, { out: bytes, path: this.#path });
    out.set(widen(bytes, type));
  }

  #entryOf(name: string, shape: readonly number[]): TensorEntry & { readonly type: FloatType } {
    const entry = this.header.tensors.get(name);
    if (entry === undefined) throw refusal(this.#path, `tensor '${name}' must be in it`);
    if (!isFloatType(entry.dtype)) {
      throw refusal(this.#path, `tensor '${name}' must be F32, BF16 or F16, but is ${entry.dtype}`);
    }
    if (entry.shape.join() !== shape.join()) {
      throw refusal(
        this.#path,
        `tensor '${name}' must have shape [${shape.join(", ")}], but has [${entry.shape.join(", ")}]`,
      );
    }
    return { ...entry, type: entry.dtype };
  }

  close(): void {
    this.#file.close();
  }
}

async function readHeader(file: Deno.FsFile, path: string): Promise<SafetensorsHeader> {
  const { size } = await file.stat();
  if (size < lengthBytes) throw refusal(path, `it must have at least ${lengthBytes} bytes, but has ${size}`);
  const length = new Uint8Array(lengthBytes);
  await readFully(file, { out: length, path });
  const headerBytes = Number(new DataView(length.buffer).getBigUint64(0, true));
  if (headerBytes > headerLimitBytes || lengthBytes + headerBytes > size) {
    throw refusal(path, `its header must fit into the file of ${size} bytes: it claims ${headerBytes}`);
  }
  const text = new Uint8Array(headerBytes);
  await readFully(file, { out: text, path });
  const dataStart = lengthBytes + headerBytes;
  return parseHeader(new TextDecoder().decode(text), { dataStart, dataBytes: size - dataStart, path });
}

function parseHeader(text: string, options: { dataStart: number; dataBytes: number; path: string }): SafetensorsHeader {
  const { dataStart, dataBytes, path } = options;
  const shaped = shapedJson(text, v.pipe(v.unknown(), notList, headerShape));
  if ("problem" in shaped) throw refusal(path, `its header is damaged (${shaped.problem})`);
  const { __metadata__: metadata = {}, ...entries } = shaped.value;
  const tensors = new Map<string, TensorEntry>();
  let end = 0;
  const sorted = Object.entries(entries).sort(([, a], [, b]) => a.data_offsets[0] - b.data_offsets[0]);
  for (const [name, { dtype, shape, data_offsets: [from, to] }] of sorted) {
    const width = dtypeBytes[dtype];
    if (width === undefined) throw refusal(path, `tensor '${name}' has an unknown dtype: ${dtype}`);
    const bytes = shape.reduce((product, size) => product * size, width);
    if (to - from !== bytes) {
      throw refusal(
        path,
        `tensor '${name}' must have ${bytes} bytes for ${dtype} [${shape.join(", ")}], but has ${to - from}`,
      );
    }
    if (from !== end) {
      throw refusal(path, `tensor '${name}' must start at byte ${end}, without gap or overlap: it starts at ${from}`);
    }
    end = to;
    tensors.set(name, { dtype, shape, offset: from, bytes });
  }
  if (end !== dataBytes) throw refusal(path, `it must hold ${end} bytes of tensors, but holds ${dataBytes}`);
  return { tensors, metadata, dataStart };
}

async function readFully(file: Deno.FsFile, options: { out: Uint8Array; path: string }): Promise<void> {
  const { out, path } = options;
  for (let done = 0; done < out.length;) {
    const read = await file.read(out.subarray(done));
    if (read === null) throw refusal(path, `${out.length - done} bytes are missing at its end`);
    done += read;
  }
}

function refusal(path: string, reason: string): UserError {
  return new UserError(`'${path}' is not a valid safetensors file: ${reason}`, {
    next: "Use another checkpoint, or fetch the file again",
  });
}

function padding(headerBytes: number): number {
  return (lengthBytes - headerBytes % lengthBytes) % lengthBytes;
}

export function bytesOf(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

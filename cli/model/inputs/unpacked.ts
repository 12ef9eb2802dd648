/** Bytes of an input as they are inside gzip or zstd, all members or frames one after another. */

import { Readable } from "node:stream";
import { createGunzip, createZstdDecompress, type Gunzip, type ZstdDecompress } from "node:zlib";
import { UserError } from "../../program/errors.ts";
import { zstdFrames } from "./zstd_frames.ts";

type Bytes = AsyncIterable<Uint8Array<ArrayBuffer>>;
type Unpacked = AsyncGenerator<Uint8Array<ArrayBuffer>>;

export interface Packing {
  readonly name: string;
  readonly magic: readonly number[];
  readonly extension: string;
  unpack(packed: Bytes): Unpacked;
}

const packings: readonly Packing[] = [
  { name: "gzip", magic: [0x1f, 0x8b], extension: ".gz", unpack: gunzip },
  { name: "zstd", magic: [0x28, 0xb5, 0x2f, 0xfd], extension: ".zst", unpack: unzstd },
];

export const packingOf = (head: Uint8Array): Packing | null =>
  packings.find(({ magic }) => magic.every((byte, i) => head[i] === byte)) ?? null;

/** `name` without the extension of a packing. */
export function unpackedName(name: string): string {
  const packing = packings.find(({ extension }) => name.toLowerCase().endsWith(extension));
  return packing === undefined ? name : name.slice(0, -packing.extension.length);
}

export async function* unpacked(packed: Bytes, { name, unpack }: Packing, place: string): Unpacked {
  try {
    yield* unpack(packed);
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    throw new UserError(`'${place}' is damaged or cut off: ${name} cannot unpack it`, {
      next: "Get the file again",
      cause,
    });
  }
}

async function* unzstd(packed: Bytes): Unpacked {
  for await (const frame of zstdFrames(packed)) yield* through(frame, createZstdDecompress());
}

function gunzip(packed: Bytes): Unpacked {
  return through(packed, createGunzip());
}

/** The runtime's own: memory is bounded, as zstd refuses windows above 128 MiB, and checksums are compared. */
async function* through(packed: Bytes, stream: Gunzip | ZstdDecompress): Unpacked {
  const source = Readable.from(packed);
  source.on("error", (error) => stream.destroy(error));
  try {
    for await (const chunk of source.pipe(stream)) yield new Uint8Array(chunk);
  } finally {
    source.destroy();
    stream.destroy();
  }
}

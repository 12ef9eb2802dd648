/**
 * Curves as a TensorBoard events file: records of length, checksum, protobuf `Event`, checksum (TensorFlow's record
 * format, masked CRC-32C). Handwritten, because it is four message fields.
 */

import { curveColumns, type CurveRow } from "./curves.ts";

const maskDelta = 0xa282ead8;
const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  return value;
});

export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = crcTable[(crc ^ byte) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

const masked = (crc: number): number => (((crc >>> 15) | (crc << 17)) + maskDelta) >>> 0;

export function tensorboardEvents(rows: readonly CurveRow[]): Uint8Array<ArrayBuffer> {
  const startMs = rows[0]?.at_ms ?? 0;
  const head = event({ atMs: startMs, step: 0, body: field(3, text("brain.Event:2")) });
  const events = rows.flatMap((row) =>
    curveColumns.flatMap((column) => {
      const value = row[column];
      if (column === "step" || column === "at_ms" || value === null || !Number.isFinite(value)) return [];
      const scalar = joined(field(1, text(`iota/${column}`)), fixed(2, 4, (view) => view.setFloat32(0, value, true)));
      return [event({ atMs: row.at_ms ?? startMs, step: row.step ?? 0, body: field(5, field(1, scalar)) })];
    })
  );
  return joined(...[head, ...events].map(framed));
}

function framed(data: Uint8Array): Uint8Array {
  const length = bytesOf(8, (view) => view.setBigUint64(0, BigInt(data.length), true));
  return joined(length, checksum(length), data, checksum(data));
}

const checksum = (bytes: Uint8Array): Uint8Array =>
  bytesOf(4, (view) => view.setUint32(0, masked(crc32c(bytes)), true));

function event({ atMs, step, body }: { atMs: number; step: number; body: Uint8Array }): Uint8Array {
  return joined(
    fixed(1, 8, (view) => view.setFloat64(0, atMs / 1_000, true)),
    Uint8Array.of(2 << 3),
    varint(step),
    body,
  );
}

const text = (value: string): Uint8Array => new TextEncoder().encode(value);

const field = (number: number, bytes: Uint8Array): Uint8Array =>
  joined(Uint8Array.of((number << 3) | 2), varint(bytes.length), bytes);

function fixed(number: number, size: 4 | 8, write: (view: DataView) => void): Uint8Array {
  return joined(Uint8Array.of((number << 3) | (size === 8 ? 1 : 5)), bytesOf(size, write));
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  do {
    const more = rest >= 128;
    bytes.push((rest % 128) | (more ? 128 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return Uint8Array.from(bytes);
}

function bytesOf(size: number, write: (view: DataView) => void): Uint8Array {
  const bytes = new Uint8Array(size);
  write(new DataView(bytes.buffer));
  return bytes;
}

function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

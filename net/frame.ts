/**
 * One message on the wire: a fixed prefix, a msgpack header, raw segments.
 *
 *    0  u32  magic "iota"
 *    4  u16  layout, 2; a later one must keep this prefix, so that damage is told from another version
 *    6  u16  number of segments n
 *    8  u32  header bytes, 0 for a bare acknowledgement
 *   12  u32  sequence, 0 for what a session does not number; of a bare acknowledgement: the last one sent before it
 *   16  u32  acknowledged: highest sequence received from the other side
 *   20  u32  CRC-32 of everything after the prefix
 *   24  u32  CRC-32 of the 24 bytes before
 *   28  u32  bytes of each segment, n times
 *   header, then the segments, each preceded by zeros up to a multiple of 8
 *
 * Little-endian. Owns: bytes to frame and back. Refuses: reading what the header means (schema_*.ts, hello.ts). Decoding never
 * throws; segments are views of the received bytes, copied once only if those do not start at a multiple of 8.
 * The checksums are against accidents (TCP's own has 16 bits and middleboxes rewrite it), at 26 us per MiB; two of them, so
 * that `setAcknowledged` need not read the segments again. Against people there is TLS.
 */

import { crc32 } from "node:zlib";
import { assert } from "../core/assert.ts";
import { type Parsed, parsed, refused } from "../core/fault.ts";
import type { NetLimits } from "./limits.ts";
import { decodeMsgpack, encodeMsgpack } from "./msgpack.ts";

export interface Frame {
  readonly header: unknown; // null for a bare acknowledgement
  readonly segments: readonly Uint8Array[];
  readonly sequence: number;
  readonly acknowledged: number;
}

export interface FrameContent {
  readonly header: unknown;
  readonly segments?: readonly Uint8Array[];
  readonly sequence?: number;
  readonly acknowledged?: number;
}

export interface FrameLimits extends Pick<NetLimits, "frameBytes" | "headerBytes" | "headerDepth" | "segments"> {
  readonly headerValues?: number; // in a header, keys counted too; without it as many as its bytes hold
}

const magic = 0x6174_6f69; // "iota" read as little-endian u32
const layout = 2;
const acknowledgedAt = 16;
const bodyChecksumAt = 20;
const prefixChecksumAt = 24;
const prefixBytes = 28;

const aligned = (bytes: number): number => Math.ceil(bytes / 8) * 8;

/** `take` may give memory with old bytes in it. */
export function encodeFrame(
  content: FrameContent,
  take: (bytes: number) => Uint8Array = (bytes) => new Uint8Array(bytes),
): Uint8Array {
  const { header, segments = [], sequence = 0, acknowledged = 0 } = content;
  assert(segments.length <= 0xffff, "Cannot encode a frame as its segments must be at most 65535");
  const headerBytes = header === null ? new Uint8Array(0) : encodeMsgpack(header);
  const headerAt = prefixBytes + 4 * segments.length;
  let length = headerAt + headerBytes.length;
  for (const segment of segments) length = aligned(length) + segment.length;

  const bytes = take(length);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  view.setUint32(0, magic, true);
  view.setUint16(4, layout, true);
  view.setUint16(6, segments.length, true);
  view.setUint32(8, headerBytes.length, true);
  view.setUint32(12, sequence, true);
  view.setUint32(acknowledgedAt, acknowledged, true);
  bytes.set(headerBytes, headerAt);
  let at = headerAt + headerBytes.length;
  segments.forEach((segment, index) => {
    view.setUint32(prefixBytes + 4 * index, segment.length, true);
    bytes.fill(0, at, aligned(at));
    at = aligned(at);
    bytes.set(segment, at);
    at += segment.length;
  });
  writeChecksums(bytes);
  return bytes;
}

/** For bytes that were put together by hand; `encodeFrame` has done it. */
export function writeChecksums(frame: Uint8Array): void {
  writeU32(frame, bodyChecksumAt, crc32(frame.subarray(prefixBytes)));
  writeU32(frame, prefixChecksumAt, crc32(frame.subarray(0, prefixChecksumAt)));
}

/** Only for a frame that is on no socket: a queued one could be torn. */
export function setAcknowledged(frame: Uint8Array, acknowledged: number): void {
  writeU32(frame, acknowledgedAt, acknowledged);
  writeU32(frame, prefixChecksumAt, crc32(frame.subarray(0, prefixChecksumAt)));
}

function writeU32(frame: Uint8Array, at: number, value: number): void {
  new DataView(frame.buffer, frame.byteOffset).setUint32(at, value, true);
}

export function decodeFrame(bytes: Uint8Array, limits: FrameLimits): Parsed<Frame> {
  if (bytes.length > limits.frameBytes) return tooLarge("frameBytes", limits.frameBytes, bytes.length);
  if (bytes.length < prefixBytes) return malformed(`its ${bytes.length} bytes are less than a prefix`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== magic) return malformed("it does not begin with 'iota'");
  const found = view.getUint16(4, true);
  if (crc32(bytes.subarray(0, prefixChecksumAt)) !== view.getUint32(prefixChecksumAt, true)) {
    return malformed(
      found === layout ? "the checksum of its prefix does not fit" : `layout ${found} is not known here`,
    );
  }
  if (found !== layout) {
    return refused("versionMismatch", `Cannot read a frame as its layout must be 2: current value is ${found}`);
  }
  const count = view.getUint16(6, true);
  if (count > limits.segments) return tooLarge("segments", limits.segments, count);
  const headerBytes = view.getUint32(8, true);
  if (headerBytes > limits.headerBytes) return tooLarge("headerBytes", limits.headerBytes, headerBytes);
  const headerAt = prefixBytes + 4 * count;
  if (headerAt + headerBytes > bytes.length) return malformed("it ends inside its header");

  if (crc32(bytes.subarray(prefixBytes)) !== view.getUint32(bodyChecksumAt, true)) {
    return malformed("the checksum of its content does not fit");
  }

  const segments = readSegments(bytes, { view, count, at: headerAt + headerBytes });
  if (!segments.ok) return segments;
  const frame = { sequence: view.getUint32(12, true), acknowledged: view.getUint32(acknowledgedAt, true) };
  if (headerBytes === 0) {
    return count === 0
      ? parsed({ header: null, segments: [], ...frame })
      : malformed("only an acknowledgement has no header");
  }
  const header = decodeMsgpack(bytes.subarray(headerAt, headerAt + headerBytes), {
    maxBytes: limits.headerBytes,
    maxDepth: limits.headerDepth,
    maxValues: limits.headerValues ?? limits.headerBytes,
  });
  return header.ok ? parsed({ header: header.value, segments: segments.value, ...frame }) : header;
}

function readSegments(
  bytes: Uint8Array,
  from: { view: DataView; count: number; at: number },
): Parsed<readonly Uint8Array[]> {
  const base = bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
  const segments: Uint8Array[] = [];
  let at = from.at;
  for (let index = 0; index < from.count; index++) {
    const start = aligned(at);
    const end = start + from.view.getUint32(prefixBytes + 4 * index, true);
    if (end > bytes.length) return malformed(`it ends inside segment ${index}`);
    for (; at < start; at++) if (bytes[at] !== 0) return malformed("its padding is not zero");
    segments.push(base.subarray(start, end));
    at = end;
  }
  return at === bytes.length ? parsed(segments) : malformed(`${bytes.length - at} bytes follow its last segment`);
}

const malformed = (problem: string) => refused("malformedFrame", `Cannot read a frame: ${problem}`);

const tooLarge = (name: string, limit: number, value: number) =>
  refused("limitExceeded", `Cannot read a frame as '${name}' must be at most ${limit}: current value is ${value}`);

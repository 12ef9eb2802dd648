/**
 * One message on the wire, little-endian: a fixed prefix, a msgpack header, raw segments.
 *
 *   0  u32  magic "iota"
 *   4  u16  layout, 3; a later one must keep this prefix, so that damage and another version can be distinguished
 *   6  u16  number of segments n
 *   8  u32  header bytes, 0 for a bare acknowledgement
 *  12  u32  sequence, 0 if a session does not number the frame; in a bare acknowledgement: the last one sent before it
 *  16  u32  acknowledged: highest sequence received from the other side
 *  20  u32  CRC-32 of everything after the prefix
 *  24  u32  CRC-32 of the 24 bytes before
 *  28  16 bytes: MAC of the rest of the prefix, the table and the header (frame_mac.ts), zeros before the hello is done
 *  44  the table, for each of n segments: u32 bytes, then 32 bytes of its name (blob_hash.ts)
 *  header, then the segments, each preceded by zeros up to a multiple of 8
 *
 * Decoding never throws. Segments are views of the received bytes, copied only if those are not aligned to 8 bytes. The
 * checksums detect accidental damage (TCP's own has 16 bits and middleboxes rewrite it), at 26 us per MiB; there are
 * two, so that `setAcknowledged` need not read the segments again.
 */

import { crc32 } from "node:zlib";
import { assert } from "../../core/assert.ts";
import type { BlobHash } from "../../core/ids.ts";
import { type Parsed, parsed, refused } from "../../core/fault.ts";
import { hashOf } from "../blob_hash.ts";
import type { NetLimits } from "../limits.ts";
import { decodeMsgpack, encodeMsgpack } from "./msgpack.ts";

/** Named if the hash is known: hashing takes longer than sending. */
export type Segment = Uint8Array | NamedSegment;

interface NamedSegment {
  readonly bytes: Uint8Array;
  readonly hash: BlobHash;
}

export const segmentBytes = (segment: Segment): Uint8Array => segment instanceof Uint8Array ? segment : segment.bytes;

export interface Frame {
  readonly header: unknown;
  readonly segments: readonly Uint8Array[];
  readonly names: readonly BlobHash[]; // of the segments, checked
  readonly sequence: number;
  readonly acknowledged: number;
}

interface FrameContent {
  readonly header: unknown;
  readonly segments?: readonly Segment[];
  readonly sequence?: number;
  readonly acknowledged?: number;
}

export interface FrameLimits extends Pick<NetLimits, "frameBytes" | "headerBytes" | "headerDepth" | "segments"> {
  readonly headerValues?: number; // in a header, including keys; absent: as many as its bytes hold
}

const magic = 0x6174_6f69; // "iota" read as little-endian u32
const layout = 3;
const acknowledgedAt = 16;
const bodyChecksumAt = 20;
const prefixChecksumAt = 24;
export const macStart = 28;
export const macBytes = 16;
const prefixBytes = macStart + macBytes;
const nameBytes = 32;
const entryBytes = 4 + nameBytes; // of the table

const aligned = (bytes: number): number => Math.ceil(bytes / 8) * 8;

/** `take` may return memory with old bytes in it. */
export function encodeFrame(
  content: FrameContent,
  take: (bytes: number) => Uint8Array = (bytes) => new Uint8Array(bytes),
): Uint8Array {
  const { header, segments = [], sequence = 0, acknowledged = 0 } = content;
  assert(segments.length <= 0xffff, "a frame has at most 65535 segments");
  const headerBytes = header === null ? new Uint8Array(0) : encodeMsgpack(header);
  const headerAt = prefixBytes + entryBytes * segments.length;
  let length = headerAt + headerBytes.length;
  for (const segment of segments) length = aligned(length) + segmentBytes(segment).length;

  const bytes = take(length);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  view.setUint32(0, magic, true);
  view.setUint16(4, layout, true);
  view.setUint16(6, segments.length, true);
  view.setUint32(8, headerBytes.length, true);
  view.setUint32(12, sequence, true);
  view.setUint32(acknowledgedAt, acknowledged, true);
  bytes.fill(0, macStart, prefixBytes);
  bytes.set(headerBytes, headerAt);
  let at = headerAt + headerBytes.length;
  segments.forEach((segment, index) => {
    const content = segmentBytes(segment);
    const entryAt = prefixBytes + entryBytes * index;
    view.setUint32(entryAt, content.length, true);
    bytes.subarray(entryAt + 4).setFromHex(segment instanceof Uint8Array ? hashOf(segment) : segment.hash);
    bytes.fill(0, at, aligned(at));
    at = aligned(at);
    bytes.set(content, at);
    at += content.length;
  });
  writeChecksums(bytes);
  return bytes;
}

/** For bytes assembled by hand; `encodeFrame` already does this. */
export function writeChecksums(frame: Uint8Array): void {
  writeU32(frame, bodyChecksumAt, crc32(frame.subarray(prefixBytes)));
  writeU32(frame, prefixChecksumAt, crc32(frame.subarray(0, prefixChecksumAt)));
}

/** Only for a frame that is not on a socket: changing a queued one could tear it. */
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
      found === layout ? "the checksum of its prefix does not match" : `layout ${found} is unknown`,
    );
  }
  if (found !== layout) {
    return refused("versionMismatch", `Cannot read a frame: its layout is ${found}, and this program reads ${layout}`);
  }
  const count = view.getUint16(6, true);
  if (count > limits.segments) return tooLarge("segments", limits.segments, count);
  const headerBytes = view.getUint32(8, true);
  if (headerBytes > limits.headerBytes) return tooLarge("headerBytes", limits.headerBytes, headerBytes);
  const headerAt = prefixBytes + entryBytes * count;
  if (headerAt + headerBytes > bytes.length) return malformed("it ends inside its header");

  if (crc32(bytes.subarray(prefixBytes)) !== view.getUint32(bodyChecksumAt, true)) {
    return malformed("the checksum of its content does not match");
  }

  const segments = readSegments(bytes, { view, count, at: headerAt + headerBytes });
  if (!segments.ok) return segments;
  const frame = { sequence: view.getUint32(12, true), acknowledged: view.getUint32(acknowledgedAt, true) };
  if (headerBytes === 0) {
    return count === 0
      ? parsed({ header: null, segments: [], names: [], ...frame })
      : malformed("only an acknowledgement has no header");
  }
  const header = decodeMsgpack(bytes.subarray(headerAt, headerAt + headerBytes), {
    maxBytes: limits.headerBytes,
    maxDepth: limits.headerDepth,
    maxValues: limits.headerValues ?? limits.headerBytes,
  });
  return header.ok ? parsed({ header: header.value, ...segments.value, ...frame }) : header;
}

function readSegments(
  bytes: Uint8Array,
  from: { view: DataView; count: number; at: number },
): Parsed<Pick<Frame, "segments" | "names">> {
  const base = bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
  const segments: Uint8Array[] = [];
  let at = from.at;
  for (let index = 0; index < from.count; index++) {
    const start = aligned(at);
    const end = start + from.view.getUint32(prefixBytes + entryBytes * index, true);
    if (end > bytes.length) return malformed(`it ends inside segment ${index}`);
    for (; at < start; at++) if (bytes[at] !== 0) return malformed("its padding is not zero");
    segments.push(base.subarray(start, end));
    at = end;
  }
  if (at !== bytes.length) return malformed(`${bytes.length - at} bytes follow its last segment`);
  const names = segments.map(hashOf);
  const wrong = names.findIndex((name, index) => name !== nameAt(bytes, index));
  return wrong === -1 ? parsed({ segments, names }) : malformed(`segment ${wrong} does not match its hash`);
}

function nameAt(frame: Uint8Array, index: number): string {
  const at = prefixBytes + entryBytes * index + 4;
  return frame.subarray(at, at + nameBytes).toHex();
}

/** Prefix, table and header. Null: the frame is too short for them. */
export function headOf(frame: Uint8Array): Uint8Array | null {
  if (frame.length < prefixBytes) return null;
  const view = new DataView(frame.buffer, frame.byteOffset);
  const end = prefixBytes + entryBytes * view.getUint16(6, true) + view.getUint32(8, true);
  return end <= frame.length ? frame.subarray(0, end) : null;
}

const malformed = (problem: string) => refused("malformedFrame", `Cannot read a frame: ${problem}`);

const tooLarge = (name: string, limit: number, value: number) =>
  refused("limitExceeded", `Cannot read a frame: '${name}' must be at most ${limit}, and is ${value}`);

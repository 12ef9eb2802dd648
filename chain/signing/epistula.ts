/**
 * Epistula, the older request signing of subnets, for compatibility with nodes that speak nothing else.
 *
 * Two variants: `plain` signs body hash, time and receiver; `v2` has a version and a uuid as well. Neither binds method or path,
 * so prefer btauth. The replay cache is ours. Times are unix milliseconds.
 */

import { assert } from "../../core/assert.ts";
import { type Parsed, parsed, refused } from "../../core/fault.ts";
import type { Address, ChainSigner } from "../call.ts";
import type { ReplayCache } from "./replay_cache.ts";
import { bytesOf, type HeaderSource, sha256Hex, signatureOf, signedHex, type VerifySignature } from "./signed_text.ts";

const pastMs = 10_000;
const futureMs = 2_000;
const intervalMs = 10_000; // of the secret signatures, by which a load balancer knows the sender
const timeText = /^[0-9]{1,15}$/;

export interface EpistulaStamp {
  readonly timestampMs: number;
  readonly uuid: string | null; // null: the plain variant
  readonly signedFor: Address | null;
}

/** The signed text. */
export function epistulaMessage(body: Uint8Array, stamp: EpistulaStamp): string {
  const uuid = stamp.uuid === null ? [] : [stamp.uuid];
  return [sha256Hex(body), ...uuid, stamp.timestampMs, stamp.signedFor ?? ""].join(".");
}

export function signEpistula(body: Uint8Array, stamp: EpistulaStamp, signer: ChainSigner): Record<string, string> {
  return {
    ...(stamp.uuid === null ? {} : { "Epistula-Version": "2", "Epistula-Uuid": stamp.uuid }),
    "Epistula-Timestamp": String(stamp.timestampMs),
    "Epistula-Signed-By": signer.address,
    "Epistula-Request-Signature": signedHex(signer, epistulaMessage(body, stamp)),
    ...(stamp.signedFor === null ? {} : signedForHeaders(signer, stamp.signedFor, stamp.timestampMs)),
  };
}

/** The reference writes the interval as a Python float, so ".0" belongs to the signed text. */
function signedForHeaders(signer: ChainSigner, signedFor: Address, timestampMs: number): Record<string, string> {
  const interval = Math.ceil(timestampMs / intervalMs) * intervalMs;
  const secret = (offset: number) => signedHex(signer, `${interval + offset}.0.${signedFor}`);
  return {
    "Epistula-Signed-For": signedFor,
    "Epistula-Secret-Signature-0": secret(-1),
    "Epistula-Secret-Signature-1": secret(0),
    "Epistula-Secret-Signature-2": secret(1),
  };
}

export interface EpistulaCheck {
  readonly self: Address;
  readonly nowMs: number;
  readonly verify: VerifySignature;
  readonly replays: ReplayCache;
}

/** Who sent a body, or what is wrong. A request for another receiver is refused, one for nobody is taken. */
export function verifyEpistula(body: Uint8Array, headers: HeaderSource, check: EpistulaCheck): Parsed<Address> {
  assert(
    check.replays.keepMs >= pastMs + futureMs,
    `Cannot verify as the replay cache must keep entries for the whole window: current value is ${check.replays.keepMs} ms`,
  );
  const hotkey = headers.get("Epistula-Signed-By");
  const time = headers.get("Epistula-Timestamp") ?? "";
  const signature = signatureOf(headers.get("Epistula-Request-Signature"));
  const version = headers.get("Epistula-Version");
  const uuid = headers.get("Epistula-Uuid");
  const signedFor = headers.get("Epistula-Signed-For");
  if (hotkey === null) return deny("Epistula-Signed-By is missing");
  if (!timeText.test(time)) return deny("Epistula-Timestamp must be milliseconds as a decimal number");
  if (signature === null) return deny("Epistula-Request-Signature must be 64 bytes as hex");
  if (version !== null && version !== "2") return deny("Epistula-Version must be 2 or absent");
  if ((version === null) !== (uuid === null)) return deny("Epistula-Uuid belongs to version 2, and to no other");
  if (signedFor !== null && signedFor !== check.self) return deny("The request was signed for another receiver");
  const timestampMs = Number(time);
  if (check.nowMs - timestampMs > pastMs) return deny("The request is too old: check the sender's clock");
  if (timestampMs - check.nowMs > futureMs) return deny("The request is from the future: check both clocks");
  const message = bytesOf(epistulaMessage(body, { timestampMs, uuid, signedFor }));
  if (!check.verify({ address: hotkey, message, signature })) return deny("The signature does not match");
  const replay = check.replays.accept(`${hotkey}.${signature.toHex()}`, check.nowMs);
  if (replay === "replayed") return deny("This request was accepted before: sign every try anew");
  if (replay === "full") return refused("limitExceeded", "Too many requests at once: try again in some seconds");
  return parsed(hotkey);
}

const deny = (detail: string) => refused("unauthenticated", detail);

/** JSON as far as both languages write it alike. */
export type PlainJson = null | boolean | number | string | readonly PlainJson[] | { readonly [key: string]: PlainJson };

/** The body the plain variant hashes: Python's json.dumps(sort_keys=True), which spaces separators and escapes to ASCII. */
export function pythonJson(value: PlainJson): string {
  if (typeof value === "string") return asciiQuoted(value);
  if (typeof value === "number") {
    assert(
      Number.isSafeInteger(value),
      `Cannot write a number as Python does as it must be a safe integer: current value is ${value}`,
    );
    return String(value);
  }
  if (value === null || typeof value === "boolean") return String(value);
  if (isList(value)) return `[${value.map(pythonJson).join(", ")}]`;
  const entries = Object.entries(value).sort(([a], [b]) => byCodePoint(a, b));
  return `{${entries.map(([key, each]) => `${asciiQuoted(key)}: ${pythonJson(each)}`).join(", ")}}`;
}

const isList = (value: PlainJson): value is readonly PlainJson[] => Array.isArray(value);

function asciiQuoted(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, escaped);
}

/** Python orders by code point, JavaScript by UTF-16 unit. */
function byCodePoint(a: string, b: string): number {
  const left = [...a], right = [...b];
  for (const [i, character] of left.entries()) {
    const other = right[i];
    if (other === undefined) return 1;
    if (character !== other) return character.codePointAt(0)! - other.codePointAt(0)!;
  }
  return left.length - right.length;
}

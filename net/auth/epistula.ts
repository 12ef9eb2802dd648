/**
 * Epistula, the older request signing of subnets, for nodes that support nothing else; ours use btauth.ts.
 *
 * Two variants: `plain` signs body hash, time and receiver; version 2 also signs a uuid. Neither binds method or path. Times
 * are unix milliseconds. Owns: the text, the headers, both sides. Out of scope: keys (injected), replays, and other
 * serialisations of a body: for a server that hashes its own serialisation of the body, callers must pass exactly that one.
 */

import * as v from "valibot";
import { type Parsed, refused } from "../../core/fault.ts";
import type { NodeId } from "../../core/ids.ts";
import type { Signer, Verify } from "./hello.ts";
import { address } from "../messages/schema_values.ts";
import {
  bytesOf,
  type HeaderSource,
  nanosecondsOf,
  sha256Hex,
  signatureOf,
  signedHex,
  type TimeWindow,
  unproven,
  untimely,
} from "./signed_headers.ts";

const intervalMs = 10_000; // of the secret signatures, by which a load balancer recognises the sender
const timeText = /^[0-9]{1,15}$/;

export interface EpistulaStamp {
  readonly timestampMs: number;
  readonly uuid: string | null; // null: the plain variant
  readonly signedFor: NodeId | null;
}

/** The signed text. */
export function epistulaMessage(body: Uint8Array, stamp: EpistulaStamp): string {
  const uuid = stamp.uuid === null ? [] : [stamp.uuid];
  return [sha256Hex(body), ...uuid, stamp.timestampMs, stamp.signedFor ?? ""].join(".");
}

export function signEpistula(body: Uint8Array, stamp: EpistulaStamp, signer: Signer): Record<string, string> {
  return {
    ...(stamp.uuid === null ? {} : { "Epistula-Version": "2", "Epistula-Uuid": stamp.uuid }),
    "Epistula-Timestamp": String(stamp.timestampMs),
    "Epistula-Signed-By": signer.address,
    "Epistula-Request-Signature": signedHex(signer, epistulaMessage(body, stamp)),
    ...(stamp.signedFor === null ? {} : signedForHeaders(signer, stamp.signedFor, stamp.timestampMs)),
  };
}

/** The reference writes the interval as a Python float, so the signed text contains ".0". */
function signedForHeaders(signer: Signer, signedFor: NodeId, timestampMs: number): Record<string, string> {
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
  readonly self: NodeId;
  readonly nowMs: number;
  readonly window: TimeWindow;
  readonly verify: Verify;
}

export interface EpistulaSender {
  readonly sender: NodeId;
  readonly stamp: EpistulaStamp;
}

/** A body's sender, or the fault. A request for another receiver is refused, one without a receiver is accepted. */
export function verifyEpistula(body: Uint8Array, headers: HeaderSource, check: EpistulaCheck): Parsed<EpistulaSender> {
  const sent = readStamp(headers);
  if (!sent.ok) return sent;
  const { sender, stamp } = sent.value;
  const signature = signatureOf(headers.get("Epistula-Request-Signature"));
  if (signature === null) return malformed("Epistula-Request-Signature must be 64 bytes as hex");
  const { self, verify } = check;
  const { signedFor, timestampMs } = stamp;
  if (signedFor !== null && signedFor !== self) {
    return malformed(`its receiver must be ${self}: current value is ${signedFor}; ask that one, or sign again`);
  }
  const late = untimely(nanosecondsOf(timestampMs), check);
  if (late !== null) return { ok: false, fault: late };
  const message = bytesOf(epistulaMessage(body, stamp));
  if (verify({ address: sender, message, signature })) return sent;
  return { ok: false, fault: unproven(`its signature must be by ${sender} over body and time`) };
}

function readStamp(headers: HeaderSource): Parsed<EpistulaSender> {
  const sender = v.safeParse(address, headers.get("Epistula-Signed-By"));
  const signedFor = v.safeParse(v.nullable(address), headers.get("Epistula-Signed-For"));
  const time = headers.get("Epistula-Timestamp") ?? "";
  const version = headers.get("Epistula-Version");
  const uuid = headers.get("Epistula-Uuid");
  if (!sender.success) return malformed("Epistula-Signed-By must be an ss58 address");
  if (!signedFor.success) return malformed("Epistula-Signed-For must be an ss58 address");
  if (!timeText.test(time)) return malformed("Epistula-Timestamp must be milliseconds as a decimal number");
  if (version !== null && version !== "2") return malformed("Epistula-Version must be 2 or absent");
  if ((version === null) !== (uuid === null)) return malformed("Epistula-Uuid belongs to version 2, and to no other");
  const stamp = { timestampMs: Number(time), uuid, signedFor: signedFor.output };
  return { ok: true, value: { sender: sender.output, stamp } };
}

const malformed = (rule: string): Parsed<never> => refused("unauthenticated", `Cannot accept a request as ${rule}`);

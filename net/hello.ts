/**
 * Who is on the line: a mutual signed challenge, before any message.
 *
 *   hub  -> node   challenge  its address, the run, a fresh nonce
 *   node -> hub    hello      its address, role, own nonce, the session it wants to resume, its signature
 *   hub  -> node   accept     the session, what it has received of it, its signature      (or refusal: a fault, and the end)
 *
 * Each signature covers protocol, direction, run, role, both addresses, both nonces and the session terms. A recorded hello is
 * worthless: it answers a nonce that no hub will draw again. Owns: the four records and their checks, as pure functions.
 * Refuses: keys (injected as `Signer` and `Verify`), sockets, who is admitted (injected). What follows the hello on the link is
 * as safe as the link: use TLS across networks that could rewrite it.
 */

import * as v from "valibot";
import { type Fault, type Parsed, parsed, refused } from "../core/fault.ts";
import type { NodeId } from "../core/ids.ts";
import { PROTOCOL_VERSION, type Role } from "../core/protocol/message.ts";
import {
  address,
  count,
  faultValue,
  flag,
  hex64,
  parseWith,
  positiveCount,
  role,
  shortText,
  u32,
} from "./schema_values.ts";
import type { Random } from "./timers.ts";

export interface Signer {
  readonly address: NodeId;
  sign(message: Uint8Array): Uint8Array;
}

export type Verify = (input: { address: NodeId; message: Uint8Array; signature: Uint8Array }) => boolean;

/** Whether this run takes the node; the fault is sent to it. */
export type Admit = (input: { node: NodeId; role: Role }) => Fault | null;

const signature = v.pipe(v.string(), v.regex(/^[0-9a-f]{128}$/, "must be 128 lower-case hex digits"));

const challengeSchema = v.strictObject({
  type: v.literal("challenge"),
  protocol: count,
  run: shortText,
  hub: address,
  nonce: hex64,
});
const helloSchema = v.strictObject({
  type: v.literal("hello"),
  protocol: count,
  run: shortText,
  role,
  node: address,
  hub: address,
  hubNonce: hex64,
  nonce: hex64,
  resume: v.nullable(v.strictObject({ session: hex64, received: u32 })),
  signature,
});
const acceptSchema = v.strictObject({
  type: v.literal("accept"),
  session: hex64,
  resumed: flag,
  received: u32,
  limits: v.strictObject({ frameBytes: positiveCount, headerBytes: positiveCount }),
  signature,
});
const refusalSchema = v.strictObject({ type: v.literal("refusal"), fault: faultValue });

export type Challenge = v.InferOutput<typeof challengeSchema>;
export type Hello = v.InferOutput<typeof helloSchema>;
export type Accept = v.InferOutput<typeof acceptSchema>;

/** What the hub decided about the session, to be signed. */
export type SessionTerms = Omit<Accept, "type" | "signature">;

/** The largest message the hub takes and sends. */
export type AgreedLimits = Accept["limits"];

export interface NodeIdentity {
  readonly signer: Signer;
  readonly role: Role;
  readonly run: string | null; // null: whatever run this hub serves
  readonly hub: NodeId | null; // null: any hub that proves the address it shows
}

export function createChallenge(run: string, hub: NodeId, random: Random): Challenge {
  return { type: "challenge", protocol: PROTOCOL_VERSION, run, hub, nonce: hex(random.bytes(32)) };
}

/** The node's answer, or why it will not talk to this hub. */
export function answerChallenge(
  header: unknown,
  from: { identity: NodeIdentity; resume: Hello["resume"]; random: Random },
): Parsed<Hello> {
  const version = checkProtocol(header, "orchestrator");
  if (!version.ok) return version;
  const challenge = parseWith(challengeSchema, header, "the orchestrator's challenge");
  if (!challenge.ok) return challenge;
  const { run, hub, nonce: hubNonce } = challenge.value;
  const { signer, role } = from.identity;
  if (from.identity.run !== null && from.identity.run !== run) {
    return wrongRun({ wanted: from.identity.run, served: run });
  }
  if (from.identity.hub !== null && from.identity.hub !== hub) {
    return refused(
      "unauthenticated",
      `Cannot join as the orchestrator must be ${from.identity.hub}: current value is ${hub}; check its address`,
    );
  }
  const unsigned: Omit<Hello, "signature"> = {
    type: "hello",
    protocol: PROTOCOL_VERSION,
    run,
    role,
    node: signer.address,
    hub,
    hubNonce,
    nonce: hex(from.random.bytes(32)),
    resume: from.resume,
  };
  return parsed({ ...unsigned, signature: hex(signer.sign(nodeText(unsigned))) });
}

/** What the node claims, proven and admitted; or the fault to refuse it with. */
export function checkHello(
  header: unknown,
  by: { challenge: Challenge; verify: Verify; admit: Admit },
): Parsed<Hello> {
  const version = checkProtocol(header, "node");
  if (!version.ok) return version;
  const parsedHello = parseWith(helloSchema, header, "a hello");
  if (!parsedHello.ok) return parsedHello;
  const hello = parsedHello.value;
  const { challenge } = by;
  if (hello.run !== challenge.run) return wrongRun({ wanted: hello.run, served: challenge.run });
  if (hello.hub !== challenge.hub || hello.hubNonce !== challenge.nonce) {
    return refused(
      "unauthenticated",
      "Cannot take a hello as it must answer this connection's challenge: it answers another one",
    );
  }
  if (hello.node === hello.hub) {
    return refused(
      "unauthenticated",
      "Cannot take a hello as a node must not use the orchestrator's own hotkey; use another wallet",
    );
  }
  const proof = { address: hello.node, message: nodeText(hello), signature: unhex(hello.signature) };
  if (!by.verify(proof)) {
    return refused(
      "unauthenticated",
      `Cannot take a hello as its signature must be by ${hello.node}; check the wallet`,
    );
  }
  const fault = by.admit({ node: hello.node, role: hello.role });
  return fault === null ? parsed(hello) : { ok: false, fault };
}

export function createAccept(hello: Hello, terms: SessionTerms, signer: Signer): Accept {
  return { type: "accept", ...terms, signature: hex(signer.sign(hubText(hello, terms))) };
}

/** The hub's answer to our hello, proven; a refusal comes back as its fault. */
export function checkAccept(header: unknown, by: { hello: Hello; verify: Verify }): Parsed<Accept> {
  const refusal = readRefusal(header);
  if (refusal !== null) return { ok: false, fault: refusal };
  const accept = parseWith(acceptSchema, header, "the orchestrator's answer");
  if (!accept.ok) return accept;
  const proof = {
    address: by.hello.hub,
    message: hubText(by.hello, accept.value),
    signature: unhex(accept.value.signature),
  };
  if (by.verify(proof)) return accept;
  return refused(
    "unauthenticated",
    `Cannot join as the orchestrator did not prove that it is ${by.hello.hub}; check its address`,
  );
}

export function createRefusal(fault: Fault): { type: "refusal"; fault: Fault } {
  return { type: "refusal", fault: { code: fault.code, detail: fault.detail.slice(0, 1000) } };
}

/** The fault of a refusal, null for any other header. */
export function readRefusal(header: unknown): Fault | null {
  const refusal = v.safeParse(refusalSchema, header);
  return refusal.success ? refusal.output.fault : null;
}

/** Before anything else is read: another version may have other fields. */
function checkProtocol(header: unknown, who: "node" | "orchestrator"): Parsed<null> {
  const version = v.safeParse(v.object({ protocol: count }), header);
  if (!version.success || version.output.protocol === PROTOCOL_VERSION) return parsed(null);
  const found = version.output.protocol;
  const older = found > PROTOCOL_VERSION === (who === "orchestrator") ? "node" : "orchestrator";
  return refused(
    "versionMismatch",
    `Cannot talk to the ${who} as its protocol must be ${PROTOCOL_VERSION}: current value is ${found}; update the ${older}`,
  );
}

function wrongRun(run: { wanted: string; served: string }): Parsed<never> {
  return refused(
    "unauthenticated",
    `Cannot join as the run must be '${run.wanted}': this orchestrator serves '${run.served}'; check the address or the run's name`,
  );
}

/** A JSON list, so that no value can run into the next one. */
function nodeText(hello: Omit<Hello, "signature">): Uint8Array {
  const { protocol, run, role, node, hub, hubNonce, nonce, resume } = hello;
  const session = resume === null ? ["new"] : ["resume", resume.session, resume.received];
  return utf8(["iota hello", protocol, "node to hub", run, role, node, hub, hubNonce, nonce, ...session]);
}

function hubText(hello: Hello, terms: SessionTerms): Uint8Array {
  const { protocol, run, role, node, hub, hubNonce, nonce } = hello;
  const { frameBytes, headerBytes } = terms.limits;
  const session = [terms.session, terms.resumed, terms.received, frameBytes, headerBytes];
  return utf8(["iota hello", protocol, "hub to node", run, role, node, hub, hubNonce, nonce, ...session]);
}

const utf8 = (values: readonly unknown[]): Uint8Array => new TextEncoder().encode(JSON.stringify(values));

export const hex = (bytes: Uint8Array): string => bytes.toHex();
export const unhex = (digits: string): Uint8Array => Uint8Array.fromHex(digits);

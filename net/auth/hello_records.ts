/**
 * The records of a hello: their schemas, and the texts that prove them by a signature, or by a ticket's secret.
 *
 * Texts are JSON lists, so values cannot run into each other, and a text for one direction or kind of proof never
 * equals one for another.
 */

import * as v from "valibot";
import type { NodeId } from "../../core/ids.ts";
import {
  address,
  count,
  faultValue,
  flag,
  hex64,
  positiveCount,
  role,
  shortText,
  u32,
} from "../messages/schema_values.ts";

const signature = v.pipe(v.string(), v.regex(/^[0-9a-f]{128}$/, "must be 128 lower-case hex digits"));
export const ticketText = v.pipe(v.string(), v.regex(/^(?:[0-9a-f]{2}){1,256}$/, "must be lower-case hex digits"));

/** Up to the year 9999, so that it can be printed. */
const clockTime = v.pipe(count, v.maxValue(253_402_300_799_999, "must be before the year 10000"));

export const challengeSchema = v.strictObject({
  type: v.literal("challenge"),
  protocol: count,
  run: shortText,
  hub: address,
  nonce: hex64,
});
const helloProof = v.variant("type", [
  v.strictObject({ type: v.literal("signature"), share: hex64, signature }),
  v.strictObject({ type: v.literal("ticket"), ticket: ticketText, mac: hex64 }),
]);
export const helloSchema = v.strictObject({
  type: v.literal("hello"),
  protocol: count,
  run: shortText,
  role,
  node: address,
  hub: address,
  hubNonce: hex64,
  nonce: hex64,
  timeMs: clockTime,
  process: hex64, // a random number, which distinguishes two processes with one hotkey
  resume: v.nullable(v.strictObject({ session: hex64, received: u32 })),
  proof: helloProof,
});
const acceptProof = v.variant("type", [
  v.strictObject({ type: v.literal("signature"), share: hex64, ticket: ticketText, signature }),
  v.strictObject({ type: v.literal("ticket"), mac: hex64 }),
]);
export const acceptSchema = v.strictObject({
  type: v.literal("accept"),
  session: hex64,
  resumed: flag,
  received: u32,
  timeMs: clockTime,
  limits: v.strictObject({ frameBytes: positiveCount, headerBytes: positiveCount }),
  proof: acceptProof,
});
export const refusalSchema = v.strictObject({ type: v.literal("refusal"), fault: faultValue });

export type Challenge = v.InferOutput<typeof challengeSchema>;
export type Hello = v.InferOutput<typeof helloSchema>;
export type Accept = v.InferOutput<typeof acceptSchema>;
export type Refusal = v.InferOutput<typeof refusalSchema>;

export type HelloClaim = Omit<Hello, "proof">;

export type SessionTerms = Omit<Accept, "type" | "proof">;

export type AgreedLimits = Accept["limits"];

/** What a proof covers besides the claim. */
type NodeOffer =
  | { readonly type: "signature"; readonly share: string }
  | { readonly type: "ticket"; readonly ticket: string };

type HubOffer =
  | { readonly type: "signature"; readonly share: string; readonly ticket: string }
  | { readonly type: "ticket" };

export function nodeText(claim: HelloClaim, offer: NodeOffer): Uint8Array {
  const { resume, timeMs, process } = claim;
  const session = resume === null ? ["new"] : ["resume", resume.session, resume.received];
  return utf8(["iota hello", "node to hub", ...both(claim), timeMs, process, ...session, ...nodeProof(offer)]);
}

export function hubText(hello: Hello, from: { terms: SessionTerms; offer: HubOffer }): Uint8Array {
  const { terms: { session, resumed, received, timeMs, limits }, offer } = from;
  const given = offer.type === "signature" ? [offer.share, offer.ticket] : [];
  const terms = [session, resumed, received, timeMs, limits.frameBytes, limits.headerBytes];
  return utf8(["iota hello", "hub to node", ...both(hello), ...terms, ...nodeProof(hello.proof), ...given]);
}

/** The context to which a signed hello's secret is bound. */
export function secretText(claim: HelloClaim, shares: { node: string; hub: string }): Uint8Array {
  return utf8(["iota link secret", ...both(claim), shares.node, shares.hub]);
}

export function linkText(claim: HelloClaim): Uint8Array {
  return utf8(["iota link", ...both(claim)]);
}

function both({ protocol, run, role, node, hub, hubNonce, nonce }: HelloClaim): readonly (string | number | NodeId)[] {
  return [protocol, run, role, node, hub, hubNonce, nonce];
}

function nodeProof(offer: NodeOffer): readonly string[] {
  return offer.type === "signature" ? ["signature", offer.share] : ["ticket", offer.ticket];
}

const utf8 = (values: readonly unknown[]): Uint8Array => new TextEncoder().encode(JSON.stringify(values));

/**
 * The four records of a hello: their schemas, and the texts that prove them.
 *
 * A record proves itself in one of two ways: by a signature, with a public key for the secret that follows from it
 * (link_secret.ts), or by that secret, with the ticket that says which one (ticket.ts). Owns: shapes and texts. Refuses: checks
 * (hello.ts). Invariants: each text names protocol, direction, run, role, both addresses, both nonces, the session and the way
 * of proof; as JSON lists no value can run into the next one, and no text of one direction or way is one of another.
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
/** Whether it opens is the hub's to see: a ticket of any other length sends the node to sign, as every one that does not. */
export const ticketText = v.pipe(v.string(), v.regex(/^(?:[0-9a-f]{2}){1,256}$/, "must be lower-case hex digits"));

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
  limits: v.strictObject({ frameBytes: positiveCount, headerBytes: positiveCount }),
  proof: acceptProof,
});
export const refusalSchema = v.strictObject({ type: v.literal("refusal"), fault: faultValue });

export type Challenge = v.InferOutput<typeof challengeSchema>;
export type Hello = v.InferOutput<typeof helloSchema>;
export type Accept = v.InferOutput<typeof acceptSchema>;
export type Refusal = v.InferOutput<typeof refusalSchema>;

/** What a hello says, before it is proven. */
export type HelloClaim = Omit<Hello, "proof">;

/** What the hub decided about the session, to be proven. */
export type SessionTerms = Omit<Accept, "type" | "proof">;

/** The largest message the hub takes and sends. */
export type AgreedLimits = Accept["limits"];

/** What a proof of the node covers beside the claim. */
export type NodeOffer =
  | { readonly type: "signature"; readonly share: string }
  | { readonly type: "ticket"; readonly ticket: string };

/** And one of the hub beside hello and terms. */
export type HubOffer =
  | { readonly type: "signature"; readonly share: string; readonly ticket: string }
  | { readonly type: "ticket" };

export function nodeText(claim: HelloClaim, offer: NodeOffer): Uint8Array {
  const { resume } = claim;
  const session = resume === null ? ["new"] : ["resume", resume.session, resume.received];
  return utf8(["iota hello", "node to hub", ...both(claim), ...session, ...nodeProof(offer)]);
}

export function hubText(hello: Hello, from: { terms: SessionTerms; offer: HubOffer }): Uint8Array {
  const { terms: { session, resumed, received, limits }, offer } = from;
  const given = offer.type === "signature" ? [offer.share, offer.ticket] : [];
  const terms = [session, resumed, received, limits.frameBytes, limits.headerBytes];
  return utf8(["iota hello", "hub to node", ...both(hello), ...terms, ...nodeProof(hello.proof), ...given]);
}

/** What the secret of a signed hello is bound to. */
export function secretText(claim: HelloClaim, shares: { node: string; hub: string }): Uint8Array {
  return utf8(["iota link secret", ...both(claim), shares.node, shares.hub]);
}

/** What the keys of one link are bound to. */
export function linkText(claim: HelloClaim): Uint8Array {
  return utf8(["iota link", ...both(claim)]);
}

/** What both sides must see alike. */
function both({ protocol, run, role, node, hub, hubNonce, nonce }: HelloClaim): readonly (string | number | NodeId)[] {
  return [protocol, run, role, node, hub, hubNonce, nonce];
}

function nodeProof(offer: NodeOffer): readonly string[] {
  return offer.type === "signature" ? ["signature", offer.share] : ["ticket", offer.ticket];
}

const utf8 = (values: readonly unknown[]): Uint8Array => new TextEncoder().encode(JSON.stringify(values));

/**
 * btauth/1, Bittensor's signed requests: "sent by hotkey X, to hotkey Y, with exactly this body, just now".
 *
 * Eight lines are signed: protocol, scheme, method, target, SHA-256 of the body, nonce (unix time in nanoseconds), sender,
 * receiver. Owns: the text, the headers, the nonces, both sides of a signed request. Out of scope: keys (injected) and
 * replays (request_auth.ts): a request that passes here may have passed before. Stricter than the protocol requires: sr25519
 * only, and a receiver is required. Invariant: fault texts contain no part of a signature.
 */

import * as v from "valibot";
import { type Fault, type Parsed, parsed, refused } from "../../core/fault.ts";
import type { NodeId } from "../../core/ids.ts";
import type { Signer, Verify } from "./hello.ts";
import { address } from "../messages/schema_values.ts";
import {
  bytesOf,
  type HeaderSource,
  nanosecondsOf,
  signatureOf,
  signedHex,
  type TimeWindow,
  unproven,
  untimely,
} from "./signed_headers.ts";
import type { Random, Timers } from "../timers.ts";

/** The signed parts of a request. */
export interface SignedRequest {
  readonly method: string;
  readonly target: string; // path with query, exactly as sent
  readonly bodyHash: string; // SHA-256 of the raw body in lower-case hex, even if empty
}

/** The claimed sender, receiver and time. */
export interface BtauthClaim {
  readonly sender: NodeId;
  readonly receiver: NodeId | null; // null: any node
  readonly nonceNs: bigint; // unix time; unique among a sender's requests
}

const nonceText = /^[0-9]{1,20}$/;
const scheme = "sr25519";

/**
 * Nonces of one sender: the time, with a distinct number below the millisecond. That number starts at random, because a
 * clock may be set back to an already used millisecond, and another process may use the same hotkey.
 */
export class NonceSource {
  readonly #timers: Timers;
  readonly #random: Random;
  #ms = Number.NaN;
  #serial = 0;

  constructor(timers: Timers, random: Random) {
    this.#timers = timers;
    this.#random = random;
  }

  next(): bigint {
    const ms = Math.floor(this.#timers.nowMs());
    this.#serial = ms === this.#ms ? this.#serial + 1 : Math.floor(this.#random.unit() * 500_000);
    this.#ms = ms;
    return nanosecondsOf(ms) + BigInt(this.#serial);
  }
}

/** The text to authenticate. `scheme`: the method. */
export function btauthText(request: SignedRequest, { claim, scheme }: { claim: BtauthClaim; scheme: string }): string {
  const { sender, receiver, nonceNs } = claim;
  const { method, target, bodyHash } = request;
  return ["btauth/1", scheme, method.toUpperCase(), target, bodyHash, nonceNs, sender, receiver ?? "-"].join("\n");
}

/** A claim's headers, without the proof. */
export function claimHeaders({ sender, receiver, nonceNs }: BtauthClaim): Record<string, string> {
  return {
    "X-Bittensor-Version": "1",
    "X-Bittensor-Hotkey": sender,
    ...receiver === null ? {} : { "X-Bittensor-Receiver": receiver },
    "X-Bittensor-Nonce": String(nonceNs),
  };
}

/** A request's headers. Every attempt needs its own nonce: sign again before sending again. */
export function signBtauth(
  request: SignedRequest,
  { signer, ...to }: Omit<BtauthClaim, "sender"> & { signer: Signer },
): Record<string, string> {
  const claim = { ...to, sender: signer.address };
  return { ...claimHeaders(claim), "X-Bittensor-Signature": signedHex(signer, btauthText(request, { claim, scheme })) };
}

/** Parses the claim from headers. */
export function readClaim(headers: HeaderSource): Parsed<BtauthClaim> {
  const nonce = headers.get("X-Bittensor-Nonce") ?? "";
  const sender = v.safeParse(address, headers.get("X-Bittensor-Hotkey"));
  const receiver = v.safeParse(v.nullable(address), headers.get("X-Bittensor-Receiver"));
  if (headers.get("X-Bittensor-Version") !== "1") return malformed("X-Bittensor-Version must be 1");
  if (!sender.success) return malformed("X-Bittensor-Hotkey must be an ss58 address");
  if (!receiver.success) return malformed("X-Bittensor-Receiver must be an ss58 address");
  if (!nonceText.test(nonce)) return malformed("X-Bittensor-Nonce must be a decimal number");
  return parsed({ sender: sender.output, receiver: receiver.output, nonceNs: BigInt(nonce) });
}

/** Parses the signature from headers. */
export function readSignature(headers: HeaderSource): Parsed<Uint8Array> {
  if ((headers.get("X-Bittensor-Crypto") ?? scheme) !== scheme) return malformed("X-Bittensor-Crypto must be sr25519");
  const signature = signatureOf(headers.get("X-Bittensor-Signature"));
  return signature === null ? malformed("X-Bittensor-Signature must be 64 bytes as hex") : parsed(signature);
}

/** Null: it was signed for this verifier within the time window. */
export function checkClaim(
  claim: BtauthClaim,
  at: { self: NodeId; nowMs: number; window: TimeWindow },
): Fault | null {
  const { receiver, nonceNs } = claim;
  if (receiver !== at.self) {
    return unproven(
      `its receiver is ${receiver ?? "not named"}, and this node is ${at.self}; ask that one, or sign again`,
    );
  }
  return untimely(nonceNs, at);
}

/** Null: the claim's sender signed the request. */
export function checkSignature(
  request: SignedRequest,
  { claim, signature, verify }: { claim: BtauthClaim; signature: Uint8Array; verify: Verify },
): Fault | null {
  const message = bytesOf(btauthText(request, { claim, scheme }));
  if (verify({ address: claim.sender, message, signature })) return null;
  return unproven(`its signature is not ${claim.sender}'s over this method, path and body`);
}

const malformed = (rule: string): Parsed<never> => refused("unauthenticated", `Cannot accept a request: ${rule}`);

/**
 * Proven HTTP requests: who asks, for this hub, this run, this method, path and body, and only once.
 *
 * Proven by a signature, or by the secret behind a ticket (ticket.ts), which takes a twentieth of the time; only the hub can
 * open one, so other nodes are asked with signatures. Owns: the headers, both sides. The time stamp bounds how long a nonce
 * must be remembered, so both clocks must agree to `clockSkewMs`. Refuses: keys and who is admitted (injected). Invariant: a
 * nonce is remembered only after the request is proven, per node, so nobody can use up another node's nonces.
 */

import * as v from "valibot";
import { type Fault, fault, type Parsed, parsed, refused } from "../core/fault.ts";
import type { NodeId } from "../core/ids.ts";
import { PROTOCOL_VERSION } from "../core/protocol/message.ts";
import { hex, type Signer, unhex, type Verify } from "./hello.ts";
import { ticketText } from "./hello_records.ts";
import type { NetLimits } from "./limits.ts";
import { address, hex64, parseWith } from "./schema_values.ts";
import type { HeldTicket, TicketBox } from "./ticket.ts";
import type { Random, Timers } from "./timers.ts";

/** What a proof covers. */
export interface SignedRequest {
  readonly method: string;
  readonly path: string; // with query
  readonly bodyHash: string; // SHA-256, empty string for a request without a body
}

export interface RequestScope {
  readonly run: string;
  readonly hub: NodeId;
}

/** The headers that prove a request. `signature`: also where there is a ticket, as it was refused. */
export type Authorize = (request: SignedRequest, by?: "signature") => Record<string, string>;

export interface AuthorizeOptions extends RequestScope {
  readonly signer: Signer;
  readonly ticket?: HeldTicket; // for requests to the hub that gave it
  readonly timers: Timers;
  readonly random: Random;
}

export function createAuthorize(from: AuthorizeOptions): Authorize {
  return (request, by) => {
    const timeMs = from.timers.nowMs();
    const nonce = hex(from.random.bytes(32));
    const message = requestText(request, { ...from, node: from.signer.address, timeMs, nonce });
    const claim = { "iota-node": from.signer.address, "iota-time": String(timeMs), "iota-nonce": nonce };
    if (from.ticket === undefined || by === "signature") {
      return { ...claim, "iota-signature": hex(from.signer.sign(message)) };
    }
    const { ticket, secret } = from.ticket;
    return { ...claim, [ticketHeader]: ticket, "iota-mac": hex(secret.proofOf(message)) };
  };
}

export const ticketHeader = "iota-ticket";

export interface RequestGateOptions extends RequestScope {
  readonly verify: Verify;
  /** Null: may use the store now. */
  readonly admit: (node: NodeId) => Fault | null;
  /** Null: requests must be signed, as only the hub can open tickets. */
  readonly tickets: TicketBox | null;
  readonly limits: Pick<NetLimits, "clockSkewMs" | "nonces" | "peers">;
  readonly timers: Timers;
}

const claim = {
  node: address,
  timeMs: v.pipe(v.string(), v.regex(/^\d{1,15}$/, "must be milliseconds"), v.transform(Number)),
  nonce: hex64,
};
const signedSchema = v.object({
  ...claim,
  signature: v.pipe(v.string(), v.regex(/^[0-9a-f]{128}$/, "must be 128 lower-case hex digits")),
});
const ticketSchema = v.object({ ...claim, ticket: ticketText, mac: hex64 });
type Claim = v.InferOutput<typeof signedSchema> | v.InferOutput<typeof ticketSchema>;

export class RequestGate {
  readonly #options: RequestGateOptions;
  /** Of each node, oldest first: nonce to the time after which its time stamp alone refuses it. */
  readonly #nonces = new Map<NodeId, Map<string, number>>();

  constructor(options: RequestGateOptions) {
    this.#options = options;
  }

  /** The node that asks, or why it may not. */
  check(request: SignedRequest, headers: Headers): Parsed<NodeId> {
    const { limits, timers, admit } = this.#options;
    const claim = readClaim(headers);
    if (!claim.ok) return refused("unauthenticated", claim.fault.detail);
    const { node, timeMs, nonce } = claim.value;
    const nowMs = timers.nowMs();
    const skewMs = Math.abs(nowMs - timeMs);
    if (skewMs > limits.clockSkewMs) {
      return refused(
        "unauthenticated",
        `Cannot take a request as its clock must agree to ${limits.clockSkewMs} ms: current value is ${skewMs}; set this machine's clock`,
      );
    }
    const refusal = admit(node);
    if (refusal !== null) return { ok: false, fault: refusal };
    const seen = this.#recent(node, nowMs);
    if (seen.has(nonce)) {
      return refused("unauthenticated", "Cannot take a request as its nonce must be new: it was used before");
    }
    if (seen.size >= limits.nonces) {
      return refused(
        "limitExceeded",
        `Cannot take a request as 'nonces' must be at most ${limits.nonces} within ${
          2 * limits.clockSkewMs
        } ms; slow down`,
      );
    }
    const message = requestText(request, { ...this.#options, node, timeMs, nonce });
    const problem = this.#checkProof(claim.value, message);
    if (problem !== null) return { ok: false, fault: problem };
    seen.set(nonce, nowMs + 2 * limits.clockSkewMs);
    this.#nonces.set(node, seen);
    return parsed(node);
  }

  #checkProof(claim: Claim, message: Uint8Array): Fault | null {
    const { verify, tickets } = this.#options;
    const { node } = claim;
    if ("signature" in claim) {
      if (verify({ address: node, message, signature: unhex(claim.signature) })) return null;
      const detail = `Cannot take a request as its signature must be by ${node} over method, path and body`;
      return fault("unauthenticated", detail);
    }
    const secret = tickets?.open({ node, ticket: claim.ticket })?.secret;
    if (secret?.proves({ message, proof: unhex(claim.mac) })) return null;
    return fault("unauthenticated", "Cannot take a request as its ticket is of no use here; sign it");
  }

  /** The node's nonces that still matter. Forgets nodes that have none when there are more than peers. */
  #recent(node: NodeId, nowMs: number): Map<string, number> {
    const seen = this.#nonces.get(node) ?? new Map<string, number>();
    forgetUntil(seen, nowMs);
    if (this.#nonces.size <= this.#options.limits.peers) return seen;
    for (const [other, nonces] of this.#nonces) {
      forgetUntil(nonces, nowMs);
      if (nonces.size === 0) this.#nonces.delete(other);
    }
    return seen;
  }
}

function readClaim(headers: Headers): Parsed<Claim> {
  const read = (name: string): string | undefined => headers.get(name) ?? undefined;
  const claim = { node: read("iota-node"), timeMs: read("iota-time"), nonce: read("iota-nonce") };
  const ticket = read(ticketHeader);
  const mac = read("iota-mac");
  if (ticket !== undefined) return parseWith(ticketSchema, { ...claim, ticket, mac }, "a request's ticket");
  return parseWith(signedSchema, { ...claim, signature: read("iota-signature") }, "a request's signature");
}

function forgetUntil(nonces: Map<string, number>, nowMs: number): void {
  for (const [nonce, untilMs] of nonces) {
    if (untilMs > nowMs) return;
    nonces.delete(nonce);
  }
}

function requestText(
  request: SignedRequest,
  by: RequestScope & { node: NodeId; timeMs: number; nonce: string },
): Uint8Array {
  const { method, path, bodyHash } = request;
  const values = [
    "iota request",
    PROTOCOL_VERSION,
    by.run,
    by.hub,
    by.node,
    by.timeMs,
    by.nonce,
    method,
    path,
    bodyHash,
  ];
  return new TextEncoder().encode(JSON.stringify(values));
}

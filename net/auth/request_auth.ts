/**
 * Authenticated HTTP requests: the sender is proven for this receiver, method, path and body, and each request is
 * accepted once.
 *
 * Each makes btauth/1's claim and proves it with a signature, or with an HMAC under a ticket's secret (ticket.ts),
 * which takes a twentieth of the time; only the orchestrator can open a ticket. Clocks must agree within `clockSkewMs`. The
 * gate decides before it reads a body, so an upload's body hash is the blob's name in its path: the SHA-256 of a single leaf
 * sent whole, otherwise the name that all parts must give. Requests do not name a run; a ticket belongs to one run. A
 * signature replayed to another run of the orchestrator, or after its restart, gets only what its node may have there anyway: a
 * blob that its work needs, or space for bytes that are unused until they are swept.
 *
 * Owns: both sides of the proofs, and the nonces seen. Out of scope: keys and admission (both injected). Invariant: a
 * nonce is remembered per node, only after the request is authenticated, so no node can use up another's nonces, and
 * only until its time stamp alone is refused.
 */

import * as v from "valibot";
import { type Fault, fault, type Parsed, parsed, refused } from "../../core/fault.ts";
import type { NodeId } from "../../core/ids.ts";
import {
  type BtauthClaim,
  btauthText,
  checkClaim,
  checkSignature,
  claimHeaders,
  NonceSource,
  readClaim,
  readSignature,
  signBtauth,
  type SignedRequest,
} from "./btauth.ts";
import { FailureBudget } from "./failure_budget.ts";
import { hex, type Signer, unhex, type Verify } from "./hello.ts";
import { ticketText } from "./hello_records.ts";
import type { NetLimits } from "../limits.ts";
import { hex64, parseWith } from "../messages/schema_values.ts";
import { bytesOf } from "./signed_headers.ts";
import type { HeldTicket, TicketBox } from "./ticket.ts";
import type { Random, Timers } from "../timers.ts";

/** The headers that authenticate a request. `signature`: sign even if there is a ticket, because it was refused. */
export type Authorize = (request: SignedRequest, by?: "signature") => Record<string, string>;

export interface AuthorizeOptions {
  readonly signer: Signer;
  readonly receiver: NodeId; // the receiving node
  readonly ticket?: HeldTicket; // the receiver's, if it is the orchestrator
  readonly timers: Timers;
  readonly random: Random;
}

export function createAuthorize({ signer, receiver, ticket, timers, random }: AuthorizeOptions): Authorize {
  const nonces = new NonceSource(timers, random);
  return (request, by) => {
    const nonceNs = nonces.next();
    if (ticket === undefined || by === "signature") return signBtauth(request, { signer, receiver, nonceNs });
    const claim = { sender: signer.address, receiver, nonceNs };
    const mac = hex(ticket.secret.proofOf(ticketProofText(request, claim)));
    return { ...claimHeaders(claim), [ticketHeader]: ticket.ticket, [macHeader]: mac };
  };
}

export const ticketHeader = "iota-ticket";
const macHeader = "iota-mac";

const ticketProofText = (request: SignedRequest, claim: BtauthClaim): Uint8Array =>
  bytesOf(btauthText(request, { claim, scheme: "iota-ticket" }));

export interface RequestGateOptions {
  readonly self: NodeId; // the receiver
  readonly verify: Verify;
  /** Null: the node may use the store now. */
  readonly admit: (node: NodeId) => Fault | null;
  /** Null: requests must be signed, because only the orchestrator can open tickets. */
  readonly tickets: TicketBox | null;
  readonly limits: Pick<NetLimits, "clockSkewMs" | "nonces" | "peers" | "failedSignaturesPerSecond">;
  readonly timers: Timers;
}

/**
 * A request names its sender before proving it, so wrong signatures are not charged to any node. Where tickets are
 * accepted, members need no signatures.
 */
const anybody = "anybody";
const tooManyFailures = fault(
  "limitExceeded",
  "Too many signatures were wrong recently; send a ticket, or try again later",
);

type Proof =
  | { readonly type: "signature"; readonly signature: Uint8Array }
  | { readonly type: "ticket"; readonly ticket: string; readonly mac: Uint8Array };

const ticketSchema = v.object({ ticket: ticketText, mac: hex64 });

export class RequestGate {
  readonly #options: RequestGateOptions;
  /** Per node, oldest first: from nonce to the time after which the request's time stamp alone is refused. */
  readonly #nonces = new Map<NodeId, Map<bigint, number>>();
  readonly #failures: FailureBudget;

  constructor(options: RequestGateOptions) {
    const { limits, timers } = options;
    this.#options = options;
    this.#failures = new FailureBudget({ perSecond: limits.failedSignaturesPerSecond, timers });
  }

  /**
   * The requesting node, or the fault. Cheap checks come first, the signature last. `origin`: who is charged for a wrong
   * signature, where all requests are signed.
   */
  check(request: SignedRequest, headers: Headers, origin = anybody): Parsed<NodeId> {
    const { self, limits, timers, admit } = this.#options;
    const read = readClaim(headers);
    if (!read.ok) return read;
    const proof = readProof(headers);
    if (!proof.ok) return proof;
    const claim = read.value;
    const { sender, nonceNs } = claim;
    const nowMs = timers.nowMs();
    const window = { pastMs: limits.clockSkewMs, futureMs: limits.clockSkewMs };
    const refusal = checkClaim(claim, { self, nowMs, window }) ?? admit(sender);
    if (refusal !== null) return { ok: false, fault: refusal };
    const seen = this.#recent(sender, nowMs);
    if (seen.has(nonceNs)) {
      return refused("unauthenticated", "The request's nonce was already used; sign every attempt separately");
    }
    if (seen.size >= limits.nonces) {
      return refused(
        "limitExceeded",
        `'nonces' must be at most ${limits.nonces} within ${2 * limits.clockSkewMs} ms; slow down`,
      );
    }
    const problem = this.#checkProof(request, { claim, proof: proof.value, origin });
    if (problem !== null) return { ok: false, fault: problem };
    seen.set(nonceNs, nowMs + 2 * limits.clockSkewMs + 1); // at the limit itself the time stamp is still valid
    this.#nonces.set(sender, seen);
    return parsed(sender);
  }

  #checkProof(
    request: SignedRequest,
    { claim, proof, origin }: { claim: BtauthClaim; proof: Proof; origin: string },
  ): Fault | null {
    const { verify, tickets } = this.#options;
    if (proof.type === "signature") {
      if (tickets !== null && !this.#failures.allows(origin)) return tooManyFailures;
      const problem = checkSignature(request, { claim, signature: proof.signature, verify });
      if (problem !== null) this.#failures.failed(origin);
      return problem;
    }
    const secret = tickets?.open({ node: claim.sender, ticket: proof.ticket })?.secret;
    if (secret?.proves({ message: ticketProofText(request, claim), proof: proof.mac })) return null;
    return fault("unauthenticated", "The request's ticket is not valid here; sign the request");
  }

  /** The node's nonces that still matter. Drops nodes without any when there are more than `peers`. */
  #recent(node: NodeId, nowMs: number): Map<bigint, number> {
    const seen = this.#nonces.get(node) ?? new Map<bigint, number>();
    forgetUntil(seen, nowMs);
    if (this.#nonces.size <= this.#options.limits.peers) return seen;
    for (const [other, nonces] of this.#nonces) {
      forgetUntil(nonces, nowMs);
      if (nonces.size === 0) this.#nonces.delete(other);
    }
    return seen;
  }
}

function readProof(headers: Headers): Parsed<Proof> {
  const ticket = headers.get(ticketHeader);
  if (ticket !== null) {
    const shown = parseWith(ticketSchema, { ticket, mac: headers.get(macHeader) ?? undefined }, "a request's ticket");
    if (!shown.ok) return refused("unauthenticated", shown.fault.detail);
    return parsed({ type: "ticket", ticket, mac: unhex(shown.value.mac) });
  }
  const signature = readSignature(headers);
  return signature.ok ? parsed({ type: "signature", signature: signature.value }) : signature;
}

function forgetUntil(nonces: Map<bigint, number>, nowMs: number): void {
  for (const [nonce, untilMs] of nonces) {
    if (untilMs > nowMs) return;
    nonces.delete(nonce);
  }
}

/**
 * Authenticated HTTP requests: the sender is proven for this receiver, method, path and body, and each request is
 * accepted once.
 *
 * The proof is a signature, or an HMAC under a ticket's secret, which takes a twentieth of the time. The gate decides
 * before it reads a body, so an upload's body hash is the blob's name in its path. A signature replayed to another run
 * of the orchestrator, or after its restart, gets only a blob that the node's work needs, or space that is swept later.
 *
 * A nonce is remembered only after its request is authenticated, so no node can use up another's nonces.
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

/** `signature`: sign even if there is a ticket, because it was refused. */
export type Authorize = (request: SignedRequest, by?: "signature") => Record<string, string>;

interface AuthorizeOptions {
  readonly signer: Signer;
  readonly receiver: NodeId;
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

interface RequestGateOptions {
  readonly self: NodeId;
  readonly verify: Verify;
  /** Null: the node may use the store now. */
  readonly admit: (node: NodeId) => Fault | null;
  /** Null: requests must be signed, because only the orchestrator can open tickets. */
  readonly tickets: TicketBox | null;
  readonly limits: Pick<NetLimits, "clockSkewMs" | "nonces" | "peers" | "failedSignaturesPerSecond">;
  readonly timers: Timers;
}

/** A request names its sender before proving it, so wrong signatures are not charged to any node. */
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
  /** Per node, oldest first: from nonce to when the request's time stamp alone is refused. */
  readonly #nonces = new Map<NodeId, Map<bigint, number>>();
  readonly #failures: FailureBudget;

  constructor(options: RequestGateOptions) {
    const { limits, timers } = options;
    this.#options = options;
    this.#failures = new FailureBudget({ perSecond: limits.failedSignaturesPerSecond, timers });
  }

  /** Cheap checks come first, the signature last. `origin` is charged for a wrong signature. */
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

  /** Drops nodes without nonces when there are more than `peers`. */
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

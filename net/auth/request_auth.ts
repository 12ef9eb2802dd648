/**
 * Proven HTTP requests: who asks, for this node, this method, path and body, and only once.
 *
 * Each makes btauth/1's claim and proves it by signature, or by HMAC with the secret behind a ticket (ticket.ts), which takes a
 * twentieth of the time; only the hub can open one. Clocks must agree to `clockSkewMs`. The gate decides before it reads a
 * body, so an upload's body hash is the blob's name in its path: the SHA-256 of one leaf sent whole, else what all parts must
 * give. No run is named. A ticket is of one run. A signature shown again to another run of the hub, or to its next life, gets
 * what its node may have there anyway: a blob that its work needs, or room for bytes that nobody uses until they are swept.
 *
 * Owns: proofs, both sides, and nonces seen. Refuses: keys and who is admitted (injected). Invariant: a nonce is remembered
 * only after the request is proven, per node, so nobody can use up another's, and for as long as its time alone would not
 * refuse it.
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

/** The headers that prove a request. `signature`: also where there is a ticket, as it was refused. */
export type Authorize = (request: SignedRequest, by?: "signature") => Record<string, string>;

export interface AuthorizeOptions {
  readonly signer: Signer;
  readonly receiver: NodeId; // the node that is asked
  readonly ticket?: HeldTicket; // of the receiver, where it is the hub
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
  readonly self: NodeId; // who is asked
  readonly verify: Verify;
  /** Null: may use the store now. */
  readonly admit: (node: NodeId) => Fault | null;
  /** Null: requests must be signed, as only the hub can open tickets. */
  readonly tickets: TicketBox | null;
  readonly limits: Pick<NetLimits, "clockSkewMs" | "nonces" | "peers" | "failedSignaturesPerSecond">;
  readonly timers: Timers;
}

/** A request names its sender before it proves it, so wrong signatures are nobody's in particular. Where there are tickets members do without. */
const anybody = "anybody";
const tooManyFailures = fault(
  "limitExceeded",
  "Cannot check another signature now as many were wrong; show a ticket, or try again later",
);

type Proof =
  | { readonly type: "signature"; readonly signature: Uint8Array }
  | { readonly type: "ticket"; readonly ticket: string; readonly mac: Uint8Array };

const ticketSchema = v.object({ ticket: ticketText, mac: hex64 });

export class RequestGate {
  readonly #options: RequestGateOptions;
  /** Of each node, oldest first: nonce to the time after which its time stamp alone refuses it. */
  readonly #nonces = new Map<NodeId, Map<bigint, number>>();
  readonly #failures: FailureBudget;

  constructor(options: RequestGateOptions) {
    const { limits, timers } = options;
    this.#options = options;
    this.#failures = new FailureBudget({ perSecond: limits.failedSignaturesPerSecond, timers });
  }

  /** The node that asks, or why it may not. The cheap checks come first, the signature last. */
  check(request: SignedRequest, headers: Headers): Parsed<NodeId> {
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
    const problem = this.#checkProof(request, { claim, proof: proof.value });
    if (problem !== null) return { ok: false, fault: problem };
    seen.set(nonceNs, nowMs + 2 * limits.clockSkewMs + 1); // at the limit itself its time is still good
    this.#nonces.set(sender, seen);
    return parsed(sender);
  }

  #checkProof(request: SignedRequest, { claim, proof }: { claim: BtauthClaim; proof: Proof }): Fault | null {
    const { verify, tickets } = this.#options;
    if (proof.type === "signature") {
      if (tickets !== null && !this.#failures.allows(anybody)) return tooManyFailures;
      const problem = checkSignature(request, { claim, signature: proof.signature, verify });
      if (problem !== null) this.#failures.failed(anybody);
      return problem;
    }
    const secret = tickets?.open({ node: claim.sender, ticket: proof.ticket })?.secret;
    if (secret?.proves({ message: ticketProofText(request, claim), proof: proof.mac })) return null;
    return fault("unauthenticated", "Cannot take a request as its ticket is of no use here; sign it");
  }

  /** The node's nonces that still matter. Forgets nodes that have none when there are more than peers. */
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

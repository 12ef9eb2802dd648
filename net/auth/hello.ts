/**
 * Mutual authentication by challenge, before any message.
 *
 *   orchestrator -> node   challenge  its address, the run, a fresh nonce
 *   node -> orchestrator   hello      its address, role, own nonce, the session to resume, its proof
 *   orchestrator -> node   accept     the session, how much of it arrived, its proof; or a fault, and the end
 *
 * The first proofs are signatures. With them both sides agree on a secret, and the node gets a ticket for it. From then
 * on the node presents the ticket, and both prove knowledge of the secret over the same text. That takes less than a
 * tenth of the orchestrator's time, so thousands of nodes reconnect within seconds. If the orchestrator cannot use a
 * ticket (too old, another orchestrator's, no proof), it sends its challenge again, and the node signs on the same
 * connection. This is resumption as in TLS 1.3 (RFC 8446, section 2.2).
 *
 * Both sides send their clock's time, so that each knows the difference (clocks.ts).
 *
 * A recorded hello is worthless: it answers a nonce that no orchestrator will draw again. Owns: the checks of the
 * records, as pure functions. Out of scope: keys (injected as `Signer` and `Verify`), sockets, admission (injected; a
 * ticket does not grant it). Later frames on the link carry MACs from the same secret (frame_mac.ts). Eavesdroppers can
 * read them; TLS prevents that.
 */

import * as v from "valibot";
import { type Fault, type Parsed, parsed, refused } from "../../core/fault.ts";
import type { NodeId } from "../../core/ids.ts";
import { PROTOCOL_VERSION, type Role } from "../../core/protocol/message.ts";
import {
  type Accept,
  acceptSchema,
  type Challenge,
  challengeSchema,
  type Hello,
  type HelloClaim,
  helloSchema,
  hubText,
  nodeText,
  type Refusal,
  refusalSchema,
  secretText,
  type SessionTerms,
} from "./hello_records.ts";
import { KeyShare, type LinkSecret } from "./link_secret.ts";
import { count, parseWith } from "../messages/schema_values.ts";
import type { HeldTicket, TicketBox } from "./ticket.ts";
import type { Random } from "../timers.ts";

export interface Signer {
  readonly address: NodeId;
  sign(message: Uint8Array): Uint8Array;
}

export type Verify = (input: { address: NodeId; message: Uint8Array; signature: Uint8Array }) => boolean;

/** Whether this run admits the node; a fault is sent to it. */
export type Admit = (input: { node: NodeId; role: Role }) => Fault | null;

export interface NodeIdentity {
  readonly signer: Signer;
  readonly role: Role;
  readonly run: string | null; // null: any run of the orchestrator, including a later one
  readonly hub: NodeId | null; // null: any orchestrator that proves its claimed address
}

/** A hello, and what its sender needs to check the answer. */
export interface Greeting {
  readonly hello: Hello;
  readonly by: KeyShare | HeldTicket;
}

/** A hello that the orchestrator has verified. */
export interface ProvenHello {
  readonly hello: Hello;
  readonly secret: LinkSecret;
  readonly share: string | null; // the orchestrator's public key, for a signed hello
}

/** `unproven`: its ticket is unusable here; the node may sign instead. */
export type HelloVerdict =
  | { readonly type: "proven"; readonly proven: ProvenHello }
  | { readonly type: "unproven" }
  | { readonly type: "refused"; readonly fault: Fault };

export function createChallenge(run: string, hub: NodeId, random: Random): Challenge {
  return { type: "challenge", protocol: PROTOCOL_VERSION, run, hub, nonce: hex(random.bytes(32)) };
}

/** Sent again after a hello: our ticket is unusable. */
export function isChallenge(header: unknown): boolean {
  return v.is(challengeSchema, header);
}

/** An orchestrator's unproven claims about itself. */
export interface Challenger {
  readonly hub: NodeId;
  readonly run: string;
}

/** Null: not a readable challenge. */
export function challengerOf(header: unknown): Challenger | null {
  const challenge = v.safeParse(challengeSchema, header);
  return challenge.success ? { hub: challenge.output.hub, run: challenge.output.run } : null;
}

/** Tells a process from others that use its hotkey. */
export const processOf = (random: Random): string => hex(random.bytes(32));

/**
 * The node's answer, or the reason to reject this orchestrator. A ticket for another run or orchestrator is not sent.
 */
export function answerChallenge(
  header: unknown,
  from: {
    identity: NodeIdentity;
    resume: Hello["resume"];
    ticket: HeldTicket | null;
    random: Random;
    nowMs: number;
    process?: string;
  },
): Parsed<Greeting> {
  const version = checkProtocol(header, "orchestrator");
  if (!version.ok) return version;
  const challenge = parseWith(challengeSchema, header, "the orchestrator's challenge");
  if (!challenge.ok) return challenge;
  const { run, hub, nonce: hubNonce } = challenge.value;
  const { identity: { signer, role, ...wanted }, resume, ticket, random, nowMs, process = processOf(random) } = from;
  if (wanted.hub !== null && wanted.hub !== hub) {
    return refused(
      "unauthenticated",
      `The orchestrator's address is ${hub}, not the expected ${wanted.hub}`,
    );
  }
  if (wanted.run !== null && wanted.run !== run) {
    return refused(
      "unauthenticated",
      `This orchestrator serves run '${run}', not '${wanted.run}'`,
    );
  }
  const claim: HelloClaim = {
    type: "hello",
    protocol: PROTOCOL_VERSION,
    run,
    role,
    node: signer.address,
    hub,
    hubNonce,
    nonce: hex(random.bytes(32)),
    timeMs: Math.floor(nowMs),
    process,
    resume,
  };
  if (ticket !== null && ticket.run === run && ticket.hub === hub) {
    const offer = { type: "ticket", ticket: ticket.ticket } as const;
    const mac = hex(ticket.secret.proofOf(nodeText(claim, offer)));
    return parsed({ hello: { ...claim, proof: { ...offer, mac } }, by: ticket });
  }
  const key = new KeyShare(random);
  const offer = { type: "signature", share: hex(key.publicKey) } as const;
  const signature = hex(signer.sign(nodeText(claim, offer)));
  return parsed({ hello: { ...claim, proof: { ...offer, signature } }, by: key });
}

interface HelloCheck {
  readonly challenge: Challenge;
  readonly verify: Verify;
  readonly admit: Admit;
  readonly tickets: TicketBox;
  readonly random: Random;
}

/** The node's verified and admitted claim, or the fault to refuse it with. */
export function checkHello(header: unknown, by: HelloCheck): HelloVerdict {
  const hello = readHello(header, by.challenge);
  if (!hello.ok) return { type: "refused", fault: hello.fault };
  const proven = hello.value.proof.type === "signature"
    ? checkSigned(hello.value, hello.value.proof, by)
    : checkTicket(hello.value, hello.value.proof, by.tickets);
  if (proven === null) return { type: "unproven" };
  if (!proven.ok) return { type: "refused", fault: proven.fault };
  const fault = by.admit({ node: hello.value.node, role: hello.value.role });
  return fault === null ? { type: "proven", proven: proven.value } : { type: "refused", fault };
}

function readHello(header: unknown, challenge: Challenge): Parsed<Hello> {
  const version = checkProtocol(header, "node");
  if (!version.ok) return version;
  const hello = parseWith(helloSchema, header, "a hello");
  if (!hello.ok) return hello;
  const { run, hub, hubNonce, node } = hello.value;
  if (run !== challenge.run) return wrongRun({ wanted: run, served: challenge.run });
  if (hub !== challenge.hub || hubNonce !== challenge.nonce) {
    return refused(
      "unauthenticated",
      "The hello answers another connection's challenge",
    );
  }
  if (node === hub) {
    return refused(
      "unauthenticated",
      "The node uses the orchestrator's own hotkey; use another wallet",
    );
  }
  return hello;
}

type ProofOf<T extends Hello["proof"]["type"]> = Extract<Hello["proof"], { type: T }>;

function checkSigned(hello: Hello, proof: ProofOf<"signature">, by: HelloCheck): Parsed<ProvenHello> {
  const message = nodeText(hello, proof);
  if (!by.verify({ address: hello.node, message, signature: unhex(proof.signature) })) {
    return refused(
      "unauthenticated",
      `The hello's signature is not by ${hello.node}; check the wallet`,
    );
  }
  const key = new KeyShare(by.random);
  const share = hex(key.publicKey);
  const transcript = secretText(hello, { node: proof.share, hub: share });
  const secret = key.agree({ publicKey: unhex(proof.share), transcript });
  return secret === null ? weakShare("the node's") : parsed({ hello, secret, share });
}

/** Null: this ticket proves nothing here. */
function checkTicket(hello: Hello, proof: ProofOf<"ticket">, tickets: TicketBox): Parsed<ProvenHello> | null {
  const content = tickets.open({ node: hello.node, ticket: proof.ticket });
  if (content === null || content.role !== hello.role) return null;
  const { secret } = content;
  if (!secret.proves({ message: nodeText(hello, proof), proof: unhex(proof.mac) })) return null;
  return parsed({ hello, secret, share: null });
}

export function createAccept(
  { hello, secret, share }: ProvenHello,
  from: { terms: SessionTerms; signer: Signer; tickets: TicketBox },
): Accept {
  const { terms, signer, tickets } = from;
  if (share === null) {
    const mac = hex(secret.proofOf(hubText(hello, { terms, offer: { type: "ticket" } })));
    return { type: "accept", ...terms, proof: { type: "ticket", mac } };
  }
  const ticket = tickets.seal({ node: hello.node, role: hello.role, secret });
  const offer = { type: "signature", share, ticket } as const;
  const signature = hex(signer.sign(hubText(hello, { terms, offer })));
  return { type: "accept", ...terms, proof: { ...offer, signature } };
}

/** The orchestrator's verified answer to our hello, and the ticket for the next one; a refusal is returned as its fault. */
export function checkAccept(
  header: unknown,
  { greeting: { hello, by }, verify }: { greeting: Greeting; verify: Verify },
): Parsed<{ accept: Accept; ticket: HeldTicket }> {
  const refusal = readRefusal(header);
  if (refusal !== null) return { ok: false, fault: refusal };
  const read = parseWith(acceptSchema, header, "the orchestrator's answer");
  if (!read.ok) return read;
  const accept = read.value;
  const { proof } = accept;
  const message = hubText(hello, { terms: accept, offer: proof });
  if (!(by instanceof KeyShare)) {
    const isProven = proof.type === "ticket" && by.secret.proves({ message, proof: unhex(proof.mac) });
    return isProven ? parsed({ accept, ticket: by }) : refused(
      "staleResult", // not final: the signed hello that follows shows whether this is our orchestrator
      "The orchestrator did not prove that it can open the ticket; signing the next hello",
    );
  }
  if (proof.type !== "signature") {
    return refused(
      "staleResult",
      "The orchestrator answered a ticket, but this node sent a signature",
    );
  }
  if (!verify({ address: hello.hub, message, signature: unhex(proof.signature) })) {
    return refused(
      "unauthenticated",
      `The orchestrator did not prove that it is ${hello.hub}; check its address`,
    );
  }
  const transcript = secretText(hello, { node: hex(by.publicKey), hub: proof.share });
  const secret = by.agree({ publicKey: unhex(proof.share), transcript });
  if (secret === null) return weakShare("the orchestrator's");
  return parsed({ accept, ticket: { run: hello.run, hub: hello.hub, ticket: proof.ticket, secret } });
}

export function createRefusal(fault: Fault): Refusal {
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
    `The ${who} uses protocol ${found}, this program ${PROTOCOL_VERSION}; update the ${older}`,
  );
}

function wrongRun(run: { wanted: string; served: string }): Parsed<never> {
  return refused(
    "unauthenticated",
    `This orchestrator serves run '${run.served}', not '${run.wanted}'; check the address or the run's name`,
  );
}

function weakShare(whose: string): Parsed<never> {
  return refused("unauthenticated", `Cannot agree on a secret: ${whose} public key has a low order`);
}

export const hex = (bytes: Uint8Array): string => bytes.toHex();
export const unhex = (digits: string): Uint8Array => Uint8Array.fromHex(digits);

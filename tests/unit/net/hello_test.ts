/** Hellos by ticket, record by record: what proves, what sends the node to sign, what an attacker in the middle gets. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { NodeId } from "../../../core/ids.ts";
import type { Role } from "../../../core/protocol/message.ts";
import {
  answerChallenge,
  checkAccept,
  checkHello,
  createAccept,
  createChallenge,
  type Greeting,
  type HelloVerdict,
  type ProvenHello,
  type Signer,
} from "../../../net/auth/hello.ts";
import type { Accept, Challenge, Hello } from "../../../net/auth/hello_records.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { LinkSecret } from "../../../net/auth/link_secret.ts";
import type { HeldTicket, TicketBox } from "../../../net/auth/ticket.ts";
import { must } from "../../conformance/transport_check.ts";
import { countingRandom, ManualTimers } from "../../support/net/manual_timers.ts";
import { testSigner, testVerify } from "../../support/net/test_keys.ts";
import { testTickets } from "../../support/net/test_tickets.ts";

const timers = new ManualTimers();
const random = countingRandom(5);
const terms = {
  session: "5e".repeat(32),
  resumed: false,
  received: 0,
  timeMs: 0,
  limits: { frameBytes: 1, headerBytes: 1 },
};

interface HubSide {
  readonly signer: Signer;
  readonly tickets: TicketBox;
  readonly run: string;
}

function hubSide({ seed = 200, run = "test", keySeed = 1 } = {}): HubSide {
  const signer = testSigner(seed);
  return { signer, run, tickets: testTickets({ hub: signer.address, run, timers, random, keySeed }) };
}

const hub = hubSide();
const challengeOf = ({ run, signer }: HubSide): Challenge => createChallenge(run, signer.address, random);

interface Caller {
  readonly seed?: number;
  readonly role?: Role;
  readonly ticket?: HeldTicket | null;
}

function greet(challenge: Challenge, { seed = 1, role = "miner", ticket = null }: Caller = {}): Greeting {
  const identity = { signer: testSigner(seed), role, run: null, hub: null };
  return must(answerChallenge(challenge, { identity, resume: null, ticket, random, nowMs: timers.nowMs() }));
}

function judge(hello: unknown, challenge: Challenge, { tickets }: HubSide = hub): HelloVerdict {
  return checkHello(hello, { challenge, verify: testVerify, admit: () => null, tickets, random });
}

function provenOf(verdict: HelloVerdict): ProvenHello {
  assert(verdict.type === "proven", JSON.stringify(verdict));
  return verdict.proven;
}

const answerTo = (proven: ProvenHello, by: HubSide = hub): Accept => createAccept(proven, { terms, ...by });

/** What a signed hello leaves the node with. */
function signedTicket(caller: Caller = {}, by: HubSide = hub): HeldTicket {
  const challenge = challengeOf(by);
  const greeting = greet(challenge, caller);
  const accept = answerTo(provenOf(judge(greeting.hello, challenge, by)), by);
  return must(checkAccept(accept, { greeting, verify: testVerify })).ticket;
}

const ticketProof = ({ proof }: Hello) => {
  assert(proof.type === "ticket");
  return proof;
};

Deno.test("Hello: a signed one gives a ticket, and with it both prove themselves without a signature", () => {
  const ticket = signedTicket();
  for (let again = 0; again < 3; again++) {
    const challenge = challengeOf(hub);
    const greeting = greet(challenge, { ticket });
    const none = () => false;
    const verdict = checkHello(greeting.hello, {
      challenge,
      verify: none,
      admit: () => null,
      tickets: hub.tickets,
      random,
    });
    const accept = answerTo(provenOf(verdict));
    assertEquals([greeting.hello.proof.type, accept.proof.type], ["ticket", "ticket"]);
    assertEquals(must(checkAccept(accept, { greeting, verify: none })).ticket, ticket);
  }
});

Deno.test("Hello: what an eavesdropper sees does not contain the secret, and the ticket alone proves nothing", () => {
  const challenge = challengeOf(hub);
  const greeting = greet(challenge);
  const accept = answerTo(provenOf(judge(greeting.hello, challenge)));
  const { ticket } = must(checkAccept(accept, { greeting, verify: testVerify }));
  const seen = JSON.stringify([challenge, greeting.hello, accept]);
  assert(!seen.includes(ticket.secret.bytes().toHex()));
  const stolen = { ...ticket, secret: new LinkSecret(new Uint8Array(32)) };
  const next = challengeOf(hub);
  assertEquals(judge(greet(next, { ticket: stolen }).hello, next).type, "unproven");
});

Deno.test("Hello: a ticket of another node, role, run, orchestrator or key sends the node to sign", () => {
  const ticket = signedTicket();
  const next = challengeOf(hub);
  assertEquals(judge(greet(next, { seed: 2, ticket }).hello, next).type, "unproven", "node");
  assertEquals(judge(greet(next, { role: "validator", ticket }).hello, next).type, "unproven", "role");
  const otherKey = hubSide({ keySeed: 2 });
  assertEquals(judge(greet(next, { ticket }).hello, next, otherKey).type, "unproven", "key");
  const otherRun = hubSide({ run: "other" });
  const forged = { ...ticket, run: "other" };
  const theirs = challengeOf(otherRun);
  assertEquals(judge(greet(theirs, { ticket: forged }).hello, theirs, otherRun).type, "unproven", "run");
});

Deno.test("Hello: a node shows its ticket only to the orchestrator and run that gave it", () => {
  const ticket = signedTicket();
  assertEquals(greet(challengeOf(hubSide({ seed: 201 })), { ticket }).hello.proof.type, "signature");
  assertEquals(greet(challengeOf(hubSide({ run: "other" })), { ticket }).hello.proof.type, "signature");
});

Deno.test("Hello: an expired ticket sends the node to sign", () => {
  const ticket = signedTicket();
  timers.advance(defaultNetLimits.ticketMs + 1);
  const next = challengeOf(hub);
  assertEquals(judge(greet(next, { ticket }).hello, next).type, "unproven");
});

Deno.test("Hello: any changed field, flipped bit or cut of a hello by ticket is unproven or refused", () => {
  const ticket = signedTicket();
  const next = challengeOf(hub);
  const { hello } = greet(next, { ticket });
  const proof = ticketProof(hello);
  const flip = (hex: string, at: number) => hex.slice(0, at) + (hex[at] === "0" ? "1" : "0") + hex.slice(at + 1);
  for (let at = 0; at < proof.mac.length; at++) {
    assertEquals(judge({ ...hello, proof: { ...proof, mac: flip(proof.mac, at) } }, next).type, "unproven");
  }
  for (let at = 0; at < proof.ticket.length; at++) {
    assertEquals(judge({ ...hello, proof: { ...proof, ticket: flip(proof.ticket, at) } }, next).type, "unproven");
  }
  assertEquals(judge({ ...hello, proof: { ...proof, ticket: proof.ticket.slice(2) } }, next).type, "unproven");
  assertEquals(judge({ ...hello, proof: { ...proof, mac: proof.mac.slice(2) } }, next).type, "refused");
  assertEquals(judge({ ...hello, proof: { type: "ticket", ticket: proof.ticket } }, next).type, "refused");
  assertEquals(judge({ ...hello, nonce: "00".repeat(32) }, next).type, "unproven");
  assertEquals(judge({ ...hello, resume: { session: "00".repeat(32), received: 0 } }, next).type, "unproven");
  assertEquals(judge({ ...hello, node: testSigner(3).address }, next).type, "unproven");
  assertEquals(judge({ ...hello, role: "validator" }, next).type, "unproven");
});

Deno.test("Hello: a recorded one by ticket answers no other challenge", () => {
  const ticket = signedTicket();
  const { hello } = greet(challengeOf(hub), { ticket });
  const next = challengeOf(hub);
  const verdict = judge(hello, next);
  assert(verdict.type === "refused");
  assertStringIncludes(verdict.fault.detail, "answers another connection's challenge");
  assertEquals(judge({ ...hello, hubNonce: next.nonce }, next).type, "unproven");
});

Deno.test("Hello: another protocol version is refused before a ticket is checked", () => {
  const next = challengeOf(hub);
  const { hello } = greet(next, { ticket: signedTicket() });
  const verdict = judge({ ...hello, protocol: hello.protocol - 1 }, next);
  assert(verdict.type === "refused");
  assertEquals(verdict.fault.code, "versionMismatch");
});

Deno.test("Hello: a ticket does not admit", () => {
  const next = challengeOf(hub);
  const { hello } = greet(next, { ticket: signedTicket() });
  const asked: NodeId[] = [];
  const admit = ({ node }: { node: NodeId }) => {
    asked.push(node);
    return { code: "notAdmitted", detail: "gone" } as const;
  };
  const verdict = checkHello(hello, { challenge: next, verify: testVerify, admit, tickets: hub.tickets, random });
  assertEquals(verdict, { type: "refused", fault: { code: "notAdmitted", detail: "gone" } });
  assertEquals(asked, [hello.node]);
});

Deno.test("Hello: an orchestrator that cannot open the ticket cannot answer it, nor with an old or reflected answer", () => {
  const ticket = signedTicket();
  const [first, second] = [challengeOf(hub), challengeOf(hub)];
  const [recorded, greeting] = [greet(first, { ticket }), greet(second, { ticket })];
  const accept = answerTo(provenOf(judge(recorded.hello, first)));
  const refuse = (header: unknown) => {
    const answer = checkAccept(header, { greeting, verify: testVerify });
    assert(!answer.ok);
    assertEquals(answer.fault.code, "staleResult", "not final: the signed hello decides");
  };
  refuse(accept);
  refuse({ ...accept, proof: { type: "ticket", mac: ticketProof(greeting.hello).mac } });
  const signed = greet(second);
  refuse(answerTo(provenOf(judge(signed.hello, second)))); // signed by the orchestrator, for another hello
  const impostor = { hello: greeting.hello, secret: new LinkSecret(new Uint8Array(32)), share: null };
  refuse(answerTo(impostor));
});

Deno.test("Hello: terms that were changed on the way are refused, by ticket and signed", () => {
  for (const ticket of [null, signedTicket()]) {
    const next = challengeOf(hub);
    const greeting = greet(next, { ticket });
    const accept = answerTo(provenOf(judge(greeting.hello, next)));
    assert(checkAccept(accept, { greeting, verify: testVerify }).ok);
    for (const change of [{ received: 1 }, { session: "00".repeat(32) }, { resumed: true }]) {
      assert(!checkAccept({ ...accept, ...change }, { greeting, verify: testVerify }).ok);
    }
  }
});

Deno.test("Hello: changing a public key or the ticket on the way breaks a signature", () => {
  const next = challengeOf(hub);
  const [greeting, other] = [greet(next), greet(next)];
  const { hello } = greeting;
  assert(hello.proof.type === "signature" && other.hello.proof.type === "signature");
  const swapped = judge({ ...hello, proof: { ...hello.proof, share: other.hello.proof.share } }, next);
  assert(swapped.type === "refused");
  assertStringIncludes(swapped.fault.detail, "signature is not by");
  const accept = answerTo(provenOf(judge(hello, next)));
  const { proof } = accept;
  assert(proof.type === "signature");
  for (const change of [{ share: other.hello.proof.share }, { ticket: "00".repeat(69) }]) {
    const answer = checkAccept({ ...accept, proof: { ...proof, ...change } }, { greeting, verify: testVerify });
    assert(!answer.ok);
    assertEquals(answer.fault.code, "unauthenticated");
  }
});

Deno.test("Hello: a signed public key of low order is refused", () => {
  const next = challengeOf(hub);
  const signer = testSigner(1);
  const { hello } = greet(next);
  const share = "00".repeat(32);
  const text = ["iota hello", "node to hub", hello.protocol, hello.run, hello.role, hello.node, hello.hub];
  const values = [...text, hello.hubNonce, hello.nonce, hello.timeMs, hello.process, "new", "signature", share];
  const signature = signer.sign(new TextEncoder().encode(JSON.stringify(values))).toHex();
  const verdict = judge({ ...hello, proof: { type: "signature", share, signature } }, next);
  assert(verdict.type === "refused");
  assertStringIncludes(verdict.fault.detail, "low order");
});

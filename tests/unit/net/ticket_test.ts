/** Tickets and the secret behind them: what opens, what does not, what shows. */

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { hotkeyOfCanonicalSecretKey, hotkeyOfMiniSecret } from "../../../chain/wallet/hotkey.ts";
import { nodeId } from "../../../core/ids.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { KeyShare, LinkSecret } from "../../../net/auth/link_secret.ts";
import { countingRandom, ManualTimers } from "../../support/net/manual_timers.ts";
import { testTickets, type TestTicketsOptions } from "../../support/net/test_tickets.ts";

const hub = nodeId("5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty");
const node = nodeId("5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY");
const role = "validator";
const message = new TextEncoder().encode("a message");

function openWorld() {
  const timers = new ManualTimers();
  const box = (options: Partial<TestTicketsOptions> = {}) => testTickets({ hub, timers, ...options });
  const secret = new LinkSecret(countingRandom(7).bytes(32));
  return { timers, box, secret, ticket: box().seal({ node, role, secret }) };
}

Deno.test("Ticket: it opens for its node, with role and secret, also in the orchestrator's next life", () => {
  const { box, secret, ticket } = openWorld();
  const content = box({ random: countingRandom(99) }).open({ node, ticket });
  assertEquals(content?.role, role);
  assert(content?.secret.proves({ message, proof: secret.proofOf(message) }));
});

Deno.test("Ticket: it does not open for another node, run, orchestrator or key", () => {
  const { box, ticket } = openWorld();
  assertEquals(box().open({ node: hub, ticket }), null);
  assertEquals(box({ run: "other" }).open({ node, ticket }), null);
  assertEquals(box({ hub: node }).open({ node, ticket }), null);
  assertEquals(box({ keySeed: 2 }).open({ node, ticket }), null);
});

Deno.test("Ticket: any flipped bit, missing or added byte closes it", () => {
  const { box, ticket } = openWorld();
  const bytes = Uint8Array.fromHex(ticket);
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const flipped = bytes.slice();
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    assertEquals(box().open({ node, ticket: flipped.toHex() }), null, `bit ${bit}`);
  }
  for (let length = 0; length < bytes.length; length++) {
    assertEquals(box().open({ node, ticket: bytes.subarray(0, length).toHex() }), null, `${length} bytes`);
  }
  assertEquals(box().open({ node, ticket: `${ticket}00` }), null);
});

Deno.test("Ticket: it opens for ticketMs and not before it was made, whatever the orchestrator's clock does", () => {
  const { box, timers, ticket } = openWorld();
  timers.advance(defaultNetLimits.ticketMs);
  assertNotEquals(box().open({ node, ticket }), null);
  const fresh = openWorld();
  timers.advance(1);
  assertEquals(box().open({ node, ticket }), null);
  const late = box().seal({ node, role, secret: fresh.secret });
  assertEquals(fresh.box().open({ node, ticket: late }), null, "the clock was set back");
});

Deno.test("Ticket: two of one secret have nothing in common, and neither shows the secret", () => {
  const { box, ticket, secret } = openWorld();
  const other = box({ random: countingRandom(3) }).seal({ node, role, secret });
  assertNotEquals(ticket.slice(24, 48), other.slice(24, 48));
  assert(!ticket.includes(secret.bytes().toHex()));
  const shown = Deno.inspect(secret) + JSON.stringify({ secret });
  assert(!shown.includes(secret.bytes().toHex()) && !shown.includes(String(secret.bytes()[0])), shown);
});

Deno.test("Link secret: both sides of an exchange agree, over one transcript only", () => {
  const [a, b] = [new KeyShare(countingRandom(1)), new KeyShare(countingRandom(2))];
  const other = new TextEncoder().encode("another");
  const ofA = a.agree({ publicKey: b.publicKey, transcript: message });
  const ofB = b.agree({ publicKey: a.publicKey, transcript: message });
  assertEquals(ofA?.bytes(), ofB?.bytes());
  assertNotEquals(ofA?.bytes(), b.agree({ publicKey: a.publicKey, transcript: other })?.bytes());
});

Deno.test("Link secret: keys that give everybody the same secret are refused", () => {
  const share = new KeyShare(countingRandom(1));
  const one = new Uint8Array(32).fill(1, 0, 1);
  for (const publicKey of [new Uint8Array(32), one]) {
    assertEquals(share.agree({ publicKey, transcript: message }), null);
  }
});

Deno.test("Link secret: a proof of another message, by another secret or of another length is none", () => {
  const { secret } = openWorld();
  const proof = secret.proofOf(message);
  assert(secret.proves({ message, proof }));
  assert(!secret.proves({ message: proof, proof }));
  assert(!secret.proves({ message, proof: proof.subarray(1) }));
  assert(!new LinkSecret(countingRandom(8).bytes(32)).proves({ message, proof }));
});

Deno.test("Hotkey: a derived key is the same in both forms of the secret, and another for each purpose and hotkey", () => {
  const pair = hotkeyOfMiniSecret(new Uint8Array(32).fill(1));
  const again = hotkeyOfCanonicalSecretKey(pair.canonicalSecretKey())!;
  assertEquals(again.deriveKey("a"), pair.deriveKey("a"));
  assertNotEquals(pair.deriveKey("b"), pair.deriveKey("a"));
  assertNotEquals(hotkeyOfMiniSecret(new Uint8Array(32).fill(2)).deriveKey("a"), pair.deriveKey("a"));
});

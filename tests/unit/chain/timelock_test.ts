/** Timelock encryption against the official library's own ciphertexts, a genuine drand pulse, and a beacon of our own. */

import { assert, assertEquals } from "@std/assert";
import { ScaleReader } from "../../../chain/scale.ts";
import { type Beacon, quicknet, roundAt, timeOfRoundMs } from "../../../chain/timelock/beacon.ts";
import { isPulse, makePulse, ownBeacon } from "../../../chain/timelock/pulse.ts";
import { decryptTimelocked, encryptTimelocked, timelockRandomBytes } from "../../../chain/timelock/timelock.ts";
import { decodeWeightsPayload, encodeWeightsPayload } from "../../../chain/timelock/weights_payload.ts";
import vectors from "../../vectors/chain/timelock.json" with { type: "json" };
import own from "../../vectors/chain/timelock_own.json" with { type: "json" };

const bytesOf = (hex: string) => Uint8Array.fromHex(hex);
const pulse1000 = bytesOf(vectors.pulse);
const random = Uint8Array.from({ length: timelockRandomBytes }, (_, i) => i);

/** The portable form of the official library: SCALE{encrypted, round}. */
function openEnvelope(envelope: Uint8Array): { ciphertext: Uint8Array; round: bigint | null } {
  const reader = new ScaleReader(envelope);
  return { ciphertext: reader.vector() ?? new Uint8Array(), round: reader.u64() };
}

Deno.test("Timelock: quicknet's pulse of round 1000 is genuine, and nothing else is", () => {
  assert(isPulse(quicknet, { round: 1000n, signature: pulse1000 }));
  assert(!isPulse(quicknet, { round: 1001n, signature: pulse1000 }));
  assert(!isPulse(quicknet, { round: 1000n, signature: pulse1000.with(20, pulse1000[20]! ^ 1) }));
  assert(!isPulse(quicknet, { round: 1000n, signature: new Uint8Array(48) }));
  assert(!isPulse(quicknet, { round: 1000n, signature: pulse1000.subarray(1) }));
});

Deno.test("Timelock: opens what the official library sealed", () => {
  for (const { plaintext, envelope } of vectors.sealed) {
    const { ciphertext, round } = openEnvelope(bytesOf(envelope));
    assertEquals(round, 1000n);
    assertEquals(decryptTimelocked({ ciphertext, signature: pulse1000 }), { ok: true, value: bytesOf(plaintext) });
  }
});

Deno.test("Timelock: the SDK's own weights commit opens and decodes", () => {
  const { commit, hotkey, uids, values, versionKey } = vectors.commit;
  const opened = decryptTimelocked({ ciphertext: bytesOf(commit), signature: pulse1000 });
  assert(opened.ok);
  const payload = { hotkey: bytesOf(hotkey), uids, values, versionKey: BigInt(versionKey) };
  assertEquals(decodeWeightsPayload(opened.value), { ok: true, value: payload });
  assertEquals(encodeWeightsPayload(payload), opened.value);
});

Deno.test("Timelock: seals the bytes that the official library has opened", () => {
  const plaintext = bytesOf(own.plaintext);
  const ciphertext = encryptTimelocked({ plaintext, round: 1000n, beacon: quicknet, random });
  assertEquals(ciphertext.toHex(), own.ciphertext);
  assertEquals(decryptTimelocked({ ciphertext, signature: pulse1000 }), { ok: true, value: plaintext });
});

Deno.test("Timelock: a beacon of our own opens its rounds and no others", () => {
  const { beacon, secretKey } = ownBeacon({ seed: random.subarray(0, 48), genesisMs: 0, periodMs: 3_000 });
  const plaintext = new TextEncoder().encode("weights");
  const ciphertext = encryptTimelocked({ plaintext, round: 42n, beacon, random });
  const signature = makePulse({ secretKey, round: 42n });
  assert(isPulse(beacon, { round: 42n, signature }));
  assertEquals(decryptTimelocked({ ciphertext, signature }), { ok: true, value: plaintext });
  const early = decryptTimelocked({ ciphertext, signature: makePulse({ secretKey, round: 41n }) });
  assertEquals(early.ok ? null : early.fault.code, "unauthenticated");
});

Deno.test("Timelock: every damaged ciphertext is refused, none throws", () => {
  const whole = bytesOf(own.ciphertext);
  for (let length = 0; length < whole.length; length += 7) {
    assert(!decryptTimelocked({ ciphertext: whole.subarray(0, length), signature: pulse1000 }).ok);
  }
  for (const at of [0, 1, 50, 95, 96, 104, 120, 140, 160, 185, 200, whole.length - 1]) {
    assert(!decryptTimelocked({ ciphertext: whole.with(at, whole[at]! ^ 1), signature: pulse1000 }).ok, `byte ${at}`);
  }
  assert(!decryptTimelocked({ ciphertext: whole, signature: new Uint8Array(48) }).ok);
});

Deno.test("Weights payload: both forms round trip; anything else is a fault", () => {
  const row = { uids: [0, 3, 65_535], values: [1, 2, 65_535], versionKey: 2n ** 64n - 1n };
  for (const hotkey of [null, Uint8Array.from({ length: 32 }, (_, i) => 255 - i)]) {
    const payload = { hotkey, ...row };
    const bytes = encodeWeightsPayload(payload);
    assertEquals(decodeWeightsPayload(bytes), { ok: true, value: payload });
    for (const wrong of [bytes.subarray(1), bytes.subarray(0, -1), Uint8Array.of(...bytes, 0)]) {
      assert(!decodeWeightsPayload(wrong).ok);
    }
  }
  const many = { hotkey: null, uids: Array.from({ length: 4_096 }, (_, i) => i), values: Array(4_096).fill(9) };
  assertEquals(decodeWeightsPayload(encodeWeightsPayload({ ...many, versionKey: 0n })).ok, true);
});

Deno.test("Beacon: a round is published at its time, and named only after", () => {
  const beacon: Beacon = { ...quicknet, genesisMs: 1_000, periodMs: 3_000 };
  assertEquals(timeOfRoundMs(beacon, 1n), 1_000);
  assertEquals(timeOfRoundMs(beacon, 5n), 13_000);
  assertEquals(roundAt(beacon, 1_000), 1n);
  assertEquals(roundAt(beacon, 15_999), 4n); // the SDK counts whole periods, drand has just published round 5
  assertEquals(roundAt(beacon, 16_000), 5n);
});

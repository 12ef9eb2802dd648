/** Edge cases of salted and timelocked commits: what replaces what, late reveals, and lost permits. */

import { assertEquals } from "@std/assert";
import type { LocalLedger } from "../../../../chain/local/local_ledger.ts";
import { encryptTimelocked, timelockRandomBytes } from "../../../../chain/timelock/timelock.ts";
import { encodeWeightsPayload } from "../../../../chain/timelock/weights_payload.ts";
import { netuid, tokens } from "../../../conformance/chain_world.ts";
import {
  blocks,
  commit,
  epoch,
  minerUid,
  populated,
  reveal,
  send,
  submit,
  unstake,
  voter,
  voterUid,
} from "../../../support/chain/small_subnet.ts";

const hidden = { isCommitReveal: true, weightsRateLimitBlocks: 0 };
const { publicKey } = voter;
const rowOf = (ledger: LocalLedger) => ledger.storage("SubtensorModule.Weights", [netuid, voterUid]);
const saltedLeft = (ledger: LocalLedger) =>
  (ledger.storage("SubtensorModule.WeightCommits", [netuid, publicKey]) as unknown[] | undefined)?.length ?? 0;

/** The voter's payload, sealed to a round that is out when the next epoch opens it. */
function seal(ledger: LocalLedger, plaintext: Uint8Array): void {
  const { beacon } = ledger.beacon;
  const round = ledger.beacon.lastRound(ledger.head().timestampMs) + 1n;
  const random = new Uint8Array(timelockRandomBytes).fill(5);
  const sealed = encryptTimelocked({ plaintext, round, beacon, random });
  const call = { type: "commitTimelockedWeights", netuid, mechanism: 0, commit: sealed } as const;
  assertEquals(send(ledger, { ...call, revealRound: round, commitRevealVersion: 4 }, publicKey), null);
}

const payload = (change: object = {}) =>
  encodeWeightsPayload({ hotkey: publicKey, uids: [minerUid], values: [65_535], versionKey: 0n, ...change });

/** Why the commits that an epoch opened were lost. */
function dropped(ledger: LocalLedger): string[] {
  const reasons: string[] = [];
  for (let block = 1; block <= ledger.head().number; block++) {
    for (const event of ledger.eventsOf(block)) if (event.type === "weightsDropped") reasons.push(event.why);
  }
  return reasons;
}

Deno.test("Salted commits: revealing one gives up those before it and keeps those after it", () => {
  const ledger = populated({ hyperparameters: hidden });
  for (const salt of [1, 2, 3]) assertEquals(send(ledger, commit(salt), publicKey), null);
  epoch(ledger);
  assertEquals(send(ledger, reveal(2), publicKey), null);
  assertEquals(saltedLeft(ledger), 1);
  assertEquals(send(ledger, reveal(1), publicKey), "NoWeightsCommitFound");
  assertEquals(send(ledger, reveal(3), publicKey), null);
  assertEquals(saltedLeft(ledger), 0);
  ledger.close();
});

Deno.test("Salted commits: ten may wait, and those that expired make room", () => {
  const ledger = populated({ hyperparameters: hidden });
  for (let salt = 0; salt < 10; salt++) assertEquals(send(ledger, commit(salt), publicKey), null);
  assertEquals(send(ledger, commit(10), publicKey), "TooManyUnrevealedCommits");
  epoch(ledger);
  assertEquals(send(ledger, commit(10), publicKey), "TooManyUnrevealedCommits");
  epoch(ledger);
  assertEquals(send(ledger, commit(10), publicKey), null);
  assertEquals(saltedLeft(ledger), 1);
  ledger.close();
});

Deno.test("Salted commits: a reveal belongs to one epoch, also with a longer period", () => {
  const ledger = populated({ hyperparameters: { ...hidden, revealPeriodEpochs: 2 } });
  assertEquals(send(ledger, commit(1), publicKey), null);
  epoch(ledger);
  assertEquals(send(ledger, reveal(1), publicKey), "RevealTooEarly");
  epoch(ledger);
  assertEquals(send(ledger, reveal(1), publicKey), null);
  assertEquals(rowOf(ledger), [[minerUid, 65_535]]);
  ledger.close();
});

/**
 * A pool that checked a call does not check it again, so what changed since is found in the block, in the call's own words.
 */
function revealsOfOneBlock(salts: readonly number[], before: (ledger: LocalLedger) => void = () => {}) {
  const ledger = populated({ epochs: "legacy", hyperparameters: hidden });
  epoch(ledger);
  for (const salt of [1, 2, 3]) assertEquals(send(ledger, commit(salt), publicKey), null);
  epoch(ledger);
  for (const salt of salts) assertEquals(submit(ledger, reveal(salt), publicKey).status, "accepted");
  before(ledger);
  const errors = blocks(ledger, 1).outcomes.map(({ error }) => error?.name ?? null);
  ledger.close();
  return errors;
}

Deno.test("Reveals in one block: one that was given up matches nothing, one too many finds nothing", () => {
  assertEquals(revealsOfOneBlock([2, 1]), [null, "InvalidRevealCommitHashNotMatch"]);
  assertEquals(revealsOfOneBlock([3, 2]), [null, "NoWeightsCommitFound"]);
});

Deno.test("Reveals that the rules overtook: expired, too early, or not asked for any more", () => {
  const change = (rules: Parameters<LocalLedger["setHyperparameters"]>[1]) => (ledger: LocalLedger) =>
    ledger.setHyperparameters(netuid, rules);
  assertEquals(revealsOfOneBlock([1], change({ revealPeriodEpochs: 0 })), ["ExpiredWeightCommit"]);
  assertEquals(revealsOfOneBlock([1], change({ revealPeriodEpochs: 2 })), ["RevealTooEarly"]);
  assertEquals(revealsOfOneBlock([1], change({ isCommitReveal: false })), ["CommitRevealDisabled"]);
});

Deno.test("Reveals of another subnet or mechanism find nothing", () => {
  const ledger = populated({ hyperparameters: hidden });
  assertEquals(send(ledger, commit(1), publicKey), null);
  epoch(ledger);
  for (const place of [{ netuid: 77 }, { mechanism: 1 }]) {
    assertEquals(
      send(ledger, { ...reveal(1), ...place } as typeof place & ReturnType<typeof reveal>, publicKey),
      "NoWeightsCommitFound",
    );
  }
  ledger.close();
});

Deno.test("Timelocked commits: several open in order, so the last one remains", () => {
  const ledger = populated({ hyperparameters: hidden });
  seal(ledger, payload({ uids: [0], values: [1] }));
  seal(ledger, payload());
  epoch(ledger);
  blocks(ledger, 3);
  assertEquals([rowOf(ledger), dropped(ledger)], [[[minerUid, 65_535]], []]);
  ledger.close();
});

Deno.test("Timelocked commits: what opens to no payload, or to a row that is refused, is lost and says why", () => {
  const ledger = populated({ stakeThresholdRao: tokens(1), hyperparameters: hidden });
  seal(ledger, new Uint8Array([1, 2, 3]));
  seal(ledger, payload({ uids: [minerUid, minerUid], values: [1, 1] }));
  epoch(ledger);
  blocks(ledger, 3);
  const [unreadable, ...others] = dropped(ledger);
  assertEquals([typeof unreadable, others], ["string", ["DuplicateUids"]]);
  assertEquals(rowOf(ledger), []);
  ledger.close();
});

Deno.test("Timelocked commits: a validator that lost its stake meanwhile has no influence when they open", () => {
  const ledger = populated({ stakeThresholdRao: tokens(500), hyperparameters: { ...hidden, emissionPerBlockRao: 0n } });
  seal(ledger, payload());
  assertEquals(send(ledger, unstake(voter, tokens(900))), null);
  epoch(ledger);
  blocks(ledger, 3);
  assertEquals([rowOf(ledger), dropped(ledger)], [[], ["NotEnoughStakeToSetWeights"]]);
  ledger.close();
});

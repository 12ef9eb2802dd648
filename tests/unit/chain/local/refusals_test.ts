/** What the embedded chain refuses and in which order: a call with several faults is refused for the runtime's first one. */

import { assertEquals } from "@std/assert";
import type { ChainCall } from "../../../../chain/call.ts";
import { netuid, stranger, tokens } from "../../../conformance/chain_world.ts";
import {
  alice,
  blocks,
  commit,
  epoch,
  miner,
  minerUid,
  owner,
  populated,
  register,
  send,
  stake,
  submit,
  unstake,
  vote,
  voter,
  voterUid,
} from "../../../support/chain/small_subnet.ts";

const weights = (change: Partial<Extract<ChainCall, { type: "setWeights" }>>): ChainCall => ({
  ...{ type: "setWeights", netuid, mechanism: 0, uids: [1, 2], values: [3, 1], versionKey: 7n },
  ...change,
});

/** Rules that a row can break in every way at once. */
const strict = {
  stakeThresholdRao: tokens(1),
  hyperparameters: {
    ...{ minAllowedWeights: 3, maxWeightsLimit: 40_000, weightsVersionKey: 7n },
    ...{ weightsRateLimitBlocks: 1_000, immunityPeriodBlocks: 1 },
  },
};

Deno.test("set_weights: each fault hides all that the runtime checks later", () => {
  const ledger = populated(strict);
  const worst = { netuid: 0, mechanism: 9, uids: [2, 2, 7, 8], values: [1], versionKey: 1n };
  const said = (change: typeof worst, from: Uint8Array) => send(ledger, weights(change), from);
  const mended = { ...worst };
  const { publicKey: nobody } = stranger, { publicKey: poor } = miner, { publicKey: rich } = voter;
  // stake and rate are checked before the call runs, so lacking one hides all other errors
  assertEquals(said(mended, nobody), "NotEnoughStakeToSetWeights");
  mended.netuid = netuid;
  assertEquals(said(mended, poor), "NotEnoughStakeToSetWeights");
  ledger.setHyperparameters(netuid, { weightsRateLimitBlocks: 0 });
  assertEquals(said(mended, rich), "WeightVecNotEqualSize");
  mended.values = [1, 1, 1, 1];
  assertEquals(said(mended, rich), "MechanismDoesNotExist");
  mended.mechanism = 0;
  assertEquals(said(mended, rich), "UidsLengthExceedUidsInSubNet");
  mended.uids = [2, 2, 7], mended.values = [1, 1, 1];
  assertEquals(send(ledger, stake(miner, tokens(5))), null);
  assertEquals(said(mended, poor), "IncorrectWeightVersionKey");
  mended.versionKey = 7n;
  assertEquals(said(mended, poor), "NeuronNoValidatorPermit"); // the stake came after the epoch
  assertEquals(said(mended, rich), "DuplicateUids");
  mended.uids = [0, 2, 7];
  assertEquals(said(mended, rich), "UidVecContainInvalidOne");
  mended.uids = [0, 2], mended.values = [9, 1];
  assertEquals(said(mended, rich), "WeightVecLengthIsLow");
  mended.uids = [0, 1, 2], mended.values = [9, 1, 1];
  assertEquals(said(mended, rich), "MaxWeightExceeded");
  mended.values = [1, 1, 1];
  assertEquals(said(mended, rich), null);
  assertEquals(ledger.storage("SubtensorModule.Weights", [netuid, voterUid]), [[0, 65_535], [1, 65_535], [2, 65_535]]);
  ledger.close();
});

Deno.test("set_weights: an unregistered hotkey, root, and commit-reveal", () => {
  const ledger = populated();
  assertEquals(send(ledger, weights({ netuid: 0 }), voter.publicKey), "CanNotSetRootNetworkWeights");
  assertEquals(send(ledger, weights({}), stranger.publicKey), "HotKeyNotRegisteredInSubNet");
  assertEquals(send(ledger, weights({ netuid: 77 }), voter.publicKey), "MechanismDoesNotExist");
  ledger.setHyperparameters(netuid, { isCommitReveal: true });
  assertEquals(send(ledger, weights({ values: [1] }), voter.publicKey), "CommitRevealEnabled");
  ledger.close();
});

Deno.test("set_weights: the pace counts from a mechanism's own last update, and zero means never", () => {
  const ledger = populated({ hyperparameters: { weightsRateLimitBlocks: 10, mechanisms: 2 } });
  const both = [0, 1].map((mechanism) => weights({ mechanism }));
  assertEquals(both.map((call) => send(ledger, call, voter.publicKey)), [null, null]);
  blocks(ledger, 7); // eight and nine blocks since
  assertEquals(both.map((call) => send(ledger, call, voter.publicKey)), [
    "SettingWeightsTooFast",
    "SettingWeightsTooFast",
  ]);
  assertEquals(both.map((call) => send(ledger, call, voter.publicKey)), [null, null]);
  ledger.setHyperparameters(netuid, { mechanisms: 3 });
  blocks(ledger, 1);
  assertEquals(send(ledger, weights({ mechanism: 2 }), voter.publicKey), null);
  assertEquals(send(ledger, weights({ mechanism: 2 }), voter.publicKey), "SettingWeightsTooFast");
  ledger.close();
});

Deno.test("set_weights: all zeros are a row of zeros, and the owner needs no permit", () => {
  const ledger = populated();
  assertEquals(send(ledger, vote([minerUid], [0]), voter.publicKey), null);
  assertEquals(ledger.storage("SubtensorModule.Weights", [netuid, voterUid]), [[minerUid, 0]]);
  assertEquals(send(ledger, vote([minerUid], [5]), owner.publicKey), null);
  assertEquals(send(ledger, vote([minerUid], [5]), miner.publicKey), null); // oneself is always allowed
  assertEquals(send(ledger, vote([voterUid], [5]), miner.publicKey), "SettingWeightsTooFast");
  ledger.close();
});

Deno.test("Commits: turned off, in the wrong place, in the wrong version, too many", () => {
  const ledger = populated();
  assertEquals(send(ledger, commit(1), voter.publicKey), "CommitRevealDisabled");
  ledger.setHyperparameters(netuid, { isCommitReveal: true, weightsRateLimitBlocks: 0, tempoBlocks: 40 });
  blocks(ledger, 1);
  const sealed = (change: object = {}): ChainCall => ({
    ...{ type: "commitTimelockedWeights", netuid, mechanism: 0, commit: new Uint8Array(9), commitRevealVersion: 4 },
    revealRound: 10n ** 9n,
    ...change,
  });
  const from = voter.publicKey;
  assertEquals(send(ledger, sealed({ mechanism: 3, commitRevealVersion: 5 }), from), "MechanismDoesNotExist");
  assertEquals(send(ledger, sealed({ commitRevealVersion: 5 }), stranger.publicKey), "IncorrectCommitRevealVersion");
  assertEquals(send(ledger, sealed({}), stranger.publicKey), "HotKeyNotRegisteredInSubNet");
  assertEquals(send(ledger, sealed({ revealRound: 0n, mechanism: 3 }), from), "InvalidRevealRound");
  assertEquals(submit(ledger, sealed({ commit: new Uint8Array(5_001) }), from), {
    ...{ status: "refused", kind: "custom", custom: 255 },
  });
  for (let i = 0; i < 10; i++) assertEquals(send(ledger, sealed(), from), null);
  assertEquals(send(ledger, sealed(), from), "TooManyUnrevealedCommits");
  assertEquals(send(ledger, sealed(), miner.publicKey), null); // ten are one hotkey's
  epoch(ledger);
  assertEquals(send(ledger, sealed(), from), null); // and one epoch's
  ledger.close();
});

Deno.test("Coldkeys' calls: root, strangers' hotkeys, dust, subnets that are not there", () => {
  const ledger = populated();
  const elsewhere = (call: ChainCall): ChainCall => ({ ...call, netuid: 77 } as ChainCall);
  const axon = { ip: "203.0.113.7", port: 1, protocol: 4, version: 1 };
  const cases: [ChainCall, string | null, Uint8Array?][] = [
    [{ type: "burnedRegister", netuid: 0, hotkey: stranger.address }, "RegistrationNotPermittedOnRootSubnet"],
    [elsewhere(register(stranger)), "SubnetNotExists"],
    [elsewhere(stake(voter, tokens(1))), "SubnetNotExists"],
    [elsewhere(unstake(voter, tokens(1))), "SubnetNotExists"],
    [stake(owner, tokens(1)), "NonAssociatedColdKey"],
    [unstake(owner, tokens(1)), "NotEnoughStakeToWithdraw"],
    [unstake(stranger, tokens(1)), "HotKeyAccountNotExists"],
    [unstake(voter, 1_999_999n), "AmountTooLow"],
    [{ type: "transfer", to: stranger.address, amountRao: 499n }, "BelowMinimum"],
    [{ type: "transfer", to: stranger.address, amountRao: 500n }, null],
    [{ type: "transfer", to: voter.address, amountRao: 1n }, "FundsUnavailable", stranger.publicKey], // it stays alive
    [elsewhere({ type: "serveAxon", netuid, axon }), "SubnetNotExists", voter.publicKey],
  ];
  for (const [call, error, from] of cases) assertEquals(send(ledger, call, from), error, JSON.stringify(call.type));
  ledger.close();
});

Deno.test("Stake: all of it may be withdrawn, however little is left", () => {
  const ledger = populated();
  assertEquals(send(ledger, stake(miner, 3_000_000n)), null);
  assertEquals(send(ledger, unstake(miner, 2_000_000n)), null);
  assertEquals(send(ledger, unstake(miner, 1_000_000n)), null);
  assertEquals(ledger.storage("SubtensorModule.TotalHotkeyAlpha", [miner.publicKey, netuid]), 0n);
  ledger.close();
});

Deno.test("An older runtime's pool refuses by number what would fail in the next block, and takes the rest", () => {
  const ledger = populated({ epochs: "legacy", stakeThresholdRao: tokens(1) });
  const cases: [ChainCall, string | null, Uint8Array?][] = [
    [vote([minerUid], [1]), "custom 1", stranger.publicKey],
    [stake(voter, 1n), "custom 1"],
    [stake(voter, tokens(10 ** 8)), "custom 2"],
    [{ ...stake(voter, tokens(1)), netuid: 77 } as ChainCall, "custom 3"],
    [unstake(voter, tokens(10 ** 6)), "custom 5"],
    [vote([minerUid, minerUid], [1, 1]), "DuplicateUids", voter.publicKey], // only the block finds that
    [stake(owner, tokens(1)), "NonAssociatedColdKey"],
  ];
  for (const [call, error, from = alice] of cases) assertEquals(send(ledger, call, from), error, call.type);
  ledger.close();
});

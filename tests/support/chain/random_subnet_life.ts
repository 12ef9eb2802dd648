/**
 * A random life of a small subnet on an embedded ledger, one block at a time: every kind of call, sensible or not, by accounts
 * that may or may not be able to, and owners who change the rules. The same seed gives the same life, even across restarts of
 * the process.
 */

import type { ChainCall } from "../../../chain/call.ts";
import type { GenesisOptions, Hyperparameters } from "../../../chain/local/block/genesis.ts";
import type { LocalLedger } from "../../../chain/local/local_ledger.ts";
import { encryptTimelocked, timelockRandomBytes } from "../../../chain/timelock/timelock.ts";
import { encodeWeightsPayload } from "../../../chain/timelock/weights_payload.ts";
import { saltedCommitHash } from "../../../chain/weights/salted_commit.ts";
import { keyOf, netuid, tokens } from "../../conformance/chain_world.ts";
import { alice, type Key } from "./small_subnet.ts";
import { prngOf } from "../small_prng.ts";

export const randomLifeGenesis: GenesisOptions = {
  feeRao: 777n,
  networkMinLockRao: tokens(50),
  maxSubnets: 3,
  hyperparameters: {
    ...{ tempoBlocks: 9, maxUids: 5, maxValidators: 3, immunityPeriodBlocks: 8, mechanisms: 2 },
    ...{ weightsRateLimitBlocks: 2, servingRateLimitBlocks: 2, firstBurnRao: tokens(1), activityCutoffBlocks: 40 },
  },
};

const hotkeys: readonly Key[] = Array.from({ length: 7 }, (_, i) => keyOf(80 + i));
const ruleChanges: readonly Partial<Hyperparameters>[] = [
  { isCommitReveal: true },
  { isCommitReveal: false },
  { tempoBlocks: 5 },
  { tempoBlocks: 13 },
  { revealPeriodEpochs: 2 },
  { revealPeriodEpochs: 1 },
  { minAllowedWeights: 2 },
  { minAllowedWeights: 1 },
  { maxWeightsLimit: 50_000 },
  { maxWeightsLimit: 65_535 },
  { mechanisms: 1 },
  { mechanisms: 3 },
  { emissionPerBlockRao: 999_999_937n }, // a prime: every division leaves something over
];

type Below = (below: number) => number;

/** Lives one block of the seed's life: its calls come from the block's number, not from what was drawn before. */
export function liveBlock(ledger: LocalLedger, seed: number): void {
  const number = ledger.head().number + 1;
  const below = prngOf(seed * 100_003 + number);
  for (let calls = below(6); calls > 0; calls--) {
    const hotkey = hotkeys[below(hotkeys.length)]!;
    const { call, from } = randomCall(ledger, below, hotkey);
    ledger.submit({ from, nonce: ledger.nonceOf(from) + (below(30) === 0 ? 1 : 0), call });
  }
  if (below(12) === 0) ledger.setHyperparameters(netuid, ruleChanges[below(ruleChanges.length)]!);
  ledger.produceBlock(ledger.head().timestampMs + 500 + below(1_000));
}

function randomCall(ledger: LocalLedger, below: Below, hotkey: Key): { call: ChainCall; from: Uint8Array } {
  const place = { netuid: below(10) === 0 ? below(12) : netuid };
  const from = below(8) === 0 ? keyOf(70 + below(3)).publicKey : alice;
  const { address, publicKey } = hotkey;
  switch (below(9)) {
    case 0:
      if (below(3) > 0 && ledger.head().number > 20) return { call: stake(below, address), from };
      return { call: { type: "burnedRegister", ...place, hotkey: address }, from };
    case 1:
      return { call: { ...stake(below, address), ...place }, from };
    case 2:
      return { call: { type: "removeStake", ...place, hotkey: address, amountAlpha: amount(below) }, from };
    case 3:
      return below(6) === 0
        ? { call: { type: "registerNetwork", hotkey: address }, from }
        : { call: { type: "transfer", to: keyOf(70 + below(3)).address, amountRao: amount(below) }, from };
    case 4: {
      const axon = { ip: `203.0.113.${below(256)}`, port: below(3), protocol: 4, version: 1 };
      return { call: { type: "serveAxon", ...place, axon }, from: publicKey };
    }
    case 5:
      return { call: { type: "setWeights", ...where(below, place), ...randomRow(below) }, from: publicKey };
    case 6:
      return { call: salted(below, publicKey, where(below, place)), from: publicKey };
    case 7: {
      const fields = Array.from(
        { length: below(5) },
        () => ({ kind: "bigRaw", bytes: new Uint8Array(below(513)) }) as const,
      );
      return { call: { type: "setCommitment", ...place, fields }, from: publicKey };
    }
    default:
      return { call: timelocked(ledger, below, { publicKey, ...where(below, place) }), from: publicKey };
  }
}

const stake = (below: Below, hotkey: string) => ({
  ...{ type: "addStake", netuid, hotkey, amountRao: amount(below) } as const,
});
const amount = (below: Below): bigint => BigInt(below(2 ** 30)) * BigInt(below(3) === 0 ? 3_000 : 20);
const where = (below: Below, place: { readonly netuid: number }) => ({
  ...place,
  mechanism: below(12) === 0 ? 2 : below(2),
});

function randomRow(below: Below) {
  const drawn = Array.from({ length: 1 + below(4) }, () => below(7));
  const uids = below(9) === 0 ? drawn : [...new Set(drawn)];
  return { uids, values: uids.map(() => below(4) * below(20_000)), versionKey: 0n };
}

/** Commits and reveals of four rows, so that a reveal often has its commit. */
function salted(below: Below, publicKey: Uint8Array, place: { netuid: number; mechanism: number }): ChainCall {
  const salt = below(4);
  const row = { uids: [salt, 4], values: [1 + salt, 9] };
  if (below(2) === 0) return { type: "revealWeights", ...place, ...row, salt: [salt], versionKey: 0n };
  return {
    type: "commitWeights",
    ...place,
    hash: saltedCommitHash({ publicKey, ...place, row, salt: [salt], versionKey: 0n }),
  };
}

/** Mostly noise; one in three decrypts to a row. */
function timelocked(
  ledger: LocalLedger,
  below: Below,
  of: { readonly publicKey: Uint8Array; readonly netuid: number; readonly mechanism: number },
): ChainCall {
  const { publicKey: hotkey, ...place } = of;
  const revealRound = ledger.beacon.lastRound(ledger.head().timestampMs) + BigInt(below(5));
  const random = Uint8Array.from({ length: timelockRandomBytes }, () => below(256));
  const commit = below(3) > 0 ? random : encryptTimelocked({
    plaintext: encodeWeightsPayload({ hotkey, ...randomRow(below) }),
    ...{ round: revealRound, beacon: ledger.beacon.beacon, random },
  });
  return { type: "commitTimelockedWeights", ...place, commit, revealRound, commitRevealVersion: 4 };
}

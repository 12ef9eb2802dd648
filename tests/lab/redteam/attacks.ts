/**
 * The catalogue of attackers, by name: who attacks, with what, and in which stage of three. A new one is an entry here.
 *
 * Owns the names that people type. Out of scope: the patches (hostile_*.ts) and what is measured (measure_attack.ts).
 */

import type { AttackName } from "./attack_names.ts";
import { type Hostile, together } from "./hostile_node.ts";
import {
  commitsPayload,
  copiesPayload,
  keepsBack,
  leavesConfirmed,
  reducesFalsely,
  reportsNorm,
  showsFalsely,
} from "./hostile_merges.ts";
import { failsUnshown, forwardsOnly, inLaterSteps, leavesUnshown, showsNothing, skipsLater } from "./hostile_states.ts";
import {
  delays,
  flat,
  flipsLabels,
  keepsOneGradient,
  noise,
  readsOnePage,
  replays,
  skipsLayers,
} from "./hostile_tasks.ts";
import { failsEverybody, passesEverybody } from "./hostile_validators.ts";
import {
  allOf,
  biased,
  oneOf,
  refusesInputs,
  reportsLoss,
  type Spoil,
  spoilsForward,
  spoilsGradients,
  times,
} from "./hostile_wires.ts";

export interface Attack {
  readonly doc: string;
  readonly stage: number; // of the hostile miners: 0 is the head, 2 the tail
  readonly miners: number; // how many replicas of the stage are hostile
  /** Of each hostile miner anew, as it remembers what it has done. */
  readonly miner?: (run: AttackedRun) => Hostile;
  readonly validator?: () => Hostile; // the first of three
  readonly slowness?: number; // of its device: 2 identities that share one take twice as long
}

export interface AttackedRun {
  readonly stepsPerRound: number;
}

const [head, middle, tail] = [0, 1, 2];

/** In everything that it sends to the stages beside it. */
const everywhere = (spoil: Spoil): Hostile => together(spoilsForward(spoil), spoilsGradients(spoil));

const wires = (doc: string, spoil: () => Spoil): Attack => ({
  ...{ doc, stage: middle, miners: 1 },
  miner: () => everywhere(spoil()),
});

const one = (doc: string, stage: number, miner: (run: AttackedRun) => Hostile): Attack => ({
  ...{ doc, stage, miners: 1, miner },
});

export const attacks: Readonly<Record<AttackName, Attack>> = {
  nan: wires("sends one NaN in every wire", () => oneOf(NaN)),
  zero: wires("sends zeros", () => allOf(0)),
  constant: wires("sends one value everywhere, as large as honest ones", () => flat),
  random: wires("sends noise, as large as honest values", () => noise(7)),
  flip: wires("sends everything with the wrong sign", () => times(-1)),
  scaled: wires("sends everything three times as large", () => times(3)),
  biased: wires("adds a tenth of their length to all wires, always in one direction", () => biased(0.1)),
  selective: one(
    "sends the wrong sign, but never in the first step of a round",
    middle,
    ({ stepsPerRound }) => inLaterSteps({ spoil: times(-1), stepsPerRound }, everywhere),
  ),
  hidden: one(
    "as selective, and never opens its parameters",
    middle,
    ({ stepsPerRound }) => together(inLaterSteps({ spoil: times(-1), stepsPerRound }, everywhere), showsNothing),
  ),
  leaver: one(
    "as selective, and when drawn to open its parameters leaves after the merge and joins anew",
    middle,
    ({ stepsPerRound }) => together(inLaterSteps({ spoil: times(-1), stepsPerRound }, everywhere), leavesUnshown()),
  ),
  skipper: one(
    "skips its layers in all steps but a round's first, which saves it nearly all work, and never opens its parameters",
    middle,
    ({ stepsPerRound }) => together(skipsLater({ stepsPerRound, every: 1 }), showsNothing),
  ),
  unmerged: one(
    "as skipper, but when drawn to open its parameters fails in the merge, so that it no longer has them",
    middle,
    ({ stepsPerRound }) => together(skipsLater({ stepsPerRound, every: 1 }), failsUnshown()),
  ),
  sparing: one(
    "skips its layers in every third task of the steps after a round's first, and is honest otherwise",
    middle,
    ({ stepsPerRound }) => skipsLater({ stepsPerRound, every: 3 }),
  ),
  unseen: one(
    "skips its layers forward in all steps but a round's first, and leaves the gradients of these steps to others",
    middle,
    ({ stepsPerRound }) => forwardsOnly(stepsPerRound),
  ),
  absent: one(
    "as unseen, but leaves as soon as it is given a gradient of these steps, and joins anew",
    middle,
    ({ stepsPerRound }) => forwardsOnly(stepsPerRound, { leaves: true }),
  ),
  delayed: one("answers every task with the result of the one before", middle, () => delays(1)),
  replayed: one("computes one task and repeats its result for all others", middle, () => replays(Infinity)),
  lazy: one("skips its layers: passes on what it is given, at once", middle, () => skipsLayers),
  half: one("computes every second task and repeats the last result for the others", middle, () => replays(2)),
  "wrong-page": one("a head that computes with the same tokens for all tasks", head, () => readsOnePage),
  "label-flip": one("a tail that trains on mirrored targets", tail, () => flipsLabels),
  "forged-loss": one("a tail that reports a loss of zero", tail, () => reportsLoss(0)),
  "forged-norm": one("reports a gradient a thousand times as long", middle, () => reportsNorm((sum) => 1e6 * sum)),
  uncomputed: one("keeps the gradient of one task and commits to all of them", middle, () => keepsOneGradient()),
  "flip-payload": one("commits the wrong sign in merges", middle, () => commitsPayload(times(-1))),
  "scaled-payload": one("commits ten times its change in merges", middle, () => commitsPayload(times(10))),
  "zero-payload": one("commits zeros in merges", middle, () => commitsPayload(allOf(0))),
  copied: one("commits in each merge what it committed in the first", middle, () => copiesPayload()),
  withheld: one("commits nothing and reduces nothing", middle, () => keepsBack("payloadCommitted", "sliceReduced")),
  reducers: {
    doc: "two of three reducers agree on a false mean",
    ...{ stage: middle, miners: 2, miner: () => reducesFalsely(times(-3)) },
  },
  "poisoned-join": {
    doc: "two of three replicas open and upload the same false parameters, which newcomers would load",
    ...{ stage: middle, miners: 2, miner: () => showsFalsely("parameters", 0.05) },
  },
  accuser: one("says of every input that it is broken", middle, () => refusesInputs),
  churner: one(
    "commits to a gradient, leaves with it and joins anew, every third step",
    middle,
    () => leavesConfirmed((step) => step % 3 === 1),
  ),
  sybils: {
    doc: "two identities on one device, honest but half as fast each",
    ...{ stage: middle, miners: 2, slowness: 2, miner: () => ({}) },
  },
  "rubber-stamp": {
    doc: "a validator that passes everybody, and a miner that sends the wrong sign",
    ...{ stage: middle, miners: 1, miner: () => everywhere(times(-1)), validator: () => passesEverybody },
  },
  "false-verdicts": {
    doc: "a validator that fails everybody",
    ...{ stage: middle, miners: 0, validator: () => failsEverybody },
  },
};

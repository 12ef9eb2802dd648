/** What arithmetic says of audits: how likely a round meets a cheat, and how far from that a count may be by chance. */

import type { RunConfig } from "../../../../core/config/config.ts";
import { mostStates } from "../../../../core/update/payload/allowance.ts";
import type { Place } from "./watch_audits.ts";

/** Tasks repeated of an audited step, a round's first one or a later one; a miner is taken to do as many. */
const repeatedTasks: Readonly<Record<Place, { readonly first: number; readonly later: number }>> = {
  head: { first: 2, later: 2 },
  body: { first: 2, later: 2 },
  tail: { first: 2, later: 1 },
};

/**
 * That a round meets a miner that cheats in this share of its tasks. The first step is audited for sure; half of
 * `statesPerRound` is the chance of the last one, and half of it that of all between together, up to a number of draws.
 */
export function chanceToMeet({ validate, train }: RunConfig, place: Place, share: number): number {
  const missedOf = (tasks: number) => (1 - share) ** (validate.replaysPerMiner * tasks);
  const missed = missedOf(repeatedTasks[place].later);
  const later = train.stepsPerRound - 1;
  const half = validate.statesPerRound / 2;
  const most = mostStates(validate);
  let unmet = new Array<number>(most + 1).fill(0); // by steps drawn so far
  unmet[0] = missedOf(repeatedTasks[place].first);
  for (let step = 1; step <= later; step++) {
    const wanted = later === 1 ? 2 * half : step === later ? half : half / (later - 1);
    const chance = Math.min(1, wanted);
    unmet = unmet.map((here, drawn) => {
      const stays = drawn === most ? here : here * (1 - chance);
      return stays + (drawn === 0 ? 0 : unmet[drawn - 1]! * chance * missed);
    });
  }
  return 1 - unmet.reduce((sum, each) => sum + each, 0);
}

/** Rounds until a cheat has been met with a probability of one half. */
export const medianRounds = (chance: number): number =>
  chance >= 1 ? 1 : Math.max(1, Math.ceil(Math.log(1 / 2) / Math.log1p(-chance)));

const outside = 0.005; // on either side: a band of 99 %

/** Counts of `trials` draws of this chance that are not rare, ends included. */
export function binomialBand(trials: number, chance: number): readonly [low: number, high: number] {
  const logOfFactorials = [0];
  for (let n = 1; n <= trials; n++) logOfFactorials.push(logOfFactorials[n - 1]! + Math.log(n));
  const logOf = (count: number, of: number) => count === 0 ? 0 : count * Math.log(of);
  const mass = (count: number) =>
    Math.exp(
      logOfFactorials[trials]! - logOfFactorials[count]! - logOfFactorials[trials - count]! +
        logOf(count, chance) + logOf(trials - count, 1 - chance),
    );
  const edge = (from: number, by: number) => {
    let count = from;
    for (let sum = mass(count); sum <= outside && count + by >= 0 && count + by <= trials; sum += mass(count)) {
      count += by;
    }
    return count;
  };
  return [edge(0, 1), edge(trials, -1)];
}

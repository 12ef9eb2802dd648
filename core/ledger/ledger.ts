/**
 * The rules of a run's log: each entry must follow from those before it, and every score is recomputed. The log's
 * writer and everyone who verifies it run this code.
 *
 * A miner's units in a step are those of its tasks and of dropped work. A report credits the sum of its paid units over
 * the round's last steps (all, unless it lost earlier earnings), half if `halved`, times its share from the last
 * leave-one-in evaluation. It may take back unvested credits (core/score/work_score.ts).
 */

import type { NodeId } from "../ids.ts";
import { taskUnits } from "../model/task_flops.ts";
import { chainLength, chainLink } from "../statements/chain.ts";
import { gradientError, gradientTolerance } from "../score/gradient_verdict.ts";
import { noteQualities, payloadQualities, recoverQualities } from "../score/payload_quality.ts";
import { type Ledger, ledgerOf } from "./ledger_state.ts";
import { endsProblem, proofProblem } from "./members_word.ts";
import { takeCommitments, takeDraws, takeKey } from "./pledges.ts";
import { bookVerdict, bookWork, firstNotDue, scoresOf, type WorkBook } from "../score/work_score.ts";
import {
  type LogEntry,
  type RoundEntry,
  type ScoresEntry,
  type StepEntry,
  type TriedEntry,
  type VerdictEntry,
} from "./entry.ts";

/** Null, or a sentence that says why the entry does not follow. */
export function takeEntry(ledger: Ledger, entry: LogEntry): string | null {
  switch (entry.type) {
    case "step":
      return takeStep(ledger, entry);
    case "round":
      return takeRound(ledger, entry);
    case "scores":
      return scoresProblem(ledger, entry);
    case "tried":
      return takeTrial(ledger, entry);
    case "verdict":
      return takeVerdict(ledger, entry);
    case "undone":
      ledger.nextStep = entry.toStep;
      ledger.open = [];
      ledger.isWhole = true;
      return null;
    case "committed":
      return takeCommitments(ledger, entry);
    case "draws":
      return takeDraws(ledger, { ...entry, hasBegun: ledger.open.some((step) => step.round === entry.round) });
    case "merged":
      return takeKey(ledger, entry);
    case "begun":
      takeUp(ledger, entry);
      return null;
    case "left":
      takeLeft(ledger, entry);
      return null;
    case "carried": {
      const { unproven, drawsProven, committedRound } = ledger;
      Object.assign(ledger, ledgerOf(entry.state), { unproven, drawsProven, committedRound });
      if (entry.lost > 0) ledger.isWhole = false;
      return null;
    }
    default:
      return null; // no score depends on these
  }
}

/** After a replayed journal the log continues; after a checkpoint a round begins again. */
function takeUp(ledger: Ledger, { step, round, isJournaled }: Extract<LogEntry, { type: "begun" }>): void {
  const goesOn = isJournaled && step === ledger.nextStep && ledger.open.every((closed) => closed.round === round);
  if (!isJournaled) { // evaluations are unknown, the secret is another, and the checkpoint may be cut into other stages
    ledger.forwardUnits = null;
    ledger.qualities.clear();
    ledger.draws = null;
    ledger.committedRound = null;
  }
  if (!goesOn) {
    ledger.isWhole = !isJournaled;
    ledger.open = [];
  }
  ledger.nextStep = step;
}

function takeStep(ledger: Ledger, entry: StepEntry): string | null {
  if (entry.step !== ledger.nextStep) return `step ${entry.step} comes where step ${ledger.nextStep} should`;
  const problem = forwardUnitsProblem(ledger, entry) ?? stepProblem(entry);
  if (problem !== null) return problem;
  ledger.forwardUnits ??= entry.forwardUnits ?? null;
  if (ledger.forwardUnits === null) ledger.isWhole = false; // earlier versions lack it
  const unpaid = new Set(entry.unpaid);
  const paid = entry.miners.flatMap((miner, place) => unpaid.has(place) ? [] : [[miner, entry.units[place]!] as const]);
  ledger.open.push({ step: entry.step, round: entry.round, units: new Map(paid) });
  ledger.nextStep = entry.step + 1;
  return null;
}

/** Forward units change only with the stages, and their mean over stages is one (model/task_flops.ts). */
function forwardUnitsProblem({ forwardUnits: before }: Ledger, { step, forwardUnits }: StepEntry): string | null {
  if (before !== null) {
    return before.join() === forwardUnits?.join()
      ? null
      : `step ${step} counts forwards of the stages as [${forwardUnits ?? "nothing"}] instead of [${before}]`;
  }
  if (forwardUnits === undefined) return null;
  const mean = forwardUnits.reduce((sum, each) => sum + each, 0) / forwardUnits.length;
  return Math.abs(mean - 1) <= roundingOfUnits
    ? null
    : `a forward of the mean stage is worth ${mean} units in step ${step} instead of one`;
}

const roundingOfUnits = 2 ** -15;
const roundingOfMean = 1e-9; // another order of the sum

function stepProblem(entry: StepEntry): string | null {
  const { step, miners, tasks, units, pathways, loss } = entry;
  const areUnits = units.every((value) => Number.isFinite(value) && value >= 0);
  if (tasks.length !== miners.length || units.length !== miners.length || !areUnits) {
    return `step ${step} lacks tasks or units for some of its ${miners.length} miners`;
  }
  const counted = new Array<number>(miners.length).fill(0);
  for (const { doers } of pathways) for (const place of doers) if (place in counted) counted[place]! += 1;
  const wrong = counted.findIndex((count, place) => count !== tasks[place]);
  if (wrong !== -1) {
    return `step ${step} credits ${miners[wrong]} with ${tasks[wrong]} tasks instead of ${counted[wrong]}`;
  }
  const wrongUnits = stepUnitsProblem(entry);
  if (wrongUnits !== null) return wrongUnits;
  const mean = pathways.reduce((sum, pathway) => sum + pathway.loss, 0) / pathways.length;
  if (Math.abs(mean - loss) <= roundingOfMean * Math.abs(mean)) return null;
  return `the loss of step ${step} is ${loss} instead of the mean of its pathways, ${mean}`;
}

/** The log has only the sum of dropped work. */
function stepUnitsProblem({ step, miners, units, dropped, forwardUnits, pathways }: StepEntry): string | null {
  if (forwardUnits === undefined) return null;
  const stages = forwardUnits.length;
  const earned = miners.map((_, place) => dropped?.[place] ?? 0);
  for (const { doers } of pathways) {
    if (doers.length !== chainLength(stages)) {
      return `a pathway of step ${step} has ${doers.length} tasks instead of ${chainLength(stages)}`;
    }
    for (const [position, place] of doers.entries()) {
      earned[place] = (earned[place] ?? 0) + taskUnits(forwardUnits, chainLink(stages, position));
    }
  }
  const wrong = miners.findIndex((_, place) => units[place] !== earned[place]);
  return wrong === -1
    ? null
    : `step ${step} credits ${miners[wrong]} with ${units[wrong]} units instead of its tasks' ${earned[wrong]}`;
}

function takeRound(ledger: Ledger, entry: RoundEntry): string | null {
  const { round, miners, units, forfeits = [], isLast = false } = entry;
  if (units.length !== miners.length) return `round ${round} lacks units for some of its ${miners.length} miners`;
  if (round <= ledger.common.newestRound) return `round ${round} follows round ${ledger.common.newestRound}`;
  const first = firstNotDue(ledger.common);
  const due = forfeits.find(({ fromRound }) => fromRound < first);
  if (due !== undefined) {
    return `round ${round} takes back the pay of ${due.miner} from round ${due.fromRound} on, ` +
      `but all before round ${first} has vested`;
  }
  const other = ledger.open.find((step) => step.round !== round);
  if (other !== undefined) {
    return `the report of round ${round} comes before that of round ${other.round}, which has step ${other.step}`;
  }
  const problem = ledger.isWhole ? unitsProblem(ledger, entry) : null;
  if (!ledger.isWhole) ledger.unproven += 1;
  for (const book of booksOf(ledger)) {
    bookWork(book, { round, miners, units, forfeits, isLast });
    for (const miner of entry.expelled) bookVerdict(book, { miner, round, score: 0 });
  }
  recoverQualities(ledger.qualities, ledger.recovery);
  ledger.open = [];
  ledger.isWhole = true;
  return problem;
}

const booksOf = ({ common, ofValidators }: Ledger): WorkBook[] => [common, ...ofValidators.values()];

/** The next report says so too, but an orchestrator may end before it. */
function takeLeft(ledger: Ledger, { node, isExpelled }: Extract<LogEntry, { type: "left" }>): void {
  if (isExpelled !== true) return;
  const round = Math.max(0, ledger.common.newestRound);
  for (const book of booksOf(ledger)) bookVerdict(book, { miner: node, round, score: 0 });
}

function unitsProblem(ledger: Ledger, entry: RoundEntry): string | null {
  const { round, miners, units } = entry;
  for (const [i, miner] of miners.entries()) {
    const quality = ledger.qualities.get(miner) ?? 1;
    const stated = entry.qualities?.[i] ?? 1;
    if (stated !== quality) return `round ${round} counts ${stated} of ${miner}'s units instead of ${quality}`;
    const credits = creditsOf(ledger, { entry, miner });
    if (credits.includes(units[i]!)) continue;
    return `round ${round} credits ${miner} not with its earnings in the round's steps, ${credits[0] ?? 0}, but with ${
      units[i]
    }`;
  }
  return null;
}

/** The possible credits: for all steps, or for those after the miner lost its earlier earnings. */
function creditsOf({ open, qualities }: Ledger, { entry, miner }: { entry: RoundEntry; miner: NodeId }): number[] {
  const quality = qualities.get(miner) ?? 1;
  const share = entry.halved.includes(miner) ? shareOfHalved : 1;
  const ofSteps = open.map((step) => step.units.get(miner) ?? 0);
  return ofSteps.map((_, first) => share * sumFrom(ofSteps, first) * quality);
}

const shareOfHalved = 0.5;

/** In the orchestrator's order, for the same bits. */
function sumFrom(values: readonly number[], first: number): number {
  let sum = 0;
  for (let i = first; i < values.length; i++) sum += values[i]!;
  return sum;
}

function takeTrial(ledger: Ledger, entry: TriedEntry): string | null {
  const { round, base, tokens, miners, losses, recovery = 0, keepsShares = false } = entry;
  if (losses.length !== miners.length) return `the evaluation of round ${round} lacks a loss for some of its miners`;
  const problem = endsProblem(entry);
  if (problem !== null) return problem;
  const found = payloadQualities({ base, tokens, losses: losses.map((loss) => loss ?? Infinity) });
  noteQualities(ledger.qualities, { miners, shares: keepsShares ? found : found.map((share) => share ?? 1) });
  ledger.recovery = recovery;
  return null;
}

function takeVerdict(ledger: Ledger, entry: VerdictEntry): string | null {
  const { miner, round, innovationError, lossError, tolerance, passed, validator, task, gradient } = entry;
  if (!(tolerance > 0 && tolerance <= 1)) {
    return `the tolerance of the verdict on ${task} must be between 0 and 1, and is ${tolerance}`;
  }
  if (gradient !== undefined) {
    const error = gradientError(gradient);
    if (innovationError !== error || tolerance !== gradientTolerance) {
      return `the verdict on the gradient of ${task} states an error of ${innovationError} and a tolerance of ` +
        `${tolerance} instead of ${error} and ${gradientTolerance}`;
    }
  }
  const isWithin = innovationError <= tolerance && (lossError === null || lossError <= tolerance);
  if (passed !== isWithin) {
    return `the verdict on ${task} contradicts its own numbers, by which it ${isWithin ? "passed" : "failed"}`;
  }
  const unproven = proofProblem(entry);
  if (unproven !== null) return unproven;
  if (passed) return null;
  let book = ledger.ofValidators.get(validator);
  if (book === undefined) {
    book = { ...ledger.common, withheld: new Map(ledger.common.withheld) };
    ledger.ofValidators.set(validator, book);
  }
  bookVerdict(book, { miner, round, score: 0 });
  return null;
}

export function scoresEntry({ common, ofValidators }: Ledger): ScoresEntry {
  const plain = scoresOf(common);
  const differing = [...ofValidators].toSorted(([a], [b]) => a < b ? -1 : 1).flatMap(([validator, book]) => {
    const other = scoresOf(book).filter(({ score }, i) => score !== plain[i]?.score);
    const lists = { miners: other.map(({ miner }) => miner), scores: other.map(({ score }) => score) };
    return other.length === 0 ? [] : [{ validator, ...lists }];
  });
  const lists = { miners: plain.map(({ miner }) => miner), scores: plain.map(({ score }) => score) };
  return { type: "scores", round: common.newestRound, ...lists, differing };
}

function scoresProblem(ledger: Ledger, entry: ScoresEntry): string | null {
  const { round, miners, scores, differing } = scoresEntry(ledger);
  if (entry.round !== round) return `scores of round ${entry.round} come where those of round ${round} should`;
  const lists = [{ validator: null, miners, scores }, ...differing];
  const stated = [{ ...entry, validator: null }, ...entry.differing];
  for (const [i, list] of lists.entries()) {
    const other = stated[i];
    const wrong = list.miners.findIndex((miner, at) =>
      other?.miners[at] !== miner || other.scores[at] !== list.scores[at]
    );
    if (wrong === -1 && other?.miners.length === list.miners.length && other.validator === list.validator) continue;
    const of = list.validator === null ? "" : ` by ${list.validator}`;
    if (wrong === -1) return `the scores of round ${round}${of} are not those of ${list.miners.length} miners`;
    return `the score of ${list.miners[wrong]}${of} in round ${round} is ${other?.scores[wrong]} ` +
      `instead of ${list.scores[wrong]}`;
  }
  return lists.length === stated.length
    ? null
    : `the scores of round ${round} do not differ for ${differing.length} validators`;
}

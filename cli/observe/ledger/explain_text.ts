/** A node's history in sentences: what was checked, what it earned in each round and why, what would raise it. */

import { plural } from "../../terminal/text/format.ts";
import {
  effectsOfMiner,
  type MinerEffect,
  type MinerHistory,
  type RoundEarnings,
} from "../../../core/ledger/miner_history.ts";
import { roundsBooked, roundsInWindow, roundsUntilDue } from "../../../core/score/work_score.ts";

type Verdicts = Extract<MinerHistory["events"][number], { type: "verdict" }>[];

const verdictsOn = ({ node, events }: MinerHistory): Verdicts =>
  events.flatMap((event) => event.type === "verdict" && event.miner === node ? [event] : []);

/** `hasRounds`: with a line for each round, of which a long run has thousands. */
export function historyText(history: MinerHistory, { hasRounds }: { readonly hasRounds: boolean }): string[] {
  const { node, seen } = history;
  if (seen.get(node) === "validator") return validatorText(history);
  return [
    ...[`${node} is a miner of this run.`, ...placeText(history), ""],
    ...["Checked:", ...indented(checkedText(history)), ""],
    ...[...(hasRounds ? roundsText(history) : foldedText(history)), ""],
    ...[
      "Effect on the loss, from the pathways of its microbatches:",
      ...indented(effectsOfMiner(history).map(effectText)),
      "",
    ],
    ...["What would raise its pay:", ...indented(adviceFor(history))],
  ];
}

const roundsText = (history: MinerHistory): string[] => [
  "Earned, in units of a mean stage's forward (a backward counts as two); a score is the sum of " +
  `${roundsInWindow} rounds; a round counts ${roundsUntilDue} rounds later, or when the run ends:`,
  ...indented(history.rounds.map(roundText)),
  ...indented(noRounds(history)),
  ...indented(endText(history)),
];

const foldedText = ({ rounds }: MinerHistory): string[] =>
  rounds.length === 0 ? [] : [
    `A unit is a forward through a mean stage; a backward counts as two. Each of ${
      times(rounds.length, "round")
    }: --by-round`,
  ];

const indented = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`);

function validatorText({ node, events }: MinerHistory): string[] {
  const given = events.flatMap((event) => event.type === "verdict" && event.validator === node ? [event] : []);
  const failed = given.filter(({ passed }) => !passed);
  const evaluations = events.filter(({ type }) => type === "evaluated").length;
  const gradients = given.filter(({ gradient }) => gradient !== undefined).length;
  const repeated = times(given.length - gradients, "task") +
    (gradients === 0 ? "" : ` and ${times(gradients, "gradient")}`);
  return [
    `${node} is a validator of this run.`,
    `It repeated ${repeated}, found ${failed.length} of them wrong, and evaluated ${times(evaluations, "round")}.`,
    ...failed.map(({ task, step, gradient, miner, round }) =>
      `  It found ${
        gradient === undefined ? task : `the gradient of step ${step}`
      } of ${miner} in round ${round} wrong.`
    ),
    ...namesText(failed),
  ];
}

const namesText = (verdicts: Verdicts): string[] =>
  verdicts.some(({ gradient }) => gradient === undefined)
    ? ["A task's name is its microbatch, its stage, its direction and how often it had been handed out before."]
    : [];

function placeText({ node, events, stages, isExpelled }: MinerHistory): string[] {
  const stage = stages.get(node);
  const left = events.findLast(({ type }) => type === "left" || type === "joined");
  return [
    ...(stage === undefined ? [] : [`Its last stage is ${stage}.`]),
    ...(left?.type === "left" ? [`It ${isExpelled ? "was banned" : "left the run"}: ${left.reason}.`] : []),
    ...events.flatMap((event) =>
      event.type === "blamed" ? [`A fault was proven: ${event.detail} (${event.code}).`] : []
    ),
  ];
}

export function checkedText(history: MinerHistory): string[] {
  const all = verdictsOn(history);
  const gradients = all.filter(({ gradient }) => gradient !== undefined);
  const ofGradients = gradients.length === 0 ? [] : [gradientsText(gradients)];
  const verdicts = all.filter(({ gradient }) => gradient === undefined);
  if (verdicts.length === 0) return ["No validator has repeated a task of it.", ...ofGradients, ...signedText(all)];
  const failed = verdicts.filter(({ passed }) => !passed);
  const worst = Math.max(...verdicts.filter(({ passed }) => passed).map(({ innovationError }) => innovationError));
  const passed = verdicts.length - failed.length;
  return [
    `Validators repeated ${times(verdicts.length, "task")}: ${passed} passed, ${failed.length} failed.` +
    (passed === 0
      ? ""
      : ` The largest error that passed is ${worst.toPrecision(2)}; ${verdicts[0]!.tolerance} is allowed.`),
    ...failed.map(({ round, task, validator, innovationError, lossError, tolerance }) =>
      `Round ${round}: ${task} failed by ${validator}: its output is off by ${innovationError.toPrecision(3)}` +
      `${lossError === null ? "" : `, its losses by ${lossError.toPrecision(3)}`}; ${tolerance} is allowed.`
    ),
    ...namesText(failed),
    ...ofGradients,
    ...signedText(all),
  ];
}

function signedText(verdicts: Verdicts): string[] {
  if (verdicts.length === 0) return [];
  const signed = verdicts.filter(({ signature }) => signature !== undefined).length;
  const failed = verdicts.filter(({ passed }) => !passed);
  const proven = failed.filter(({ proof }) => proof !== undefined).length;
  return [
    signed === verdicts.length
      ? "Each verdict is signed by its validator."
      : `Verdicts signed by their validators: ${signed} of ${verdicts.length}; the others are the orchestrator's word.`,
    ...(failed.length === 0 ? [] : [`Work found wrong that it had signed itself: ${proven} of ${failed.length}.`]),
  ];
}

function gradientsText(gradients: Verdicts): string {
  const failed = gradients.filter(({ passed }) => !passed);
  const norm = (square = 0) => Math.sqrt(square).toPrecision(3);
  return `Validators recomputed ${times(gradients.length, "gradient")}: ` +
    `${gradients.length - failed.length} passed, ${failed.length} failed.` +
    failed.map(({ round, validator, gradient }) =>
      ` Round ${round}, by ${validator}: the norm is ${norm(gradient?.found)}, and it confirmed ${
        norm(gradient?.claimed)
      }.`
    ).join("");
}

/** What it earned in the round's steps, less what was withheld by rule. */
export const dueOf = ({ earned, isHalved, quality }: RoundEarnings): number =>
  (isHalved ? earned / 2 : earned) * quality;

function roundText(earnings: RoundEarnings): string {
  const { round, stage, tasks, credited, score, shareOfScores } = earnings;
  const work = `Round ${round}: ${times(tasks, "task")}${stage === null ? "" : ` in stage ${stage}`}, ` +
    `${amount(credited)} units credited`;
  const after = score === null || shareOfScores === null
    ? ""
    : `; score ${amount(score)}, ${percent(shareOfScores)} of all`;
  return `${[work, ...reasonsOfRound(earnings)].join(", ")}${after}.`;
}

/** Why a round was not credited in full. */
export function reasonsOfRound(earnings: RoundEarnings): string[] {
  const { round, earned, credited, isDue, isForfeited, isHalved, isExpelled, quality, unpaidSteps } = earnings;
  return [
    ...(unpaidSteps > 0 ? [`${times(unpaidSteps, "step")} without pay`] : []),
    ...(isHalved ? ["half withheld, as it let a duty of the merge pass"] : []),
    ...(quality < 1 ? [`${(100 * quality).toFixed(0)} % of them counted, by the last trial of its payload`] : []),
    ...(isDue || isForfeited || isExpelled ? [] : [`due once round ${round + roundsUntilDue} is reported`]),
    ...(isForfeited
      ? ["forfeited before they vested, because it left or did not answer when it had to upload its parameters"]
      : []),
    ...(credited < dueOf(earnings)
      ? [
        `of ${amount(earned)}, as ${
          isExpelled
            ? "it was banned"
            : "the rest is in no merge, or was withheld, as it let a second duty of the merge pass"
        }`,
      ]
      : []),
  ];
}

const noRounds = ({ rounds }: MinerHistory) => rounds.length === 0 ? ["No round that it worked in has ended."] : [];

export function effectText({ stage, samples, effect, standardError, moreSteps }: MinerEffect): string {
  const measured = `Stage ${stage}, ${times(samples, "microbatch", "microbatches")}: `;
  if (standardError === null) return `${measured}too few for an error bar.`;
  const side = effect >= 0 ? "above" : "below";
  const value = `${Math.abs(effect).toFixed(4)} ± ${standardError.toFixed(4)} nats ${side} its stage-mates`;
  const isKnown = moreSteps === 0
    ? "too much for chance, or too little to matter (0.01)"
    : `chance may do that, and about ${times(moreSteps ?? 0, "more step")} would tell`;
  return `${measured}${value}; ${isKnown}. Miners of the last stage report these losses, so they prove nothing.`;
}

const endText = ({ end }: MinerHistory): string[] =>
  end === null
    ? []
    : [`At the run's end, with all rounds due: score ${amount(end.score)}, ${percent(end.shareOfScores)} of all.`];

/** What is held against it, each with the way out; the first is what costs most. */
export function adviceFor(history: MinerHistory): string[] {
  if (history.isExpelled) return ["Nothing in this run: it was proven to lie and is banned; no later work is paid."];
  const last = history.rounds.at(-1);
  const failed = verdictsOn(history).filter(({ passed }) => !passed).at(-1);
  const isSlow = last !== undefined && last.matesTasks !== null && last.tasks < slowShare * last.matesTasks;
  const advice = [
    ...(last !== undefined && last.withheldBy.length > 0
      ? [
        `Correct outputs: ${times(last.withheldBy.length, "validator")} withholds its pay` +
        `${
          failed === undefined ? "" : ` until round ${failed.round + roundsBooked}`
        }. Check the device with: iota doctor`,
      ]
      : []),
    ...(last?.isHalved ? ["Answering every merge in time: a withheld duty costs half of the round's pay."] : []),
    ...(last !== undefined && last.quality < 1
      ? [
        "A payload that improves the model: on held-out text its last one tried gained far less than its peers'. " +
        "Check the device with: iota doctor",
      ]
      : []),
    ...(history.rounds.some((round) => !round.isHalved && round.credited < dueOf(round))
      ? ["Staying until the merge: work whose gradients are gone before it is not paid after the first time."]
      : []),
    ...(history.rounds.some(({ isForfeited }) => isForfeited)
      ? ["Staying until it has shown the parameters that it is asked for: before that, leaving costs what is not due."]
      : []),
    ...(isSlow
      ? [
        `A faster device or link: it did ${plural(last.tasks, "task")} where its stage-mates did ${
          amount(last.matesTasks!)
        }.`,
      ]
      : []),
  ];
  return advice.length > 0 ? advice : ["Only more work: nothing is held against it."];
}

const slowShare = 0.8;

const times = (count: number, noun: string, nouns = `${noun}s`) => `${count} ${count === 1 ? noun : nouns}`;
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const amount = (value: number) => Number(value.toFixed(2)).toString();

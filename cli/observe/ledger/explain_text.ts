/** A node's history in sentences: what was checked, what it earned and why, what would raise it. */

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
  `${roundsInWindow} rounds; a round vests ${roundsUntilDue} rounds later, or when the run ends:`,
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
  if (verdicts.length === 0) {
    return ["No validator has repeated one of its tasks yet.", ...ofGradients, ...signedText(all)];
  }
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
      : `Verdicts signed by their validators: ${signed} of ${verdicts.length}; the orchestrator vouches for the others.`,
    ...(failed.length === 0
      ? []
      : [`Of the ${times(failed.length, "result")} found wrong, it had signed ${proven} itself.`]),
  ];
}

function gradientsText(gradients: Verdicts): string {
  const failed = gradients.filter(({ passed }) => !passed);
  const norm = (square = 0) => Math.sqrt(square).toPrecision(3);
  return `Validators recomputed ${times(gradients.length, "gradient")}: ` +
    `${gradients.length - failed.length} passed, ${failed.length} failed.` +
    failed.map(({ round, validator, gradient }) =>
      ` Round ${round}, by ${validator}: the norm is ${norm(gradient?.found)}, and it committed to ${
        norm(gradient?.claimed)
      }.`
    ).join("");
}

/** Less the reductions for missed deadlines and payload quality. */
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

export function reasonsOfRound(earnings: RoundEarnings): string[] {
  const { round, earned, credited, isDue, isForfeited, isHalved, isExpelled, quality, unpaidSteps } = earnings;
  return [
    ...(unpaidSteps > 0 ? [`${times(unpaidSteps, "step")} without pay`] : []),
    ...(isHalved ? ["half of the pay, because it missed a deadline of the merge"] : []),
    ...(quality < 1
      ? [`${(100 * quality).toFixed(0)} % of them counted, by the latest leave-one-in evaluation of its payload`]
      : []),
    ...(isDue || isForfeited || isExpelled ? [] : [`vesting once round ${round + roundsUntilDue} is reported`]),
    ...(isForfeited
      ? ["forfeited before they vested, because it left or did not upload the parameters it was asked for"]
      : []),
    ...(credited < dueOf(earnings)
      ? [
        `of ${amount(earned)}, because ${
          isExpelled
            ? "it was banned"
            : "no payload of the merge contains the other gradients, or because it missed a second deadline of the merge"
        }`,
      ]
      : []),
  ];
}

const noRounds = ({ rounds }: MinerHistory) =>
  rounds.length === 0 ? ["No round in which it worked has ended yet."] : [];

export function effectText({ stage, samples, effect, standardError, moreSteps }: MinerEffect): string {
  const measured = `Stage ${stage}, ${times(samples, "microbatch", "microbatches")}: `;
  if (standardError === null) return `${measured}too few for an error bar.`;
  const side = effect >= 0 ? "above" : "below";
  const value = `${Math.abs(effect).toFixed(4)} ± ${
    standardError.toFixed(4)
  } nats ${side} the other miners of its stage`;
  const isKnown = moreSteps === 0
    ? "that is more than chance explains, or too little to matter (less than 0.01)"
    : `this may be chance; about ${times(moreSteps ?? 0, "more step")} would tell`;
  return `${measured}${value}; ${isKnown}. Miners of the last stage report these losses, so they are not proof.`;
}

const endText = ({ end }: MinerHistory): string[] =>
  end === null
    ? []
    : [`At the run's end, with all rounds vested: score ${amount(end.score)}, ${percent(end.shareOfScores)} of all.`];

/** What reduces its pay, with remedies, the most expensive first. */
export function adviceFor(history: MinerHistory): string[] {
  if (history.isExpelled) {
    return ["Nothing in this run: it was banned for results that were proven false, and later work is not paid."];
  }
  const last = history.rounds.at(-1);
  const failed = verdictsOn(history).filter(({ passed }) => !passed).at(-1);
  const isSlow = last !== undefined && last.matesTasks !== null && last.tasks < slowShare * last.matesTasks;
  const advice = [
    ...(last !== undefined && last.withheldBy.length > 0
      ? [
        `Correct outputs: ${withholding(last.withheldBy.length)} its pay` +
        `${
          failed === undefined ? "" : ` until round ${failed.round + roundsBooked}`
        }. Check the device with: iota doctor`,
      ]
      : []),
    ...(last?.isHalved
      ? ["Meeting every deadline of the merge: the first one missed costs half of the round's pay."]
      : []),
    ...(last !== undefined && last.quality < 1
      ? [
        "Payloads that improve the model: the latest one evaluated on held-out text gained far less than its peers'. " +
        "Check the device with: iota doctor",
      ]
      : []),
    ...(history.rounds.some((round) => !round.isHalved && round.credited < dueOf(round))
      ? ["Staying until the merge: gradients that are lost before it are paid only the first time."]
      : []),
    ...(history.rounds.some(({ isForfeited }) => isForfeited)
      ? ["Staying until it has uploaded the parameters it is asked for: leaving earlier forfeits its unvested pay."]
      : []),
    ...(isSlow
      ? [
        `A faster device or link: it did ${plural(last.tasks, "task")}, the other miners of its stage ${
          amount(last.matesTasks!)
        } on average.`,
      ]
      : []),
  ];
  return advice.length > 0 ? advice : ["Only more work: nothing reduces its pay."];
}

const slowShare = 0.8;

const withholding = (validators: number) =>
  validators === 1 ? "1 validator withholds" : `${validators} validators withhold`;
const times = (count: number, noun: string, nouns = `${noun}s`) => `${count} ${count === 1 ? noun : nouns}`;
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const amount = (value: number) => Number(value.toFixed(2)).toString();

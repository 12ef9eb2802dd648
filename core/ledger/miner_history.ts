/** One node's part in a run, from the entries of its log: checks, earnings, penalties, effect on the loss. */

import type { NodeId, StageIndex } from "../ids.ts";
import { addPathway, type ClaspBook, type ClaspEffect, effectsOf, openClasp } from "../score/clasp/clasp.ts";
import { stepsUntilKnown } from "../score/clasp/sample_size.ts";
import { roundsBooked, roundsUntilDue } from "../score/work_score.ts";
import type { LogEntry, StepEntry } from "./entry.ts";

export interface RoundEarnings {
  readonly round: number;
  readonly stage: StageIndex | null;
  readonly tasks: number;
  readonly matesTasks: number | null; // mean of its stage's other miners; null: none
  readonly earned: number; // units in the steps
  readonly unpaidSteps: number;
  readonly credited: number; // units in the report
  isDue: boolean; // vested (core/score/work_score.ts)
  isForfeited: boolean; // taken back before they vested
  readonly isHalved: boolean;
  readonly quality: number; // share of the units that counts
  readonly isExpelled: boolean;
  score: number | null; // by reports and bans
  shareOfScores: number | null;
  readonly withheldBy: NodeId[]; // validators that found it wrong
}

type HistoryEvent = Extract<
  LogEntry,
  { type: "joined" | "assigned" | "left" | "blamed" | "verdict" | "evaluated" }
>;

export interface MinerHistory {
  readonly node: NodeId;
  readonly seen: Map<NodeId, "miner" | "validator" | null>; // null: role unknown
  readonly events: HistoryEvent[];
  readonly rounds: RoundEarnings[];
  readonly stages: Map<NodeId, StageIndex>;
  isExpelled: boolean;
  end: { readonly score: number; readonly shareOfScores: number } | null; // once the run ended and all pay vested
  isEnding: boolean; // the next scores are the last
  steps: StepEntry[];
  clasp: ClaspBook | null;
  claspSteps: number;
}

export function openHistory(node: NodeId): MinerHistory {
  return {
    node,
    seen: new Map(),
    events: [],
    rounds: [],
    stages: new Map(),
    isExpelled: false,
    end: null,
    isEnding: false,
    steps: [],
    clasp: null,
    claspSteps: 0,
  };
}

export function takeIntoHistory(history: MinerHistory, entry: LogEntry): void {
  const { node, seen, stages, events } = history;
  switch (entry.type) {
    case "joined":
      seen.set(entry.node, entry.role);
      break;
    case "assigned":
      stages.set(entry.node, entry.stage);
      break;
    case "step":
      return takeStep(history, entry);
    case "undone":
      history.steps = [];
      return;
    case "begun":
      if (!entry.isJournaled) history.steps = []; // the open round is repeated
      return;
    case "round":
      return takeRound(history, entry);
    case "scores":
      return takeScores(history, entry);
    case "left":
      history.isExpelled ||= entry.isExpelled === true && entry.node === node;
      break;
    case "blamed":
      break;
    case "verdict":
      if (entry.miner === node) events.push(entry);
      else if (entry.validator === node) events.push(entry);
      return;
    case "evaluated":
      if (entry.validator === node) events.push(entry);
      return;
    default:
      return;
  }
  if (!seen.has(entry.node)) seen.set(entry.node, null);
  if (entry.node === node) events.push(entry);
}

const isDueAfter = (round: number, newest: number): boolean => round <= newest - roundsUntilDue;

const mostLoss = 30; // nats per token: a guess among 10^13 tokens

/**
 * Losses count as differences from their step's mean, because they fall over time and a miner's share of steps varies.
 */
function takeStep(history: MinerHistory, entry: StepEntry): void {
  const { pathways, miners, loss: reference } = entry;
  history.steps.push(entry);
  for (const miner of miners) if (!history.seen.has(miner)) history.seen.set(miner, "miner");
  const positions = pathways[0]?.doers.length ?? 1;
  const stages = (positions + 1) / 2;
  const clasp = history.clasp ??= openClasp({ form: "paired", stages, mostLoss });
  for (const { doers, makers = doers, loss } of pathways) {
    const onPath = makers.slice(0, stages).flatMap((place) => miners[place] ?? []);
    addPathway(clasp, { miners: onPath, loss, reference });
  }
  history.claspSteps += 1;
}

function takeRound(history: MinerHistory, entry: Extract<LogEntry, { type: "round" }>): void {
  const { node, steps, stages, rounds } = history;
  const stage = stages.get(node) ?? null;
  const isMate = (miner: NodeId) => miner !== node && stages.get(miner) === stage;
  const mates = new Set(steps.flatMap(({ miners }) => miners.filter(isMate)));
  const tasksOf = (isCounted: (miner: NodeId) => boolean) =>
    sumOf(steps.flatMap(({ miners, tasks }) => tasks.filter((_, place) => isCounted(miners[place]!))));
  const paid = steps.filter(({ miners, unpaid }) => !unpaid.includes(miners.indexOf(node)));
  history.isExpelled ||= entry.expelled.includes(node);
  const lostFrom = entry.forfeits?.find(({ miner }) => miner === node)?.fromRound ?? Infinity;
  for (const earnings of rounds) if (earnings.round >= lostFrom) earnings.isForfeited = true;
  for (const earnings of rounds) earnings.isDue ||= entry.isLast === true || isDueAfter(earnings.round, entry.round);
  history.isEnding = entry.isLast === true;
  history.steps = [];
  const wasThere = steps.some(({ miners }) => miners.includes(node));
  if (!wasThere && !entry.miners.includes(node)) return;
  rounds.push({
    ...{ round: entry.round, stage },
    tasks: tasksOf((miner) => miner === node),
    matesTasks: mates.size === 0 ? null : tasksOf(isMate) / mates.size,
    earned: sumOf(paid.flatMap(({ miners, units }) => units.filter((_, place) => miners[place] === node))),
    unpaidSteps: steps.length - paid.length,
    credited: entry.units[entry.miners.indexOf(node)] ?? 0,
    isHalved: entry.halved.includes(node),
    quality: entry.qualities?.[entry.miners.indexOf(node)] ?? 1,
    ...{
      isExpelled: history.isExpelled,
      isDue: false,
      isForfeited: false,
      score: null,
      shareOfScores: null,
      withheldBy: [],
    },
  });
}

function takeScores(history: MinerHistory, entry: Extract<LogEntry, { type: "scores" }>): void {
  const { node, rounds, events, isExpelled, isEnding } = history;
  const last = rounds.at(-1);
  const score = entry.scores[entry.miners.indexOf(node)] ?? 0;
  const all = sumOf(entry.scores);
  const shareOfScores = all === 0 ? 0 : score / all;
  history.end = isEnding && entry.miners.includes(node) ? { score, shareOfScores } : null;
  if (last?.round !== entry.round) return;
  last.score = score;
  last.shareOfScores = shareOfScores;
  if (isExpelled) return; // by all
  const since = entry.round - roundsBooked;
  const failed = events.flatMap((event) =>
    event.type === "verdict" && event.miner === node && !event.passed && event.round > since ? [event.validator] : []
  );
  last.withheldBy.push(...new Set(failed));
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

export interface MinerEffect extends ClaspEffect {
  readonly moreSteps: number | null; // null: see `stepsUntilKnown`
}

/** Nats per token. */
const smallestEffect = 0.01;

/** The effects in each stage that the miner served. */
export function effectsOfMiner({ clasp, claspSteps, node }: MinerHistory): MinerEffect[] {
  if (clasp === null) return [];
  const rule = { steps: claspSteps, smallest: smallestEffect };
  return effectsOf(clasp).filter(({ miner }) => miner === node)
    .map((effect) => ({ ...effect, moreSteps: stepsUntilKnown(effect, rule) }));
}

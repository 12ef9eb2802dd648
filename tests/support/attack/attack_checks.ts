/**
 * What must hold after every attack: training is done, the model is as good as a calm run's, the culprit is named and
 * out or unpaid, and no honest node is worse off. Also the table's rows as tests: which of them run, and how often.
 *
 * Without SEEDS the quick rows run; with SEEDS=n all of them, each with the seeds 1 to n, at most 4; SEED=n takes only
 * that one. `--filter` picks by name:
 *
 *     SEEDS=1 NAME="NaN in a forward wire" make one FILE=tests/attack
 */

import { assert, assertEquals } from "@std/assert";
import { orchestrator } from "../../../core/orchestrator/machine.ts";
import { isWhole, seedsWanted, seedWanted } from "../whole.ts";
import { type Aftermath, type Attack, calm, rounds, runAttack, stages } from "./attacked_run.ts";

export interface Row extends Attack {
  readonly name: string;
  readonly isQuick?: boolean; // runs with every `make test`
  /**
   * The culprit: named, and out or paid less (default); named and out; only one of it; or nothing, where nothing is
   * proven.
   */
  readonly culprit?: "punished" | "out" | "named" | "unpaid" | "tolerated";
  readonly lossTolerance?: number; // relative to the calm run, default 0.03
  /** How many rounds may last so long that a deadline must have passed in them, default 1. */
  readonly slowRounds?: number;
  readonly mayLose?: readonly number[]; // places of honest miners whose link is broken for longer than its grace
  readonly told?: "true" | "nothingFalse"; // what the summary says of the held-out loss, default: true
  readonly also?: (after: Aftermath) => void;
}

export const seeds = seedWanted === undefined
  ? Array.from({ length: Math.min(4, Number(seedsWanted ?? 1)) }, (_, i) => i + 1)
  : [Number(seedWanted)];

/** The same rows, in runs whose replicas reduce each other's payloads, as in large stages. */
export const reducedByReplicas = (rows: readonly Row[]): Row[] => rows.map((row) => ({ reducers: "replicas", ...row }));

/**
 * Every row as a test of the calling file. `rows` makes them anew for each seed, as an attacker remembers what it has
 * done.
 */
export function testAttacks(area: string, rows: () => readonly Row[]): void {
  for (const [i, row] of rows().entries()) {
    if (!isWhole && row.isQuick !== true) continue;
    for (const seed of seeds) {
      const replay = seed === 1 ? "" : `, SEED=${seed}`;
      Deno.test(`Attack, ${area}: ${row.name}${replay}`, () => checkRow({ ...rows()[i]!, seed }));
    }
  }
}

export async function checkRow(row: Row): Promise<void> {
  const after = await runAttack(row);
  const before = await calm(row);
  assertTrained(after);
  assertLossLikeCalm({ after, before, tolerance: row.lossTolerance ?? 0.03 });
  assertLossIsTold(after, row.told ?? "true");
  assertCulprits(after, row.culprit ?? "punished");
  assertHonestUnharmed({ after, before, mayLose: row.mayLose ?? [] });
  assertInTime({ after, before, slowRounds: row.slowRounds ?? 1 });
  row.also?.(after);
}

/** All steps, no microbatch lost, and the orchestrator's own books in order. */
export function assertTrained({ state, records, swarm }: Aftermath): void {
  orchestrator.assertInvariants(state);
  const { microbatchesIssued, microbatchesCredited } = state.counters;
  const { train } = state.config;
  assertEquals([state.phase, state.step, state.round], ["finished", train.steps, lastRound({ records })]);
  assertEquals([microbatchesIssued, microbatchesCredited], Array(2).fill(train.steps * train.microbatchesPerStep));
  assert(records.some((record) => record.type === "runFinished" && record.finished), "the run ended as finished");
  assertEquals(swarm.orchestrator.segments.bytes, 0, "no segment is held after the run");
}

/** A round that was taken again has a new number. */
const lastRound = ({ records }: Pick<Aftermath, "records">): number =>
  rounds + records.filter((record) => record.type === "mergeRetaken").length;

function assertCulprits(after: Aftermath, fate: NonNullable<Row["culprit"]>): void {
  if (fate === "tolerated") return;
  for (const node of after.hostile) {
    if (fate !== "unpaid") assert(isNamed(after, node), `the culprit ${node} is in no record; ${payOf(after, node)}`);
    if (fate === "out") assert(!after.members.has(node), `the culprit ${node} is still a member`);
    if (fate !== "named") assert(isUnpaid(after, node), `the culprit is a member and paid: ${payOf(after, node)}`);
  }
}

const slackMs = 10_000; // half a deadline; a stage with one replica left of three needs 13 s instead of 5 s for a round

/** A deadline is waited for once, not in every round, and the run closes. */
export function assertInTime(
  { after, before, slowRounds }: { after: Aftermath; before: Aftermath; slowRounds: number },
): void {
  const times = after.merged.map((atMs, i) => Math.round(atMs - (after.merged[i - 1] ?? 0)));
  const calmMs = Math.max(...before.merged.map((atMs, i) => atMs - (before.merged[i - 1] ?? 0)));
  const slow = times.filter((timeMs) => timeMs > calmMs + slackMs);
  assert(slow.length <= slowRounds, `rounds took ${times} ms, calm ones at most ${calmMs}`);
  const closingMs = after.endedMs - after.merged.at(-1)!;
  const { mergePhaseMs } = after.state.config.limits;
  assert(closingMs <= 2 * mergePhaseMs, `the run closed ${closingMs} ms after its last merge`);
}

/**
 * What the summary says about the last round: the truth, or at least nothing false where honest nodes cannot be told
 * apart.
 */
export function assertLossIsTold(after: Aftermath, told: "true" | "nothingFalse"): void {
  const { heldOutLast } = after.state.facts;
  const round = lastRound(after);
  if (told === "nothingFalse" && heldOutLast?.round !== round) return;
  assertEquals(heldOutLast, { round, loss: after.trueLoss }, "the summary tells the true held-out loss");
}

/** By the final parameters themselves. */
export function assertLossLikeCalm(
  { after, before, tolerance }: { after: Aftermath; before: Aftermath; tolerance: number },
): void {
  for (const [stage, values] of after.parameters.entries()) {
    assert(values.every((value) => Number.isFinite(value)), `stage ${stage} ends with a value that is no number`);
  }
  const excess = after.trueLoss / before.trueLoss - 1;
  assert(
    excess <= tolerance,
    `held-out loss ${after.trueLoss} is ${(100 * excess).toFixed(1)} % above the calm run's ${before.trueLoss}`,
  );
  for (const record of after.records) {
    if (record.type === "stepClosed") assert(record.loss < 10 && record.gradientNorm < 1e3, JSON.stringify(record));
  }
}

/** Refusal codes that an honest node gets when another was faster. */
const harmless = new Set(["staleResult", "wrongPhase"]);

/** In a record that says what it did wrong, or that it is gone; a late result is anybody's where two compute the same. */
export function isNamed({ records }: Aftermath, node: string): boolean {
  return records.some((record) =>
    ((record.type === "nodeLost" || record.type === "mergeLate" || record.type === "taskReleased") &&
      record.node === node) ||
    (record.type === "faultSeen" && record.node === node && record.code !== "staleResult") ||
    (record.type === "verdict" && record.miner === node && !record.passed) ||
    (record.type === "sliceDisputed" && record.liar === node) ||
    (record.type === "warning" && record.text.includes(node)) || namedAnew(record, node)
  );
}

/** No record accuses an honest node, whatever the majority. */
export function assertNobodyHonestNamed(
  after: Aftermath,
  { inWarnings = true }: { inWarnings?: boolean } = {}, // a dispute names all that have a part in it
): void {
  const records = after.records.filter(({ type }) => inWarnings || type !== "warning");
  for (const node of [...after.miners, ...after.validators]) {
    assert(after.hostile.has(node) || !isNamed({ ...after, records }, node), `the honest ${node} is named`);
  }
}

/** Records of blame and of merges that were taken again. */
function namedAnew(record: { readonly type: string }, node: string): boolean {
  const { type, node: blamed, suspects } = record as { type: string; node?: unknown; suspects?: readonly unknown[] };
  return (type === "blamed" && blamed === node) || (type === "mergeRetaken" && suspects?.includes(node) === true);
}

/** Units of each merged round, then what the validators make of all of them. */
export function payOf({ state, swarm, validators, hostile }: Aftermath, node: string): string {
  const scores = lastScores({ swarm, validators, hostile }).map((scores) => scores.get(node) ?? 0);
  return `units ${unitsByRound({ state }, node)}; scores ${scores}`;
}

/** Its reported work in each round. */
export function unitsByRound({ state }: Pick<Aftermath, "state">, node: string): number[] {
  return state.reports.map((report) => unitsOf(report.units, node));
}

const unitsOf = (units: ReadonlyMap<string, number>, node: string): number => units.get(node) ?? 0;

function lastScores(
  { swarm, validators, hostile }: Pick<Aftermath, "swarm" | "validators" | "hostile">,
): ReadonlyMap<string, number>[] {
  return validators.filter((validator) => !hostile.has(validator)).map((validator) => {
    const scores = swarm.scores.filter((each) => each.validator === validator).at(-1)?.scores ?? [];
    return new Map(scores.map(({ miner, score }) => [miner, score]));
  });
}

/** A miner: it is out, or was paid clearly less than its honest peers since it began. A validator: it is out. */
export function isUnpaid(after: Aftermath, node: string): boolean {
  const { attack: { fromRound = 0 }, members, miners, hostile } = after;
  if (!miners.includes(node)) return !members.has(node);
  const scores = lastScores(after);
  if (scores.length > 0 && scores.every((ofMiners) => (ofMiners.get(node) ?? 0) === 0)) return true;
  const since = (each: string) => unitsByRound(after, each).slice(fromRound).reduce((sum, units) => sum + units, 0);
  const place = miners.indexOf(node) % stages;
  const peers = miners.filter((each, i) => i % stages === place && !hostile.has(each)).map(since);
  return since(node) <= 0.75 * peers.reduce((a, b) => a + b, 0) / Math.max(1, peers.length);
}

/** No honest node is out, blamed, refused or paid much less than in a calm run. */
export function assertHonestUnharmed(
  { after, before, mayLose = [] }: { after: Aftermath; before: Aftermath; mayLose?: readonly number[] },
): void {
  const { state, records, members, hostile, refused } = after;
  for (const node of [...after.miners, ...after.validators].filter((each) => !hostile.has(each))) {
    assert(members.has(node), `the honest ${node} is no member at the end`);
    for (const record of records) {
      const isLoss = (record.type === "nodeLost" && !mayLose.includes(after.miners.indexOf(node))) ||
        (record.type === "sliceDisputed" && record.liar !== null);
      const named = record.type === "sliceDisputed" ? record.liar : record.type === "nodeLost" ? record.node : null;
      assert(!(isLoss && named === node) && !namedAnew(record, node), JSON.stringify(record));
      if (record.type !== "verdict" || record.miner !== node || hostile.has(record.validator)) continue;
      assert(record.passed, JSON.stringify(record));
    }
  }
  assertEquals(refused.filter(({ node, code }) => !hostile.has(node) && !harmless.has(code)), []);
  assertEquals([...state.expelled].filter((node) => !hostile.has(node)), []);
  for (const [i, node] of after.miners.entries()) {
    if (hostile.has(node)) continue;
    const usual = totalUnits(before, before.miners[i]!);
    const units = totalUnits(after, node);
    assert(units >= usual / 2, `the honest ${node} was paid ${units} units instead of ${usual}`);
    for (const ofMiners of lastScores(after)) {
      assert((ofMiners.get(node) ?? 0) > 0, `an honest validator gives the honest ${node} nothing`);
    }
  }
}

const totalUnits = (after: Aftermath, node: string): number =>
  unitsByRound(after, node).reduce((sum, units) => sum + units, 0);

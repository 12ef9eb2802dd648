/**
 * Recomputes a microbatch by other miners because replicas that computed with its wires failed or disagreed.
 *
 * A wire of ordinary size can make results unusable, so nobody is blamed for a result while its input has only one
 * maker. All work on the microbatch in the step is dropped; each task goes to a replica that has not done it before,
 * the task in doubt first to those that failed it. When the step closes, the attempts are compared wire by wire, from
 * the tokens on. A replica that failed all attempts while others did not was wrong. In a round's first step replicas
 * hold the same parameters, so there the maker of an unusable wire was wrong too if it is one of the first two that are
 * far apart; if none are, a replica that failed one and computed with the other was wrong. Later a maker is only named,
 * and unpaid for that attempt, if no replica could compute with its wire.
 *
 * Invariants: at most `mostMakings` attempts in a step, only while another replica is available; one counts.
 */

import { plural } from "../../plural.ts";
import { heapKeep } from "../../heap.ts";
import { fault } from "../../fault.ts";
import type { BlobHash, BlobRef, Direction, MicrobatchId, NodeId, StageIndex } from "../../ids.ts";
import { taskUnits } from "../../model/task_flops.ts";
import { blame, noteVainClaim, suspect } from "../members/blame.ts";
import { type OrchestratorEffect, record, reject } from "../event.ts";
import { rosterOf } from "../members/replicas.ts";
import type { OrchestratorState } from "../state.ts";
import { cancelLeases } from "./leases.ts";
import { isUsable } from "./result_check.ts";
import {
  countWaiting,
  type Flow,
  heapOf,
  inDataOrder,
  isEmpty,
  type ItemQueue,
  type Making,
  refusersOf,
  type StepWork,
  type WorkItem,
} from "./step_state.ts";
import { awaitInputs, makeAgain } from "./taking_back.ts";
import { chainPosition } from "../../statements/chain.ts";
import { flowOf } from "./wiring.ts";

/** Attempts at a microbatch in a step, after the first one. */
const mostMakings = {
  hopeless: 8, // no replica can compute with it
  contested: 2, // one replica says it can
  agreed: 1, // its results have an unusual size
};
// Microbatches of a step: the stage itself may be the cause.
const mostAgreed = 3;
const alike = 0.05; // replicas of a stage differ by rounding, see wire_apart.ts
const harmless = 2 ** 20; // honest results are far below; smaller ones may be unusual only because of others
const unlike = 0.5; // rounding cannot cause this in a row

export function mayRemake(
  state: OrchestratorState,
  { item, why }: { item: WorkItem; why: keyof typeof mostMakings },
): boolean {
  const flow = flowOf(state, item);
  if (flow.past.length >= mostMakings[why]) return false;
  if (why === "agreed" && remadeFor(state, item.stage) >= mostAgreed) return false;
  const isAny = why === "hopeless"; // a good attempt may have been dropped before
  return itemsBefore(flow, item).some((each) =>
    each.stage !== item.stage && hasOtherMaker(state, { item: each, isAny })
  );
}

const remadeFor = ({ work }: OrchestratorState, stage: StageIndex): number =>
  (work?.flows ?? []).filter(({ past }) => past.some(({ item }) => item.stage === stage)).length;

const itemsBefore = ({ items, wires }: Flow, item: WorkItem): readonly WorkItem[] =>
  items.slice(0, chainPosition(wires.length, item));

function hasOtherMaker(state: OrchestratorState, { item, isAny }: { item: WorkItem; isAny: boolean }): boolean {
  const maker = makerOf(item);
  return rosterOf(state, item.stage).members.some(({ node, graceUntilMs }) =>
    graceUntilMs === null && node !== maker && (isAny || !item.makers.includes(node))
  );
}

const makerOf = ({ madeBy, doneBy }: WorkItem): NodeId | null => madeBy?.node ?? doneBy;

export function remake(
  state: OrchestratorState,
  { item, isUnanimous }: { item: WorkItem; isUnanimous: boolean },
): OrchestratorEffect[] {
  const flow = flowOf(state, item);
  const forwards = flow.items.slice(0, item.stage);
  const wires = flow.wires.slice(0, item.stage);
  const unused = [...flow.wires.slice(item.stage), ...flow.gradients].filter((ref) => ref !== null);
  const failed = [...item.refused];
  flow.past.push({
    ...{ item, wires, failed, isUnanimous, isVoid: false },
    makers: forwards.map(makerOf),
    paid: unitsDone(state, flow),
    apart: forwards.map(() => null),
  });
  for (const { apart } of flow.past) apart.fill(null);
  flow.wires.fill(null);
  flow.gradients.fill(null);
  flow.losses = null;
  const again = [...refusersOf(item)];
  const makers = flow.items.map((each) => each.stage === item.stage ? null : makerOf(each)); // its own is not in doubt
  const effects = flow.items.flatMap((each, i) => reset(state, { item: each, maker: makers[i] ?? null }));
  item.again = again;
  for (const each of flow.items) if (each.status === "done") makeAgain(state, each);
  for (const [i, each] of flow.items.entries()) each.avoid = makers[i] ?? null;
  for (const each of flow.items) if (each.status === "blocked") awaitInputs(state, each);
  return unused.length === 0 ? effects : [...effects, { type: "release", refs: unused }];
}

/** A forward's miner is also paid for the backward it lost, so that it loses nothing by a bad maker. */
function unitsDone({ forwardUnits }: OrchestratorState, { items }: Flow): Map<NodeId, number> {
  const units = new Map<NodeId, number>();
  const last = items.length - 1;
  for (const [i, { stage, status, doneBy, direction }] of items.entries()) {
    if (status !== "done" || doneBy === null) continue;
    const isHalf = direction === "forward" && items[last - i]?.status !== "done";
    const halves: Direction[] = isHalf ? [direction, "backward"] : [direction];
    const done = halves.reduce((sum, each) => sum + taskUnits(forwardUnits, { stage, direction: each }), 0);
    units.set(doneBy, (units.get(doneBy) ?? 0) + done);
  }
  return units;
}

function reset(
  state: OrchestratorState,
  { item, maker }: { item: WorkItem; maker: NodeId | null },
): OrchestratorEffect[] {
  if (maker !== null && !item.makers.includes(maker)) item.makers.push(maker);
  item.madeBy = null;
  item.avoid = null;
  item.refused = [];
  item.overdue = [];
  item.lapsed = [];
  item.failed = [];
  item.again = [];
  if (item.status === "done") return [];
  const isLeased = item.status === "leased";
  if (item.status === "queued") unqueue(state, item);
  item.status = "blocked";
  if (!isLeased || state.work === null) return [];
  countWaiting(state.work, item, 1);
  return cancelLeases(state, item);
}

function unqueue(state: OrchestratorState, item: WorkItem): void {
  const roster = rosterOf(state, item.stage);
  const drop = (queue: ItemQueue) => heapKeep(heapOf(queue, item), (each) => each !== item, inDataOrder);
  const shared = state.work?.queues[item.stage];
  if (shared !== undefined) drop(shared);
  for (const member of roster.members) {
    drop(member.own);
    if (!isEmpty(member.own)) continue;
    roster.backlog.delete(member);
    roster.due.delete(member);
  }
}

export function compareMakings(
  state: OrchestratorState,
  { item, last }: { item: WorkItem; last: BlobRef },
): OrchestratorEffect[] {
  if (item.direction !== "forward") return [];
  const { microbatch, stage } = item;
  const { step } = state;
  return flowOf(state, item).past.flatMap(({ wires, apart }, making) => {
    const first = wires[stage] ?? null;
    if (first === null) return [];
    if (first.hash !== last.hash) return [{ type: "compareWires", step, microbatch, making, stage, first, last }];
    apart[stage] = 0;
    return [];
  });
}

interface Compared {
  readonly step: number;
  readonly microbatch: MicrobatchId;
  readonly making: number;
  readonly stage: StageIndex;
  readonly last: BlobHash;
  readonly apart: number;
}

export function onWiresCompared(
  state: OrchestratorState,
  { step, microbatch, making, stage, last, apart }: Compared,
): OrchestratorEffect[] {
  if (state.work === null || state.step !== step) return [];
  const flow = state.work.flows.find((each) => each.microbatch === microbatch);
  const compared = flow?.past[making];
  // Otherwise recomputed since.
  if (compared !== undefined && flow?.wires[stage]?.hash === last) compared.apart[stage] = apart;
  return [];
}

/** Judges everyone involved, once the step is complete. */
export function settleMakings(state: OrchestratorState, { flows }: StepWork): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  for (const flow of flows) {
    const named = new Set<NodeId>(); // one strike per microbatch
    for (
      const { node, detail, isProven, isUnpaid, inVain = [] } of flow.past.flatMap((making) =>
        findingsOf(state, { flow, making })
      )
    ) {
      const { item, paid } = flow.past[0]!;
      for (const each of inVain) paid.set(each, (paid.get(each) ?? 0) + taskUnits(state.forwardUnits, item));
      if (isUnpaid) { for (const making of flow.past) making.paid.delete(node); }
      if (named.has(node)) continue;
      named.add(node);
      const wrong = fault("badNumbers", detail);
      if (isProven) effects.push(...reject(node, wrong), ...blame(state, { node, fault: wrong }));
      else effects.push(record({ type: "warning", text: detail }));
    }
  }
  return effects;
}

interface Finding {
  readonly node: NodeId;
  readonly detail: string;
  readonly isProven: boolean;
  readonly isUnpaid: boolean; // for its work in the dropped attempts
  readonly inVain?: readonly NodeId[]; // replicas that are paid for computing with it
}

/** Replicas of a stage hold the same parameters. */
const areEqual = (state: OrchestratorState): boolean => state.step === state.roundFirstStep;

function findingsOf(state: OrchestratorState, { flow, making }: { flow: Flow; making: Making }): Finding[] {
  if (making.isVoid || making.item.isDoubtful) return [];
  const most = areEqual(state) ? alike : unlike;
  const first = making.apart.findIndex((apart) => apart === null || apart > most);
  return [
    ...falselyFailed(state, { flow, making, isInnocent: first === -1 }),
    ...(first === -1 ? [] : falselyMade(state, { flow, making, first })),
  ];
}

function falselyMade(
  state: OrchestratorState,
  { flow, making, first }: { flow: Flow; making: Making; first: number },
): Finding[] {
  const { item: { microbatch, stage }, apart, makers, failed, isUnanimous } = making;
  const maker = makers[first] ?? null;
  const other = flow.items[first]?.madeBy?.node ?? null;
  const error = apart[first] ?? 0;
  if (maker === null || other === null || error <= unlike) return [];
  const failers = new Set(failed.map(({ node }) => node)).size;
  const isOfNoUse = isUnanimous && failed.every(({ doubt }) => !(doubt.value <= harmless));
  const isProven = areEqual(state) && (maker === other || (isOfNoUse && failers > 1));
  if (!isOfNoUse && !areEqual(state)) return []; // replicas that learned from different text differ as much
  const detail = `The wire of microbatch ${microbatch} from ${maker} in stage ${first} does not ` +
    `match ${other}'s from the same input: a row differs by ${error.toPrecision(3)} of its size; ` +
    (isOfNoUse
      ? `none of ${plural(failers, "replica")} of stage ${stage} could compute with it`
      : `results of stage ${stage} differ, or are of an unusual size`);
  const inVain = [...new Set(failed.map(({ node }) => node))];
  return [{ node: maker, detail, isProven, isUnpaid: isProven || isOfNoUse, inVain }];
}

/**
 * They failed every attempt where another did not, or one input but not an equal one. If all failed the first, nobody
 * is to blame.
 */
function falselyFailed(
  state: OrchestratorState,
  { flow, making, isInnocent }: { flow: Flow; making: Making; isInnocent: boolean },
): Finding[] {
  const { item, failed, isUnanimous } = making;
  if (isUnanimous) return [];
  const isTried = !hasUntriedMaker(state, { flow, item });
  const isAlwaysWrong = (node: NodeId) =>
    [...flow.past.map((each) => each.item === item ? each.failed : []), item.failed].every((failures) =>
      failures.some((each) => each.node === node && !isUsable(each.doubt))
    );
  return failed.flatMap(({ node, doubt }) => {
    if (isInnocent) noteVainClaim(state, node);
    if (isInnocent && isTried) suspect(state, node);
    if (isUsable(doubt)) return [];
    const isContrary = isInnocent && areEqual(state) && item.doneBy === node;
    if (!isContrary && !(isTried && isAlwaysWrong(node))) return [];
    return [{
      node,
      detail: `${doubt.detail}; others computed the same input, and it was usable`,
      isProven: true,
      isUnpaid: true,
    }];
  });
}

const mostCompared = 3; // makers of a wire

/** Whether only a few replicas have computed some wire before the item: all may have been wrong. */
function hasUntriedMaker(state: OrchestratorState, { flow, item }: { flow: Flow; item: WorkItem }): boolean {
  return flow.items.slice(0, item.stage).some((each, stage) => {
    const makers = new Set(flow.past.map((making) => making.makers[stage] ?? null)).add(makerOf(each));
    return makers.size < Math.max(2, Math.min(mostCompared, rosterOf(state, each.stage).assigned));
  });
}

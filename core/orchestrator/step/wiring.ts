/**
 * Each microbatch's chain of items, and the queue in which an item waits.
 *
 * A backward waits for the replica that did the forward, if it is connected; other items wait for any. Fixed wiring
 * (`deterministic`) sends microbatch i to replica i mod n and its gradients in ascending order, so that every sum is
 * computed in the same order in every run.
 */

import { assert, present } from "../../assert.ts";
import { heapPush } from "../../heap.ts";
import { type Direction, microbatchId, type StageIndex } from "../../ids.ts";
import type { Attachment, OrchestratorEffect } from "../event.ts";
import { logDraws } from "../run_log.ts";
import { chainLength, chainLink, chainPosition } from "../../statements/chain.ts";
import { levelReplicas, presentReplica, replicasOf, rosterOf } from "../members/replicas.ts";
import type { Member, OrchestratorState } from "../state.ts";
import {
  countWaiting,
  type Flow,
  hasRefused,
  heapOf,
  inDataOrder,
  type ItemQueue,
  newQueue,
  openWork,
  type StepWork,
  type WorkItem,
} from "./step_state.ts";

const attemptsOfLife = 1000; // of one item; more would only repeat a number after a rollback

function openFlow(state: OrchestratorState, index: number): Flow {
  const count = state.stages.length;
  const items: WorkItem[] = [];
  for (let position = 0; position < chainLength(count); position++) {
    items.push({
      microbatch: microbatchId(index),
      ...chainLink(count, position),
      status: "blocked",
      attempts: attemptsOfLife * state.counters.rewinds,
      leases: [],
      task: null,
      doneBy: null,
      doneIn: null,
      madeBy: null,
      avoid: null,
      refused: [],
      overdue: [],
      lapsed: [],
      makers: [],
      again: [],
      failed: [],
      isDoubtful: false,
    });
  }
  const none = () => state.stages.map(() => null);
  const wires = { wires: none(), gradients: none(), past: [], isRemade: false };
  return { microbatch: microbatchId(index), items, ...wires, losses: null };
}

/** A round's first step is preceded by the commitment to its random sampling. */
export function openStep(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  assert(state.work === null, "the last step is closed before another opens");
  const perStep = state.config.train.microbatchesPerStep;
  const flows = Array.from({ length: perStep }, (_, i) => openFlow(state, state.step * perStep + i));
  const work: StepWork = {
    flows,
    queues: state.stages.map(newQueue),
    leased: new Map(),
    credited: new Map(),
    contributors: new Set(),
    touched: new Set(),
    left: flows.length * chainLength(state.stages.length),
    startedMs: nowMs,
    sealed: new Map(),
    departed: [],
    waiting: state.stages.map(({ index }) => flows.length * (index === state.stages.length - 1 ? 1 : 2)),
    unowned: state.stages.map(() => flows.length),
    forwards: new Map(),
    delivered: new Set(),
    leavers: new Set(),
    idle: state.stages.map(() => new Set()),
    uncounted: new Set(),
    handed: new Set(),
    askedAhead: new Map(),
    asked: new Map(),
    seals: 0,
    returns: new Map(),
  };
  state.work = work;
  state.counters.microbatchesIssued += flows.length;
  levelReplicas(state);
  for (const flow of flows) queueItem(state, present(flow.items[0], "a flow has items"));
  return state.step === state.roundFirstStep ? [logDraws(state)] : [];
}

export function flowOf(state: OrchestratorState, item: WorkItem): Flow {
  const work = openWork(state);
  const first = present(work.flows[0], "a step has flows").microbatch;
  return present(work.flows[item.microbatch - first], "the item's flow");
}

const replicasForAnItem = 8;

/** Whether so few items wait that most of its replicas will get nothing more in this step. */
export function isTail(state: OrchestratorState, stage: StageIndex): boolean {
  const waiting = present(openWork(state).waiting[stage], "every stage has a count");
  return waiting * replicasForAnItem <= rosterOf(state, stage).present;
}

export function queueItem(state: OrchestratorState, item: WorkItem): void {
  const work = openWork(state);
  if (item.status === "leased" || item.status === "done") countWaiting(work, item, 1);
  item.status = "queued";
  const owner = ownerOf(state, item);
  if (owner === null) return pushItem(present(work.queues[item.stage], "every stage has a queue"), item);
  pushItem(owner.own, item);
  const roster = rosterOf(state, item.stage);
  roster.backlog.add(owner);
  if (owner.isReady) roster.due.add(owner);
}

function pushItem(queue: ItemQueue, item: WorkItem): void {
  heapPush(heapOf(queue, item), item, inDataOrder);
}

/** Null: any replica may take it. */
function ownerOf(state: OrchestratorState, item: WorkItem): Member | null {
  const { stage } = item;
  if (state.config.deterministic) {
    const replicas = replicasOf(state, stage);
    const turn = item.microbatch % replicas.length;
    const inTurn = [...replicas.slice(turn), ...replicas.slice(0, turn)];
    const isNew = ({ node }: Member) => !hasRefused(item, node) && !item.makers.includes(node);
    return inTurn.find(isNew) ?? inTurn.find(({ node }) => !hasRefused(item, node)) ?? inTurn[0] ?? null;
  }
  if (item.direction !== "backward") return null;
  const { doneBy } = present(flowOf(state, item).items[stage], "the stage's forward");
  const isOpen = doneBy === null || item.avoid === doneBy || hasRefused(item, doneBy) || item.makers.includes(doneBy);
  return isOpen || item.again.length > 0 ? null : presentReplica(state, { node: doneBy, stage });
}

export function rewire(state: OrchestratorState, stage: StageIndex): void {
  if (!state.config.deterministic || state.work === null) return;
  const shared = present(state.work.queues[stage], "every stage has a queue");
  const roster = rosterOf(state, stage);
  const items: WorkItem[] = [];
  for (const queue of [shared, ...roster.members.map((member) => member.own)]) {
    items.push(...queue.gradients.splice(0), ...queue.forwards.splice(0));
  }
  roster.backlog.clear();
  roster.due.clear();
  for (const item of items) queueItem(state, item);
}

/** Whether the member's earlier gradients are leased or done, as fixed wiring demands. */
export function isInOrder(state: OrchestratorState, { item, member }: { item: WorkItem; member: Member }): boolean {
  if (!state.config.deterministic) return true;
  const replicas = replicasOf(state, item.stage);
  const position = chainPosition(state.stages.length, item);
  return openWork(state).flows.every((flow) => {
    if (flow.microbatch >= item.microbatch || replicas[flow.microbatch % replicas.length] !== member) return true;
    const { status } = present(flow.items[position], "the same position");
    return status === "leased" || status === "done";
  });
}

/** The next in the chain; for a forward also the backward that starts from its wire. */
export function consumersOf(flow: Flow, item: WorkItem): WorkItem[] {
  const stages = flow.wires.length;
  const next = flow.items[chainPosition(stages, item) + 1];
  const wireOf = item.direction === "forward" && item.stage + 2 < stages ? item.stage + 1 : null;
  const backward = wireOf === null
    ? undefined
    : flow.items[chainPosition(stages, { stage: wireOf, direction: "backward" })];
  return [next, backward].filter((each) => each !== undefined);
}

/** The items whose missing output this one needs. */
export function missingInputs(flow: Flow, { stage, direction }: WorkItem): WorkItem[] {
  const stages = flow.wires.length;
  const missing: WorkItem[] = [];
  if (stage > 0 && flow.wires[stage - 1] === null) {
    missing.push(present(flow.items[stage - 1], "the forward before it"));
  }
  if (direction === "backward" && flow.gradients[stage + 1] === null) {
    missing.push(present(flow.items[2 * stages - 3 - stage], "the gradient task behind it"));
  }
  return missing;
}

export function taskAttachments(flow: Flow, item: { stage: StageIndex; direction: Direction }): Attachment[] {
  const { microbatch } = flow;
  const input: Attachment = item.stage === 0
    ? { type: "inputs", microbatch }
    : { type: "blob", ref: present(flow.wires[item.stage - 1], "the wire before the stage") };
  if (item.direction === "forward") return [input];
  if (item.direction === "turnaround") return [input, { type: "targets", microbatch }];
  return [input, { type: "blob", ref: present(flow.gradients[item.stage + 1], "the gradient behind the stage") }];
}

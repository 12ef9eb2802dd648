/**
 * The open step's work: which item waits, who gets it, what a result or a loss of a node changes.
 *
 * Owns: flows, queues, leases. A result counts only for the node that holds the lease; everything else is stale. Gradients
 * live at the miner that made them, so when it goes, its finished backwards of the open step are queued again: their inputs
 * are still held here. Fixed wiring (`deterministic`) sends microbatch i to replica i mod n and its gradients in ascending
 * order, so that every sum is made in the same order in every run.
 */

import { assert, present } from "../assert.ts";
import {
  type BlobRef,
  type Direction,
  microbatchId,
  type NodeId,
  type StageIndex,
  stageIndex,
  taskId,
} from "../ids.ts";
import { type Attachment, type OrchestratorEffect, record, send } from "./event.ts";
import {
  type Flow,
  type Member,
  type OrchestratorState,
  replicasOf,
  type StepWork,
  tokensPerMicrobatch,
  type WorkItem,
} from "./state.ts";

/** Position of a (stage, direction) in a microbatch's chain of 2K - 1 items. */
export function chainPosition(stages: number, item: { stage: number; direction: Direction }): number {
  if (item.direction === "backward") return 2 * stages - 2 - item.stage;
  return item.stage;
}

function openFlow(state: OrchestratorState, index: number): Flow {
  const count = state.stages.length;
  const items: WorkItem[] = [];
  for (let position = 0; position < 2 * count - 1; position++) {
    items.push({
      microbatch: microbatchId(index),
      stage: stageIndex(position < count ? position : 2 * count - 2 - position),
      direction: position < count - 1 ? "forward" : position === count - 1 ? "turnaround" : "backward",
      status: "blocked",
      attempts: 0,
      lease: null,
      task: null,
      doneBy: null,
      avoid: null,
    });
  }
  const none = () => state.stages.map(() => null);
  return { microbatch: microbatchId(index), items, wires: none(), gradients: none(), losses: null };
}

export function openStep(state: OrchestratorState, nowMs: number): void {
  assert(state.work === null, "Cannot open a step as the last one must be closed");
  const perStep = state.config.train.microbatchesPerStep;
  const flows = Array.from({ length: perStep }, (_, i) => openFlow(state, state.step * perStep + i));
  const work: StepWork = {
    flows,
    queues: state.stages.map(() => []),
    leased: new Map(),
    left: flows.length * (2 * state.stages.length - 1),
    startedMs: nowMs,
    sealed: null,
    sealDeadlineMs: null,
  };
  state.work = work;
  state.counters.microbatchesIssued += flows.length;
  for (const flow of flows) queue(work, present(flow.items[0], "a flow has items"));
}

function queue(work: StepWork, item: WorkItem): void {
  item.status = "queued";
  present(work.queues[item.stage], "a queue a stage").push(item);
}

export function flowOf(state: OrchestratorState, item: WorkItem): Flow {
  const work = present(state.work, "an open step");
  return present(
    work.flows[item.microbatch - present(work.flows[0], "a step has flows").microbatch],
    "the item's flow",
  );
}

/** Gives queued items to nodes with a free place, least loaded first, until nothing fits. */
export function leaseWork(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const work = state.work;
  if (work === null || work.sealed !== null || state.phase !== "training") return [];
  const effects: OrchestratorEffect[] = [];
  for (const [stage, waiting] of work.queues.entries()) {
    if (waiting.length === 0) continue;
    const replicas = replicasOf(state, stageIndex(stage));
    for (;;) {
      const found = nextPair(state, { replicas, waiting });
      if (found === null) break;
      waiting.splice(waiting.indexOf(found.item), 1);
      effects.push(lease(state, { ...found, nowMs }));
    }
  }
  return effects;
}

function nextPair(
  state: OrchestratorState,
  options: { replicas: readonly Member[]; waiting: readonly WorkItem[] },
): { item: WorkItem; member: Member } | null {
  const free = options.replicas
    .filter((member) => member.graceUntilMs === null && member.leases.size < state.config.limits.leasesPerMiner)
    .sort((a, b) => a.leases.size - b.leases.size || a.stepLeases - b.stepLeases || a.assignment - b.assignment);
  for (const member of free) {
    let best: WorkItem | null = null;
    for (const item of options.waiting) {
      if ((best === null || comesBefore(item, best)) && mayTake(state, { item, member, replicas: options.replicas })) {
        best = item;
      }
    }
    if (best !== null) return { item: best, member };
  }
  return null;
}

/** Gradients first: they free memory and let the step close; then in data order. */
function comesBefore(a: WorkItem, b: WorkItem): boolean {
  const rank = (item: WorkItem) => item.direction === "forward" ? 1 : 0;
  return rank(a) !== rank(b) ? rank(a) < rank(b) : a.microbatch < b.microbatch;
}

function mayTake(
  state: OrchestratorState,
  options: { item: WorkItem; member: Member; replicas: readonly Member[] },
): boolean {
  const { item, member, replicas } = options;
  if (state.config.deterministic) return mayTakeFixed(state, options);
  if (item.avoid === member.node && replicas.length > 1) return false;
  if (item.direction !== "backward") return true;
  const forwardBy = present(flowOf(state, item).items[item.stage], "the stage's forward").doneBy;
  if (forwardBy === member.node || forwardBy === item.avoid) return true;
  return !replicas.some((replica) => replica.node === forwardBy && replica.graceUntilMs === null);
}

function mayTakeFixed(
  state: OrchestratorState,
  options: { item: WorkItem; member: Member; replicas: readonly Member[] },
): boolean {
  const { item, member, replicas } = options;
  const owner = (index: number) => replicas[index % replicas.length]?.node;
  if (owner(item.microbatch) !== member.node) return false;
  if (item.direction === "forward") return true;
  const position = chainPosition(state.stages.length, item);
  return present(state.work, "an open step").flows.every((flow) =>
    flow.microbatch >= item.microbatch || owner(flow.microbatch) !== member.node ||
    flow.items[position]?.status === "leased" || flow.items[position]?.status === "done"
  );
}

function lease(
  state: OrchestratorState,
  options: { item: WorkItem; member: Member; nowMs: number },
): OrchestratorEffect {
  const { item, member, nowMs } = options;
  const task = taskId({ ...item, attempt: item.attempts });
  item.attempts += 1;
  item.status = "leased";
  item.lease = { task, node: member.node, deadlineMs: nowMs + state.config.limits.leaseMs };
  member.leases.add(task);
  member.stepLeases += 1;
  present(state.work, "an open step").leased.set(task, item);
  return send(
    member.node,
    {
      type: "runTask",
      task,
      microbatch: item.microbatch,
      stage: item.stage,
      direction: item.direction,
      step: state.step,
    },
    taskAttachments(flowOf(state, item), item),
  );
}

/** The input of a task, then its targets or the gradient it starts from. */
export function taskAttachments(flow: Flow, item: { stage: StageIndex; direction: Direction }): Attachment[] {
  const { microbatch } = flow;
  const input: Attachment = item.stage === 0
    ? { type: "inputs", microbatch }
    : { type: "blob", ref: present(flow.wires[item.stage - 1], "the wire before the stage") };
  if (item.direction === "forward") return [input];
  if (item.direction === "turnaround") return [input, { type: "targets", microbatch }];
  return [input, { type: "blob", ref: present(flow.gradients[item.stage + 1], "the gradient behind the stage") }];
}

/** Ends a lease without a result: the item waits again. */
export function releaseLease(
  state: OrchestratorState,
  options: { item: WorkItem; reason: string },
): OrchestratorEffect[] {
  const { item, reason } = options;
  const work = present(state.work, "an open step");
  const held = present(item.lease, "a leased item");
  item.lease = null;
  item.avoid = held.node;
  work.leased.delete(held.task);
  state.members.get(held.node)?.leases.delete(held.task);
  queue(work, item);
  state.counters.reLeases += 1;
  return [record({ type: "taskReleased", task: held.task, node: held.node, reason })];
}

/** Books a checked result and unblocks what follows. Returns refs that nobody needs. */
export function acceptResult(
  state: OrchestratorState,
  options: { item: WorkItem; member: Member; output: BlobRef | null; losses: readonly number[] | null },
): BlobRef[] {
  const { item, member, output, losses } = options;
  const work = present(state.work, "an open step");
  const flow = flowOf(state, item);
  const held = present(item.lease, "a leased item");
  item.status = "done";
  item.lease = null;
  item.task = held.task;
  item.doneBy = member.node;
  work.leased.delete(held.task);
  member.leases.delete(held.task);
  work.left -= 1;
  if (item.direction !== "forward") member.stepTasks.push(held.task);
  if (losses !== null && flow.losses === null) flow.losses = losses;
  const next = flow.items[chainPosition(state.stages.length, item) + 1];
  if (next?.status === "blocked") queue(work, next);
  return keepOutput(state, { flow, item, output });
}

/** A repeated task's output is not needed: what came first has been used already. */
function keepOutput(
  state: OrchestratorState,
  options: { flow: Flow; item: WorkItem; output: BlobRef | null },
): BlobRef[] {
  const { flow, item, output } = options;
  if (output === null) return [];
  const place = item.direction === "forward" ? flow.wires : flow.gradients;
  if (place[item.stage] !== null) return [output];
  place[item.stage] = output;
  const tokens = tokensPerMicrobatch(state.config);
  const { counters } = state;
  if (item.direction === "forward") {
    counters.wireBytesForward += output.bytes;
    counters.wireTokensForward += tokens;
  } else {
    counters.wireBytesBackward += output.bytes;
    counters.wireTokensBackward += tokens;
  }
  return [];
}

/** Everything of the open step that went down with a node waits again. Returns how many tasks. */
export function reissueWorkOf(state: OrchestratorState, node: NodeId): number {
  const work = state.work;
  if (work === null) return 0;
  let reissued = 0;
  for (const flow of work.flows) {
    for (const item of flow.items) {
      const lostLease = item.lease?.node === node;
      const lostGradient = item.status === "done" && item.doneBy === node && item.direction !== "forward";
      if (!lostLease && !lostGradient) continue;
      if (item.lease !== null) work.leased.delete(item.lease.task);
      if (lostGradient) work.left += 1;
      item.lease = null;
      item.doneBy = null;
      item.task = null;
      item.avoid = node;
      queue(work, item);
      reissued += 1;
    }
  }
  state.counters.reLeases += reissued;
  return reissued;
}

/**
 * Invariants of the state after every event, as assertions. They look at everything, so production checks them on ticks
 * only, simulations after every step of small swarms.
 */

import { isWaiting } from "./audit/held_out/payload_trials.ts";
import { assert, present } from "../assert.ts";
import { assertAuditQueue } from "./audit/audit_queue.ts";
import { awaitedWork, isProbe } from "./audit/audit_state.ts";
import { assertValidatorPlaces } from "./audit/validator_places.ts";
import { mostLeases } from "./step/leases.ts";
import { assertMerge } from "./merge/merge_invariants.ts";
import { hasFreePlace } from "./members/replicas.ts";
import type { Member, OrchestratorState, StageRoster } from "./state.ts";
import { assertOutcomes } from "./step/outcomes.ts";
import { consumersOf, missingInputs } from "./step/wiring.ts";
import { type Flow, forwardsOf, isEmpty, type ItemQueue, type StepWork, type WorkItem } from "./step/step_state.ts";

export function assertInvariants(state: OrchestratorState): void {
  if (state.phase === "finished") return; // it may have stopped at any point
  const { counters } = state;
  const open = state.work?.flows.length ?? 0;
  assert(
    counters.microbatchesIssued === counters.microbatchesCredited + open,
    `issued microbatches are credited once or open: issued ${counters.microbatchesIssued}, credited ${counters.microbatchesCredited}, open ${open}`,
  );
  const waitsForUpload = state.phase === "training" && state.upload !== null && state.step > state.roundFirstStep;
  assert(
    state.work === null
      ? state.phase !== "training" || waitsForUpload || state.losses.halt !== null
      : state.phase === "training",
    `there is an open step exactly while training; the phase is ${state.phase}`,
  );
  assert(
    (state.phase === "merging") === (state.merge !== null),
    `there is a merge exactly while merging; the phase is ${state.phase}`,
  );
  assert(state.sources.round <= state.round, "sources are not newer than the round");
  assert(state.notices.length === 0, "members are notified at once");
  for (const member of state.members.values()) assertMember(state, member);
  for (const [stage, roster] of state.rosters.entries()) assertRoster(state, { stage, roster });
  if (state.work !== null) assertWork(state, state.work);
  for (const merge of state.merge?.stages ?? []) assertMerge(state, merge);
  assertAudits(state);
  assertOutcomes(state);
}

function assertMember(state: OrchestratorState, member: Member): void {
  const { node } = member;
  assert(
    member.leases.size <= member.places,
    `${node} has no more leases than its in-flight window`,
  );
  assert(member.status !== "active" || member.stage !== null, `${node} is active without a stage`);
  assert(
    member.status === "active" || (member.leases.size === 0 && isEmpty(member.own)),
    `${node} is not active and holds no work`,
  );
  assert(
    (member.status === "loading") === state.catchingUp.has(node),
    `${node} has a path to the current parameters exactly while it loads`,
  );
  const isHere = member.role === "miner" && member.graceUntilMs === null;
  const mayWait = isHere && member.status !== "active";
  const mustWait = isHere && member.status === "waiting";
  const waits = state.waiting.has(node);
  assert(waits <= mayWait && waits >= mustWait, `${node} is listed as waiting exactly when it waits`);
  let forwards = 0;
  for (const task of member.leases) {
    const item = present(state.work?.leased.get(task), `${node} holds ${task}, which is leased`);
    assert(
      item.leases.some((lease) => lease.task === task && lease.node === node),
      `${task} is leased to ${node}`,
    );
    forwards += forwardsOf(item.direction);
  }
  assert(
    forwards === member.leasedForwards,
    `${node} holds ${forwards} forwards, and ${member.leasedForwards} are counted`,
  );
}

function assertRoster(
  state: OrchestratorState,
  { stage, roster }: { stage: number; roster: StageRoster },
): void {
  const members = [...state.members.values()].filter((member) => member.stage === stage);
  const active = members.filter((member) => member.status === "active");
  assert(roster.assigned === members.length, `stage ${stage} counts its members`);
  assert(active.length === roster.members.length, `stage ${stage} lists its active members`);
  const listed = new Set(roster.members);
  assert(active.every((member) => listed.has(member)), `stage ${stage} lists only its members`);
  assert(
    roster.present === active.filter((member) => member.graceUntilMs === null).length,
    `stage ${stage} counts its present members`,
  );
  const placed = new Set(roster.ready.flatMap(({ member, busyMs }) => busyMs === member.busyMs ? [member] : []));
  for (const member of active) {
    assert(
      !member.isReady || (placed.has(member) && hasFreePlace(member)),
      `${member.node} is ready and has a free place`,
    );
    assert(member.isReady || !hasFreePlace(member), `${member.node} has a free place and is ready`);
    assert(roster.backlog.has(member) === !isEmpty(member.own), `the backlog knows ${member.node}'s own queue`);
  }
}

function assertWork(state: OrchestratorState, work: StepWork): void {
  const queued = new Set<WorkItem>();
  const collect = (queue: ItemQueue) => {
    for (const item of [...queue.gradients, ...queue.forwards]) {
      assert(!queued.has(item), "an item is queued once");
      queued.add(item);
    }
  };
  work.queues.forEach(collect);
  for (const member of state.members.values()) collect(member.own);
  const departed = new Set(work.departed.flatMap(({ items }) => items));
  for (const item of departed) assert(item.status === "done", "a committed task is done");
  let left = 0;
  let credited = 0;
  for (const flow of work.flows) {
    for (const item of flow.items) {
      if (item.status !== "done") left += 1;
      else if (item.direction !== "forward") credited += 1;
      assert((item.status === "queued") === queued.has(item), "exactly the queued items are in a queue");
      assertItem(state, { work, flow, item, isDeparted: departed.has(item) });
    }
  }
  for (const [stage, waiting] of work.waiting.entries()) {
    const count = work.flows.reduce((sum, { items }) => sum + items.filter((item) => waits(item, stage)).length, 0);
    assert(waiting === count, `stage ${stage} has ${count} items waiting, and ${waiting} are counted`);
    const unowned = work.flows.reduce(
      (sum, { items }) => sum + items.filter((item) => waits(item, stage) && item.direction !== "backward").length,
      0,
    );
    assert(work.unowned[stage] === unowned, `stage ${stage} has ${unowned} items for any replica`);
  }
  for (const node of work.contributors) {
    const { stage, leases } = present(state.members.get(node), "a contributor is a member");
    const isIdle = leases.size === 0 && !work.asked.has(node);
    assert(isIdle === (stage !== null && work.idle[stage]?.has(node)), `the index knows whether ${node} is idle`);
  }
  for (const node of [...work.idle.flatMap((nodes) => [...nodes]), ...work.asked.keys()]) {
    assert(work.contributors.has(node), `${node} has something to commit`);
  }
  for (const node of work.askedAhead.keys()) {
    assert(!work.asked.has(node), `${node} is asked either ahead or after its results`);
  }
  assert(work.handed.size === 0, "every node with a new gradient task was considered");
  for (const node of work.sealed.keys()) assert(work.asked.has(node), `${node} was asked`);
  assert(left === work.left, `${left} items are left, and ${work.left} are counted`);
  for (const [node, { tasks }] of work.sealed) {
    assert(state.members.get(node)?.stepTasks.length === tasks, `${node} has committed what it is credited`);
  }
  assert(credited === work.credited.size, "every accepted gradient is credited once");
}

const waits = (item: WorkItem, stage: number) =>
  item.stage === stage && (item.status === "blocked" || item.status === "queued");

function assertItem(
  state: OrchestratorState,
  { work, flow, item, isDeparted }: { work: StepWork; flow: Flow; item: WorkItem; isDeparted: boolean },
): void {
  assert((item.status === "leased") === (item.leases.length > 0), "exactly the leased items have a lease");
  assert(item.leases.length <= mostLeases, "an item has few leases");
  assert(
    new Set(item.leases.map((lease) => lease.node)).size === item.leases.length,
    "a miner has one lease of an item",
  );
  for (const lease of item.leases) {
    assert(work.leased.get(lease.task) === item, "a lease is in the table of leases");
    const holder = present(state.members.get(lease.node), "a lease's node is a member");
    assert(holder.leases.has(lease.task), "a lease is known at its member");
  }
  if (item.status !== "done") {
    const isReady = missingInputs(flow, item).length === 0;
    assert(item.status === "blocked" || isReady, "an item that may be computed has its inputs");
    return;
  }
  const outputs = item.direction === "forward" ? flow.wires : flow.gradients;
  const isHeld = item.stage === 0 && item.direction !== "forward" || outputs[item.stage] !== null;
  const isOver = consumersOf(flow, item).every(({ status }) => status === "done");
  assert(isHeld || isOver, "a result that is waited for is held");
  if (item.direction === "forward") return;
  const task = present(item.task, "a done item has a task");
  assert(work.credited.get(task) === item, "a gradient is credited");
  if (isDeparted) return;
  const doer = present(state.members.get(present(item.doneBy, "a done item has a doer")), "its doer is a member");
  assert(doer.stepTasks.includes(task), "a gradient counts for its miner");
  assert(work.contributors.has(doer.node), "a credited miner is a contributor");
}

function assertAudits(state: OrchestratorState): void {
  const { audit } = state;
  for (const running of audit.running.values()) {
    assert(state.members.has(running.validator), "a running audit has its validator");
  }
  let open = 0;
  for (const count of audit.open.values()) open += count;
  const running = [...audit.running.values()].filter(({ request }) => !isProbe(request)).length;
  const awaited = [...audit.awaited.values()].flat().reduce((sum, each) => sum + awaitedWork(each).length, 0);
  const untried = audit.trials.reduce((sum, { ends }) => sum + ends.filter(isWaiting).length, 0);
  const known = audit.queue.size + running + audit.refereed.size + awaited + untried;
  assert(open === known, "every open audit waits or runs");
  for (const round of audit.held.keys()) assert(audit.open.has(round), `nothing is held for round ${round}`);
  for (const [node, states] of audit.awaited) {
    const isShown = states.every(({ change }) => change !== null);
    assert(isShown || state.members.has(node), `${node} is a member, or has opened its state`);
  }
  assertAuditQueue(audit.queue);
  assertValidatorPlaces(state);
}

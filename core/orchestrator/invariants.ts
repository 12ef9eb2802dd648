/**
 * What must hold after every event, as assertions: bookkeeping that contradicts itself stops the process before it can do
 * harm. Cheap enough for every tick; simulations call it after every step.
 */

import { assert, present } from "../assert.ts";
import type { Member, OrchestratorState, StepWork } from "./state.ts";

export function assertInvariants(state: OrchestratorState): void {
  const { counters } = state;
  const open = state.work?.flows.length ?? 0;
  assert(
    counters.microbatchesIssued === counters.microbatchesCredited + open,
    `Microbatches must be credited once or open: issued ${counters.microbatchesIssued}, credited ${counters.microbatchesCredited}, open ${open}`,
  );
  const waitsForUpload = state.phase === "training" && state.upload !== null && state.step > state.roundFirstStep;
  assert(
    state.work === null ? state.phase !== "training" || waitsForUpload : state.phase === "training",
    `An open step must exist exactly while training: phase is ${state.phase}`,
  );
  assert(
    (state.phase === "merging") === (state.merge !== null),
    `A merge must exist exactly while merging: phase is ${state.phase}`,
  );
  assert(state.sources.round <= state.round, "Sources must not be newer than the round");
  for (const member of state.members.values()) assertMember(state, member);
  if (state.work !== null) assertWork(state, state.work);
  for (const merge of state.merge?.stages ?? []) {
    for (const node of merge.participants) assert(state.members.has(node), `A participant must be a member: ${node}`);
  }
  for (const running of state.audit.running.values()) {
    assert(state.members.has(running.validator), "A running audit must have its validator");
  }
}

function assertMember(state: OrchestratorState, member: Member): void {
  const { node } = member;
  assert(
    member.leases.size <= state.config.limits.leasesPerMiner,
    `${node} must not hold more leases than leasesPerMiner`,
  );
  assert(member.status !== "active" || member.stage !== null, `${node} is active without a stage`);
  for (const task of member.leases) {
    assert(state.work?.leased.get(task)?.lease?.node === node, `${node} holds ${task}, which is not leased to it`);
  }
}

function assertWork(state: OrchestratorState, work: StepWork): void {
  let left = 0;
  const queued = new Set(work.queues.flat());
  assert(queued.size === work.queues.flat().length, "An item must be queued once");
  for (const flow of work.flows) {
    for (const item of flow.items) {
      if (item.status !== "done") left += 1;
      assert((item.status === "queued") === queued.has(item), "Exactly the queued items must be in a queue");
      assert((item.status === "leased") === (item.lease !== null), "Exactly the leased items must have a lease");
      if (item.lease !== null) {
        assert(work.leased.get(item.lease.task) === item, "A lease must be in the table of leases");
        const holder = present(state.members.get(item.lease.node), "a lease's node is a member");
        assert(holder.leases.has(item.lease.task), "A lease must be known at its member");
      }
      if (item.status === "done" && item.direction !== "forward") {
        const doer = state.members.get(present(item.doneBy, "a done item has a doer"));
        assert(
          doer?.stepTasks.includes(present(item.task, "a done item has a task")),
          "A gradient must count for its miner",
        );
      }
    }
  }
  assert(left === work.left, `Items left must be ${left}: current value is ${work.left}`);
}

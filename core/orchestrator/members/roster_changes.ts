/**
 * A member stops being an active replica: benched, to load parameters again, or gone. The caller reassigns its work.
 */

import { dropAwaitedOf } from "../audit/shown_states.ts";
import { awaitAssign, deactivate, rosterOf, setStage } from "./replicas.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { rewire } from "../step/wiring.ts";

export function benchMember(state: OrchestratorState, member: Member): void {
  const { stage } = member;
  deactivate(state, member, "waiting");
  dropProgress(state, member);
  member.header = null;
  awaitAssign(state, member);
  if (stage !== null) rewire(state, stage);
}

export function forgetMember(state: OrchestratorState, member: Member): void {
  const { stage } = member;
  dropProgress(state, member);
  dropAwaitedOf(state, member.node);
  deactivate(state, member, "waiting");
  setStage(state, member, null);
  state.members.delete(member.node);
  state.departing.delete(member.node);
  state.waiting.delete(member.node);
  state.validators.delete(member.node);
  if (stage !== null) rewire(state, stage);
}

function dropProgress(state: OrchestratorState, member: Member): void {
  const { roundTasks, stage } = member;
  member.roundTasks = 0;
  member.roundSteps = 0;
  if (roundTasks === 0 || stage === null) return;
  const roster = rosterOf(state, stage);
  roster.progress -= roundTasks;
  if (roster.progress === 0) state.lostProgress.add(stage);
}

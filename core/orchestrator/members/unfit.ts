/**
 * Stages that a miner's device cannot hold, by its own report. It gets another stage, and is dismissed when none is
 * left. A claim lasts as long as the membership, so a node with a new adapter only has to rejoin.
 */

import { fault } from "../../fault.ts";
import type { StageIndex } from "../../ids.ts";
import type { LoadFailed } from "../../protocol/message.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import { setStage } from "./replicas.ts";
import { benchMember } from "./roster_changes.ts";
import type { Member, OrchestratorState } from "../state.ts";

export const fits = (member: Member, stage: number): boolean => !member.unfitStages.some((unfit) => unfit === stage);

export function onTooLarge(
  state: OrchestratorState,
  { member, stage, message }: { member: Member; stage: StageIndex; message: LoadFailed },
): OrchestratorEffect[] {
  const { node } = member;
  member.unfitStages.push(stage);
  if (member.previousStage === stage) member.previousStage = null;
  benchMember(state, member);
  setStage(state, member, null);
  const seen = record({ type: "faultSeen", node, ...message.fault });
  if (member.unfitStages.length < state.stages.length) return [seen];
  const detail = `This node's device cannot hold any of the run's stages: ${message.fault.detail}`;
  return [seen, { type: "disconnect", node, fault: fault("tooLarge", detail) }];
}

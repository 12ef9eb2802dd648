/** A request that its validator did not answer is reassigned, or its subject ends without an answer. */

import type { NodeId } from "../../ids.ts";
import { inconclusive } from "../../score/verdict.ts";
import type { OrchestratorEffect } from "../event.ts";
import type { OrchestratorState } from "../state.ts";
import { passOn } from "./audit_requests.ts";
import { type AuditRequest, isProbe } from "./audit_state.ts";
import { settleEvaluation } from "./held_out/evaluations.ts";
import { endTrialRequest } from "./held_out/payload_trials.ts";
import { actOnVerdict } from "./verdict_actions.ts";

export function giveOn(
  state: OrchestratorState,
  { request, validator }: { request: AuditRequest; validator: NodeId },
): OrchestratorEffect[] {
  if (isProbe(request) || passOn(state, { request, validator })) return [];
  if (request.type === "evaluate") return settleEvaluation(state, request);
  if (request.type === "trial") return endTrialRequest(state, request);
  const verdict = inconclusive(request.replay, `No validator could repeat ${request.replay.task}`);
  return actOnVerdict(state, { verdict, validator: null });
}

/**
 * A newcomer whose stage takes longer to load than a round takes to train: the merges made meanwhile are kept for it,
 * and it applies them one by one. Each must lead to the round's agreed hash.
 *
 * Invariant: `state.catchingUp` has an entry for every loading member and for nobody else.
 */

import { present } from "../../assert.ts";
import { fault } from "../../fault.ts";
import type { NodeId, StageIndex } from "../../ids.ts";
import type { Ready } from "../../protocol/message.ts";
import type { MergeApplied, MergeFailed } from "../../protocol/merge_messages.ts";
import { type OrchestratorEffect, record, reject, send } from "../event.ts";
import { rewire } from "../step/wiring.ts";
import type { UploadWork } from "../merge/merge_state.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { blobsOfPath } from "./catch_up.ts";
import { awaitLoading } from "./loading.ts";
import { notify } from "./notices.ts";
import { activate } from "./replicas.ts";
import { benchMember } from "./roster_changes.ts";

/**
 * A link that needs more than eight rounds for int8 parameters needs more than two for a merge and never catches up.
 */
const mostMerges = 8;

/** Keeps a round's merge for members still loading. Without a path to the new parameters they load those instead. */
export function keepMerge(state: OrchestratorState, { round, stages }: UploadWork): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  for (const [node, path] of [...state.catchingUp]) {
    const member = present(state.members.get(node), "a loading member is a member");
    const upload = stages[present(member.stage, "a loading member has a stage")];
    const reaches = present(member.loadingRound, "a loading member has a round") + path.merges.length;
    if (reaches === round) continue; // the same parameters, stored again after a rollback
    if (reaches + 1 !== round || upload === undefined || upload.slices.length === 0) {
      benchMember(state, member);
    } else if (path.merges.length === mostMerges) {
      effects.push(...giveUp(state, member));
    } else {
      path.merges.push({ merged: upload.merged, slices: upload.slices });
    }
  }
  return effects;
}

function giveUp(state: OrchestratorState, member: Member): OrchestratorEffect[] {
  const { node, stage } = member;
  benchMember(state, member);
  notify(state, node, { type: "notice", about: "behind", merges: mostMerges, startsAnew: true });
  const text =
    `${node} loads stage ${stage} again: its link took so long that the run merged more than ${mostMerges} rounds. ` +
    "It needs a faster link, or the run longer rounds";
  return [record({ type: "warning", text })];
}

export function onReady(
  state: OrchestratorState,
  { member, message }: { member: Member; message: Ready },
): OrchestratorEffect[] {
  const path = state.catchingUp.get(member.node);
  if (path === undefined || message.assignment !== member.assignment || path.held !== null) return [];
  const { base } = path;
  if (base.type === "blobs" && base.parameters.hash !== message.parameters.hash) {
    benchMember(state, member);
    const detail = `The parameters loaded for stage ${member.stage} do not have the round's agreed hash`;
    return reject(member.node, fault("badBlob", detail));
  }
  path.held = message.parameters.hash;
  path.hasEmptyOptimizer = message.optimizer === "empty";
  return [];
}

/** Members that hold the open round's parameters become replicas, unless a merge is replacing these. */
export function activateCaughtUp(state: OrchestratorState): OrchestratorEffect[] {
  if (state.phase === "merging") return [];
  const effects: OrchestratorEffect[] = [];
  for (const [node, { held, merges, hasEmptyOptimizer }] of [...state.catchingUp]) {
    const member = present(state.members.get(node), "a loading member is a member");
    const { stage, loadingRound } = member;
    if (held === null || merges.length > 0 || loadingRound !== state.round || stage === null) continue;
    member.loadFailures = 0;
    activate(state, member);
    rewire(state, stage);
    effects.push(
      record({
        type: "nodeReady",
        node,
        stage,
        round: state.round,
        parameters: held,
        ...(hasEmptyOptimizer ? { optimizer: "empty" } : {}),
      }),
    );
  }
  return effects;
}

export function askToFollow(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  for (const [node, path] of state.catchingUp) {
    const [next] = path.merges;
    if (next === undefined || path.held === null || path.isAsked) continue;
    const member = present(state.members.get(node), "a loading member is a member");
    if (member.graceUntilMs !== null) continue;
    const round = present(member.loadingRound, "a loading member has a round");
    path.isAsked = true;
    awaitLoading(state, { member, nowMs });
    if (!path.isTold) {
      path.isTold = true;
      const merges = path.merges.length;
      notify(state, node, { type: "notice", about: "behind", merges, startsAnew: false });
      const text =
        `While ${node} loaded stage ${member.stage} of round ${round}, the run reached round ${round + merges}; ` +
        "it applies the merges in between before its first task";
      effects.push(record({ type: "warning", text }));
    }
    effects.push(send(node, { type: "applyMerge", round, slices: next.slices }));
  }
  return effects;
}

export function onFollowed(
  state: OrchestratorState,
  { member, message }: { member: Member; message: MergeApplied },
): OrchestratorEffect[] {
  const path = state.catchingUp.get(member.node);
  const [next] = path?.merges ?? [];
  const round = present(member.loadingRound, "a loading member has a round");
  if (path === undefined || next === undefined || !path.isAsked || message.round !== round + 1) return [];
  if (message.parameters.hash !== next.merged.parameters.hash) {
    benchMember(state, member);
    const { stage } = member;
    const detail = `The parameters of stage ${stage} after the merge of round ${round} do not have ` +
      "the run's hash; this node loads the stage again";
    return reject(member.node, fault("badBlob", detail));
  }
  path.merges.shift();
  path.held = message.parameters.hash;
  path.isAsked = false;
  member.loadingRound = message.round;
  return [];
}

/** It lacks a slice, or its device failed: it loads the current parameters instead. */
export function onFollowFailed(
  state: OrchestratorState,
  { member, message }: { member: Member; message: MergeFailed },
): OrchestratorEffect[] {
  if (state.catchingUp.get(member.node)?.isAsked === true) benchMember(state, member);
  return [record({ type: "faultSeen", node: member.node, ...message.fault })];
}

/** The parameters, of one stage or all, were replaced by others than a merge's: newcomers load those. */
export function abandonPaths(state: OrchestratorState, only: StageIndex | null = null): void {
  for (const node of [...state.catchingUp.keys()]) {
    const member = present(state.members.get(node), "a loading member is a member");
    if (only === null || member.stage === only) benchMember(state, member);
  }
}

export function isOnPath(state: OrchestratorState, { node, hash }: { node: NodeId; hash: string }): boolean {
  const path = state.catchingUp.get(node);
  return path !== undefined && blobsOfPath(path).some((ref) => ref.hash === hash);
}

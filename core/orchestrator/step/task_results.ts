/** Miners' answers to a task: a result, judged before it counts, or a refusal. */

import { present } from "../../assert.ts";
import { fault } from "../../fault.ts";
import type { TaskFailed } from "../../protocol/message.ts";
import { blame, noteFulfilled } from "../members/blame.ts";
import { noteTrip } from "../members/places.ts";
import { type OrchestratorEffect, record, reject, releaseEffect } from "../event.ts";
import { reach } from "../marks.ts";
import { acceptResult, releaseLease } from "./leases.ts";
import { isAgreed, isContested, isHopeless, noteClaims, reloadStage, settleRefusals } from "./refusals.ts";
import { compareMakings, mayRemake, remake } from "./remaking.ts";
import { remakeIfLeft } from "./overdue.ts";
import { isUsable, judgeResult, type TaskResult } from "./result_check.ts";
import { noteWire } from "./scale_book.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { type Lease, openWork, type WorkItem } from "./step_state.ts";

/** Null: it is not the sender's. */
function heldBy(
  state: OrchestratorState,
  { member, task }: { member: Member; task: Lease["task"] },
): { item: WorkItem; held: Lease } | null {
  const item = state.work?.leased.get(task);
  const held = item?.leases.find((each) => each.task === task && each.node === member.node);
  return item === undefined || held === undefined ? null : { item, held };
}

export function onTaskDone(
  state: OrchestratorState,
  { member, result, nowMs }: { member: Member; result: TaskResult; nowMs: number },
): OrchestratorEffect[] {
  const { message, segments, scale } = result;
  const leased = heldBy(state, { member, task: message.task });
  if (leased === null) {
    const stale = fault("staleResult", `${message.task} was reassigned or its step has closed`);
    return [...releaseEffect(segments), ...reject(member.node, stale)];
  }
  const { item, held } = leased;
  const judged = judgeResult(state, { item, result });
  if (judged.type === "misshapen") {
    return [
      ...releaseEffect(segments),
      ...reject(member.node, fault("badNumbers", judged.detail)),
      ...blame(state, { node: member.node, fault: fault("badNumbers", judged.detail) }),
      ...releaseLease(state, { item, held, reason: judged.detail, nowMs }),
    ];
  }
  if (judged.type === "implausible") {
    const { doubt } = judged;
    item.refused.push({ node: member.node, doubt });
    const isTaken = isAgreed(state, { item, result, doubt, sender: member.node });
    if (!isTaken || mayRemake(state, { item, why: "agreed" })) {
      return [
        ...releaseEffect(segments),
        ...releaseLease(state, { item, held, reason: doubt.detail, nowMs, isInDoubt: true }),
        ...(isTaken || isHopeless(state, item) ? tryOtherwise(state, item) : remakeIfLeft(state, item)),
      ];
    }
    reach(state, "refusal: taken, as all replicas doubt it");
  } else if (isContested(state, { item, result, doer: member.node }) && mayRemake(state, { item, why: "contested" })) {
    noteClaims(state, { item, result, doer: member.node });
    const reason = "others could not compute with its input, which is being recomputed";
    return [
      ...releaseEffect(segments),
      ...releaseLease(state, { item, held, reason, nowMs, isInDoubt: true }),
      ...remake(state, { item, isUnanimous: false }),
    ];
  }
  item.isDoubtful = judged.type === "implausible";
  const output = segments[0] ?? null;
  const settled = settleRefusals(state, { item, doer: member.node, result });
  const { unused, effects } = acceptResult(state, { item, held, member, output, losses: message.losses, nowMs });
  const { stage, direction } = item;
  const wire = { node: member.node, scale };
  if (output !== null) noteWire(present(state.scales.stages[stage], "every stage has scales"), { direction, wire });
  noteFulfilled(state, { node: member.node, duty: "tasks" });
  if (held.isAlone && item.direction !== "backward") {
    noteTrip(member, { tookMs: nowMs - held.leasedMs, computeMs: message.computeMs });
  }
  const compared = output === null || unused.length > 0 ? [] : compareMakings(state, { item, last: output });
  return [
    finished(state, { item, held, computeMs: message.computeMs, nowMs }),
    ...settled,
    ...effects,
    ...compared,
    ...releaseEffect(unused),
  ];
}

function finished(
  state: OrchestratorState,
  { item, held, computeMs, nowMs }: { item: WorkItem; held: Lease; computeMs: number; nowMs: number },
): OrchestratorEffect {
  const { stage, direction, microbatch } = item;
  const { task, node, leasedMs } = held;
  const tookMs = Math.round(nowMs - leasedMs);
  return record({
    ...{ type: "taskFinished", task, node, stage, direction, microbatch },
    sentMs: Math.round(leasedMs - openWork(state).startedMs),
    tookMs,
    computeMs: Math.min(tookMs, Math.round(computeMs)),
  });
}

/** Every replica has failed the item. */
function tryOtherwise(state: OrchestratorState, item: WorkItem): OrchestratorEffect[] {
  const why = item.refused.some(({ doubt }) => isUsable(doubt)) ? "agreed" : "hopeless";
  return mayRemake(state, { item, why }) ? remake(state, { item, isUnanimous: true }) : reloadStage(state, item);
}

export function onTaskFailed(
  state: OrchestratorState,
  options: { member: Member; message: TaskFailed; nowMs: number },
): OrchestratorEffect[] {
  const { member, message, nowMs } = options;
  const leased = heldBy(state, { member, task: message.task });
  if (leased === null) return [];
  const { code, detail } = message.fault;
  const wrong =
    `${message.task} was refused although the orchestrator had checked its input; the reason given: ${detail}`;
  return [
    record({ type: "faultSeen", node: member.node, code, detail }),
    ...blame(state, { node: member.node, fault: fault(code, wrong) }),
    ...releaseLease(state, { ...leased, reason: detail, nowMs }),
  ];
}

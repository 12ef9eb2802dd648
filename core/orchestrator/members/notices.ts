/**
 * Notifications of members about their own conduct, so that their owners can see why they are not paid or have no
 * stage.
 *
 * Owns the notifications of one event: they are recorded with the conduct (blame.ts, audit/forfeits.ts) and sent at the
 * event's end to the members that remain. Invariant: none is left between events.
 */

import type { NodeId } from "../../ids.ts";
import type { Notice } from "../../protocol/notice.ts";
import { type OrchestratorEffect, send } from "../event.ts";
import type { OrchestratorState } from "../state.ts";

export function notify({ notices }: OrchestratorState, node: NodeId, notice: Notice): void {
  notices.push({ node, notice });
}

export function sendNotices({ notices, members }: OrchestratorState): OrchestratorEffect[] {
  const heard = notices.splice(0).filter(({ node }) => members.has(node));
  return heard.map(({ node, notice }) => send(node, notice));
}

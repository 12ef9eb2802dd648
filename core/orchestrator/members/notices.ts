/**
 * Notifications of members about their own conduct, so that owners can see why they are not paid or have no stage. They
 * are sent at the end of the event: none is left between events.
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

/**
 * The pass that a newcomer shows to the peers it is sent to: the hub's permission for its stage's blobs
 * (net/auth/peer_pass.ts).
 */

import type { NodeId } from "../../../core/ids.ts";
import { blobsOf } from "../../../core/orchestrator/stored_blobs.ts";
import type { HubMessage } from "../../../core/protocol/message.ts";
import type { Signer } from "../../../net/auth/hello.ts";
import type { NetLimits } from "../../../net/limits.ts";
import { createPass } from "../../../net/auth/peer_pass.ts";
import type { Timers } from "../../../net/timers.ts";

export interface PassIssuer {
  readonly runId: string;
  readonly signer: Signer;
  readonly timers: Timers;
  readonly limits: Pick<NetLimits, "passMs">;
}

/** The message as it is sent to `reader`. */
export function withPass(message: HubMessage, reader: NodeId, by: PassIssuer): HubMessage {
  if (message.type !== "assign" || message.peers.length === 0) return message;
  const blobs = blobsOf([message.source]).map(({ hash }) => hash);
  if (blobs.length === 0) return message;
  const { signer, runId: run, timers, limits } = by;
  const pass = createPass({ reader, blobs, untilMs: Math.ceil(timers.nowMs() + limits.passMs) }, { run, signer });
  return { ...message, peers: message.peers.map((peer) => ({ ...peer, pass })) };
}

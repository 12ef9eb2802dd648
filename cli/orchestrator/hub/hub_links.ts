/** What the orchestrator sends to nodes: counted, traced and, for a newcomer, with a pass. */

import type { NodeId } from "../../../core/ids.ts";
import { blobsOf } from "../../../core/orchestrator/stored_blobs.ts";
import type { HubMessage, NodeMessage } from "../../../core/protocol/message.ts";
import { createPass } from "../../../net/auth/peer_pass.ts";
import type { Hub } from "../../../net/links/hub.ts";
import type { Segment } from "../../../net/messages/frame.ts";
import type { Traffic } from "../../observe/traffic.ts";
import type { HubEdges } from "./hub_runtime.ts";
import type { OrchestratorRoleOptions } from "./running_orchestrator.ts";

type LinkOptions = Pick<OrchestratorRoleOptions, "runId" | "signer" | "timers" | "limits" | "traces">;

export function linkEdges(
  hub: Hub<NodeMessage, HubMessage>,
  { options, traffic, onClosed }: { options: LinkOptions; traffic: Traffic; onClosed: (node: NodeId) => void },
): HubEdges<Uint8Array, Segment>["links"] {
  return {
    send: (to, message, segments) => {
      const named = withPass(options.traces?.named(message, to) ?? message, to, options);
      const sent = hub.send(to, named, segments);
      if (sent.ok) traffic.sent({ node: to, message, segments: segments?.length ?? 0, bytes: sent.value });
      return sent;
    },
    close: (node, fault) => {
      hub.close(node, fault);
      onClosed(node);
    },
    pause: () => hub.pause(),
    resume: () => hub.resume(),
  };
}

/** Peers give a newcomer blobs for the pass (net/auth/peer_pass.ts). */
function withPass(message: HubMessage, reader: NodeId, by: LinkOptions): HubMessage {
  if (message.type !== "assign" || message.peers.length === 0) return message;
  const blobs = blobsOf([message.source]).map(({ hash }) => hash);
  if (blobs.length === 0) return message;
  const { signer, runId: run, timers, limits } = by;
  const pass = createPass({ reader, blobs, untilMs: Math.ceil(timers.nowMs() + limits.passMs) }, { run, signer });
  return { ...message, peers: message.peers.map((peer) => ({ ...peer, pass })) };
}

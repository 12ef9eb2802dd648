/**
 * The other end of a benchmark's link, in a process: `iota bench peer SPEC`.
 *
 * A source answers each task with a segment, a sink answers each segment with a small result. `session` uses production
 * nodes, `ws` bare sockets that move as many bytes.
 */

import { randomBytes } from "node:crypto";
import { WebSocket } from "ws";
import { hotkeyOfMiniSecret, verifySignature } from "../../../chain/wallet/hotkey.ts";
import { dialWebSocket } from "../../../net/links/client.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { Node } from "../../../net/links/node.ts";
import { readHubMessage } from "../../../net/messages/schema_hub.ts";
import { type Socket, socketOptions } from "../../../net/links/socket_wire.ts";
import { systemRandom, systemTimers } from "../../../net/timers.ts";
import type { HubMessage, NodeMessage } from "../../../core/protocol/message.ts";

export interface PeerSpec {
  readonly url: string;
  readonly over: "session" | "ws";
  readonly part: "source" | "sink";
  readonly segmentBytes: number;
}

/** Our frame's overhead per segment, for a fair comparison. */
export const frameOverheadBytes = 128;

export const roleOfPart = { source: "miner", sink: "validator" } as const;

export function runPeer(text: string): Promise<number> {
  const spec: PeerSpec = JSON.parse(text);
  return new Promise((resolve) => {
    const end = () => resolve(0);
    if (spec.over === "session") startNode(spec, end);
    else startSocket(spec, end);
  });
}

function startNode({ url, part, segmentBytes }: PeerSpec, end: () => void): void {
  const segments = part === "source" ? [new Uint8Array(randomBytes(segmentBytes))] : [];
  const node: Node<HubMessage, NodeMessage> = new Node<HubMessage, NodeMessage>({
    url,
    identity: {
      signer: hotkeyOfMiniSecret(new Uint8Array(randomBytes(32))),
      role: roleOfPart[part],
      run: null,
      hub: null,
    },
    verify: verifySignature,
    read: readHubMessage,
    limits: defaultNetLimits,
    timers: systemTimers,
    random: systemRandom,
    onEvent: (event) => {
      if (event.type === "refused" || event.type === "disconnected") {
        node.close("benchmark over");
        return end();
      }
      if (event.type !== "message" || event.message.type !== "runTask") return;
      node.send({ type: "taskDone", task: event.message.task, losses: null, computeMs: 0 }, segments);
    },
  }, dialWebSocket);
  node.connect();
}

function startSocket({ url, part, segmentBytes }: PeerSpec, end: () => void): void {
  const answer = new Uint8Array(
    randomBytes(part === "source" ? segmentBytes + frameOverheadBytes : frameOverheadBytes),
  );
  const socket: Socket = new WebSocket(`${url}/${part}`, { ...socketOptions, maxPayload: defaultNetLimits.frameBytes });
  socket.on("message", () => socket.send(answer));
  socket.on("error", end);
  socket.on("close", end);
}

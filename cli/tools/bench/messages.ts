/**
 * Small messages to a node and back at full rate: `runTask` without segments, answered by `taskDone`.
 *
 * In memory both ends share this process, so a turn costs our code four times: encode and decode on each side.
 */

import { randomBytes } from "node:crypto";
import { hotkeyOfMiniSecret, verifySignature } from "../../../chain/wallet/hotkey.ts";
import { assert } from "../../../core/assert.ts";
import type { NodeId } from "../../../core/ids.ts";
import type { HubMessage, NodeMessage } from "../../../core/protocol/message.ts";
import { Hub } from "../../../net/links/hub.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { createLoopback } from "../../../net/links/loopback.ts";
import { Node } from "../../../net/links/node.ts";
import { readHubMessage } from "../../../net/messages/schema_hub.ts";
import { readNodeMessage } from "../../../net/messages/schema_node.ts";
import { systemRandom, systemTimers } from "../../../net/timers.ts";
import { nextTurn } from "../../../net/turns.ts";
import { hubTickets } from "../../orchestrator/hub/hub_tickets.ts";
import { type Measured, Meter } from "./meter.ts";
import { unlessAborted } from "../../program/aborted.ts";
import { sampleTask } from "./relay.ts";

const turnsAtOnce = 64;
const noticeMs = 100; // between checks for Ctrl-C, which a stream of messages would delay

export async function measureMessages(seconds: number, signal: AbortSignal): Promise<Measured> {
  const meter = new Meter(seconds);
  let isOver = false;
  let isPaused = false;
  let waiting = 0;
  let noticedMs = performance.now();
  const begin = (peer: NodeId) => {
    for (; waiting > 0 && !isOver; waiting--) hub.send(peer, sampleTask);
  };
  const pause = async (peer: NodeId) => {
    isPaused = true;
    await nextTurn();
    isPaused = false;
    noticedMs = performance.now();
    begin(peer);
  };
  const shared = { verify: verifySignature, limits: defaultNetLimits, timers: systemTimers, random: systemRandom };
  const signer = newHotkey();
  const hub = new Hub<NodeMessage, HubMessage>({
    ...shared,
    run: "bench",
    signer,
    admit: () => null,
    tickets: hubTickets(signer, "bench"),
    read: readNodeMessage,
    onEvent: (event) => {
      if (event.type !== "peerConnected" && event.type !== "message") return;
      if (event.type === "message") meter.count(event.bytes);
      waiting += event.type === "message" ? 1 : turnsAtOnce;
      if (isPaused) return;
      if (performance.now() < noticedMs + noticeMs) begin(event.peer);
      else void pause(event.peer);
    },
  });
  const node = new Node<HubMessage, NodeMessage>({
    ...shared,
    url: "memory",
    identity: { signer: newHotkey(), role: "miner", run: null, hub: null },
    read: readHubMessage,
    onEvent: (event) => {
      if (event.type !== "message") return;
      assert(event.message.type === "runTask", "the orchestrator sends only tasks");
      node.send({ type: "taskDone", task: event.message.task, losses: null, computeMs: 12 });
    },
  }, createLoopback((wire) => hub.accept(wire)));
  node.connect();
  try {
    return await unlessAborted(signal, meter.done);
  } finally {
    isOver = true;
    node.close("benchmark over");
    hub.shutDown("benchmark over");
  }
}

function newHotkey() {
  return hotkeyOfMiniSecret(new Uint8Array(randomBytes(32)));
}

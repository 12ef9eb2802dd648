/**
 * Which role may send which message, decided by the role that a node proved in its hello, not by what its messages claim.
 *
 * Owns the table of messages by role. Each message comes with the role of the session it came on, so nothing has to be
 * remembered here, and neither a restart nor the order of events changes the answer. Invariant: a member's role is a proven
 * one, and only a session of that role speaks for it; a hotkey that takes up the other role has to join anew.
 */

import { type Fault, fault } from "../fault.ts";
import type { NodeMessage, Role } from "../protocol/message.ts";
import type { Member } from "./state.ts";

const senders: Readonly<Record<NodeMessage["type"], Role | "both">> = {
  join: "both",
  leaving: "both",
  askToLeave: "miner",
  ready: "miner",
  loadFailed: "miner",
  taskDone: "miner",
  loading: "miner",
  taskFailed: "miner",
  stepSealed: "miner",
  payloadCommitted: "miner",
  sliceReduced: "miner",
  mergeApplied: "miner",
  mergeFailed: "miner",
  parametersUploaded: "miner",
  stateShown: "miner",
  evaluated: "validator",
  replayed: "validator",
  gradientRepeated: "validator",
  requestFailed: "validator",
};

/** The fault of a message from a session of this proven role; null if there is none. */
export function roleFault(
  message: NodeMessage,
  { role, member }: { role: Role; member: Member | null },
): Fault | null {
  if (message.type === "join") {
    if (message.role === role) return null;
    return fault(
      "unauthenticated",
      `Cannot join as the role must be the one of the hello, '${role}': current value is '${message.role}'; start it as that role`,
    );
  }
  const sender = senders[message.type];
  if (sender !== "both" && sender !== role) {
    return fault("unauthenticated", `Cannot accept ${message.type} as its sender must be a ${sender}: it is a ${role}`);
  }
  if (member === null || member.role === role) return null;
  return fault(
    "unauthenticated",
    `Cannot accept ${message.type} as this node joined as a ${member.role}: it is a ${role} now; join again`,
  );
}

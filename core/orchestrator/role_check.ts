/**
 * Which role may send which message, decided by the role that a node proved in its session's hello. Invariant: only a
 * session of a member's proven role speaks for it; a hotkey that changes its role must join again.
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

/** Null: the message may be sent in this role. */
export function roleFault(
  message: NodeMessage,
  { role, member }: { role: Role; member: Member | null },
): Fault | null {
  if (message.type === "join") {
    if (message.role === role) return null;
    return fault(
      "unauthenticated",
      `This node joins as a '${message.role}', but its hello proved the role '${role}'; start it as that role`,
    );
  }
  const sender = senders[message.type];
  if (sender !== "both" && sender !== role) {
    return fault("unauthenticated", `Only a ${sender} may send ${message.type}, and this node is a ${role}`);
  }
  if (member === null || member.role === role) return null;
  return fault(
    "unauthenticated",
    `This node joined as a ${member.role} and sends ${message.type} as a ${role}; join again`,
  );
}

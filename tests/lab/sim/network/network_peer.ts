/**
 * What the simulated network knows: the two ends it serves, and each hotkey's process, session and link.
 */

import type { BlobRef, NodeId } from "../../../../core/ids.ts";
import type { NodeMessage, Role } from "../../../../core/protocol/message.ts";
import type { HubEvent } from "../../../../net/links/transport.ts";
import type { LinkChange } from "../../../../cli/node/node_runtime.ts";
import type { LinkShape } from "../../../../cli/swarm/chaos/link_shape.ts";
import type { Dice } from "../dice.ts";
import { Lane } from "./lane.ts";

export interface HubEnd {
  take(event: HubEvent<NodeMessage, BlobRef>): void;
}

/** One process behind a hotkey. */
export interface NodeEnd {
  readonly node: NodeId;
  readonly role: Role;
  /** `refused`: the orchestrator will not have this node; final. */
  take(change: LinkChange<BlobRef> | { readonly type: "refused" }): void;
}

export interface Session {
  readonly toHub: Lane;
  readonly toNode: Lane;
}

export interface Link {
  readonly end: NodeEnd;
  readonly session: Session;
  carries: boolean; // false: broken, whether or not a side has noticed
  hubSees: boolean; // the orchestrator takes it for good
  nodeSees: boolean;
}

/** What the network knows of a hotkey. */
export interface Peer {
  readonly node: NodeId;
  readonly dice: Dice; // its own, so that events at other nodes do not affect it
  readonly latencyMs: number; // one way
  readonly bytesPerMs: number;
  readonly jitterMs: number; // at most so much is added to the latency
  readonly resetMs: number; // about the life of a connection; Infinity: it is not cut by itself
  end: NodeEnd | null; // the running process
  hubSession: Session | null;
  detachedAtMs: number; // meaningful while the orchestrator sees no link
  nodeSession: Session | null;
  link: Link | null;
  failedDials: number;
  unreachableUntilMs: number;
  slowUntilMs: number;
}

/** `links`: of every node alike; null: each one's is drawn. */
export function openPeer(end: NodeEnd, { dice, links }: { dice: Dice; links: LinkShape | null }): Peer {
  const latencyMs = links?.delayMs ?? dice.between(5, 100);
  return {
    ...{ node: end.node, dice, latencyMs },
    bytesPerMs: links?.bytesPerMs ?? dice.pick([250, 625, 1250, 2500, 12_500]), // 2 to 100 Mbit/s
    jitterMs: links?.jitterMs ?? latencyMs >> 2,
    resetMs: links?.resetMs ?? Infinity,
    end,
    hubSession: null,
    detachedAtMs: 0,
    nodeSession: null,
    link: null,
    failedDials: 0,
    unreachableUntilMs: 0,
    slowUntilMs: 0,
  };
}

export function openSession(): Session {
  return { toHub: new Lane(), toNode: new Lane() };
}

const firstRetryMs = 500; // as net/links/node.ts
const longestRetryMs = 4_000;

/** How long a node waits before it dials again; counts the dial that failed. */
export function nextRetryMs(peer: Peer): number {
  peer.failedDials += 1;
  const longestMs = Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(peer.failedDials - 1, 16));
  return longestMs * (0.5 + 0.5 * peer.dice.unit());
}

/** How long a line leaves this connection alone. */
export const lifeMs = ({ resetMs, dice }: Peer): number => resetMs * (0.5 + dice.unit());

/**
 * The network as the rest of the program sees it. One conformance suite runs every implementation.
 *
 * Messages of one session arrive once and in order, however often its link breaks; when that is impossible, the
 * application gets `peerLost` or `sessionLost` before anything of a new session. Callbacks never throw and only
 * enqueue.
 */

import type { Fault, Parsed } from "../../core/fault.ts";
import type { BlobHash, NodeId } from "../../core/ids.ts";
import type { Role } from "../../core/protocol/message.ts";
import type { ClockDifference } from "../auth/clocks.ts";
import type { Admit, Challenger, NodeIdentity, Signer, Verify } from "../auth/hello.ts";
import type { Segment } from "../messages/frame.ts";
import type { Read } from "../messages/schema_message.ts";
import type { NetLimits } from "../limits.ts";
import type { RefusalCounts } from "../auth/refusals.ts";
import type { HeldTicket, TicketBox } from "../auth/ticket.ts";
import type { Random, Timers } from "../timers.ts";

/** Segments are bytes, or what stands for them in a simulated network. */
export interface Received<In, Held = Uint8Array> {
  readonly message: In;
  readonly segments: readonly Held[];
  readonly names: readonly BlobHash[]; // of the segments, in their order
  readonly bytes: number; // of the whole frame
}

export type HubEvent<In, Held = Uint8Array> =
  /** `resumed: false`: a new session; the node starts over. */
  | { type: "peerConnected"; peer: NodeId; role: Role; resumed: boolean; clock: ClockDifference | null } // null: not compared
  /** The link broke; the session waits and `send` keeps messages for it. */
  | { type: "peerDisconnected"; peer: NodeId; reason: string }
  /** The session is over, and undelivered messages are lost. */
  | { type: "peerLost"; peer: NodeId; fault: Fault }
  | { type: "message"; peer: NodeId; role: Role } & Received<In, Held>
  /** Another process tried to connect with its hotkey from this origin: at most once a minute. */
  | { type: "rivalRefused"; peer: NodeId; from: string }
  /** Input from an authenticated node was refused. */
  | { type: "fault"; peer: NodeId; fault: Fault }
  /** No node is blamed, and the session resumes on another link. */
  | { type: "linkDamaged"; peer: NodeId; fault: Fault }
  /** Counts since the orchestrator started. Sent at once, then at most once per `refusalReportMs`. */
  | { type: "refusals"; counts: RefusalCounts; text: string };

export interface HubTransport<Out, Sent = Segment> {
  /** Returns the size on the wire. A fault: unknown peer, message too large, or outbox full (then `peerLost`). */
  send(peer: NodeId, message: Out, segments?: readonly Sent[]): Parsed<number>;
  /** Ends the session and sends the node the reason; no `peerLost` follows. */
  close(peer: NodeId, fault: Fault): void;
  /** While paused nothing is delivered and the sockets are not read. */
  pause(): void;
  resume(): void;
  /** Unacknowledged bytes to a peer; 0 if unknown. */
  outboxBytes(peer: NodeId): number;
}

export type NodeEvent<In, Held = Uint8Array> =
  /** The ticket also authorizes requests to this orchestrator, stamped in its time: `clock` is the orchestrator's. */
  | { type: "connected"; hub: NodeId; run: string; resumed: boolean; ticket: HeldTicket; clock: ClockDifference }
  /** The link broke or was not established, or another orchestrator or run answered (`found`). */
  | {
    type: "disconnected";
    reason: string;
    cure: string | null;
    found: Challenger | null;
    attempt: number;
    retryMs: number;
  }
  /** The orchestrator no longer has our session: undelivered messages are lost, join again after `connected`. */
  | { type: "sessionLost"; fault: Fault }
  | { type: "message" } & Received<In, Held>
  | { type: "fault"; fault: Fault }
  /** Final: the orchestrator refuses this node, or another one answered (`found`). */
  | { type: "refused"; fault: Fault; found: Challenger | null };

export interface NodeTransport<Out, Sent = Segment> {
  connect(): void;
  /** Kept until delivered, even without a link. A fault: too large, outbox full (then `sessionLost`), or closed. */
  send(message: Out, segments?: readonly Sent[]): Parsed<number>;
  pause(): void;
  resume(): void;
  outboxBytes(): number;
  /** Final: no event follows. */
  close(reason: string): void;
}

export interface HubOptions<In> {
  readonly run: string;
  readonly signer: Signer;
  readonly verify: Verify;
  readonly admit: Admit;
  readonly tickets: TicketBox;
  readonly read: Read<In>;
  readonly limits: NetLimits;
  readonly timers: Timers;
  readonly random: Random;
  readonly onEvent: (event: HubEvent<In>) => void;
}

export interface NodeOptions<In> {
  readonly url: string;
  readonly identity: NodeIdentity;
  readonly verify: Verify;
  readonly read: Read<In>;
  readonly limits: NetLimits;
  readonly timers: Timers;
  readonly random: Random;
  readonly onEvent: (event: NodeEvent<In>) => void;
}

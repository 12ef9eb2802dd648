/**
 * Every bound of the network layer, in one place.
 *
 * Owns: those that a run does not configure, with the reason for each number. A run's `limits` (core/config) sets the rest.
 * Invariant: `ackEveryBytes` is below `windowBytes`, or two sides could wait for each other's acknowledgement.
 */

import { assert } from "../core/assert.ts";
import type { LimitConfig } from "../core/config/config.ts";

export interface NetLimits {
  readonly frameBytes: number; // one message on the wire
  readonly headerBytes: number; // its msgpack header
  readonly headerDepth: number; // nesting of the header; `welcome` needs 4
  readonly segments: number; // raw tensors in one message
  readonly outboxBytes: number; // kept for retransmission towards one peer; more ends the session

  readonly windowBytes: number; // sent and not yet acknowledged
  readonly ackEveryBytes: number; // received without anything going back
  readonly ackEveryMessages: number;
  readonly helloBytes: number; // a frame before the hello is done
  readonly helloMs: number; // from the connection to the signed hello
  readonly heartbeatMs: number; // an empty frame each way
  readonly silentHeartbeats: number; // then the link counts as dead
  readonly damagedLinks: number; // in a row without a message between, then the session ends
  readonly sessionKeepMs: number; // a session without a link
  readonly ticketMs: number; // from a signed hello, how long it spares the next ones their signature
  readonly peers: number; // sessions of one hub
  readonly pendingHellos: number; // connections that have not said hello
  readonly nonces: number; // of one node's HTTP requests, remembered against replay
  readonly clockSkewMs: number; // of signed HTTP requests; the hello needs no clock
  readonly blobBytes: number;
  readonly uploads: number; // unfinished ones, of all nodes
  readonly uploadsOfNode: number;
  readonly uploadBytes: number; // of all unfinished uploads
  readonly uploadKeepMs: number; // an unfinished upload that nobody continues
  readonly peerRequestsPerSecond: number; // that a node answers to other nodes
  readonly passMs: number; // how long a newcomer may copy its stage from peers
  readonly passes: number; // checked ones that a peer remembers
}

const mebibyte = 1024 * 1024;

/** What a node starts with: ceilings, lowered to the run's own numbers by the hub's answer to its hello. */
export const defaultNetLimits: NetLimits = {
  frameBytes: 256 * mebibyte,
  headerBytes: 16 * mebibyte,
  headerDepth: 12,
  segments: 16,
  outboxBytes: 256 * mebibyte,
  windowBytes: 8 * mebibyte, // 100 Mbit/s at 600 ms
  ackEveryBytes: mebibyte,
  ackEveryMessages: 16,
  helloBytes: 4096,
  helloMs: 10_000,
  heartbeatMs: 5_000,
  silentHeartbeats: 3,
  damagedLinks: 8, // a bad cable heals by resuming; a frame that no link carries would be sent for ever
  sessionKeepMs: 120_000,
  ticketMs: 7 * 24 * 3_600_000, // as long as TLS 1.3 allows; a node signs again after half of it
  peers: 16_384,
  pendingHellos: 1024, // 5,000 nodes that return and sign dial 1.2 times each, with 256 2.2 times; 1.2 s of work
  nonces: 4096,
  clockSkewMs: 120_000,
  blobBytes: 1024 * mebibyte,
  uploads: 1024,
  uploadsOfNode: 8, // a miner sends its slices a few at a time
  uploadBytes: 64 * 1024 * mebibyte,
  uploadKeepMs: 600_000,
  peerRequestsPerSecond: 200, // of 1 MiB each: more than a miner's line carries, and a fifth of a core for signatures
  passMs: 3_600_000, // a large stage over a slow line; it ends with its round, when peers hold other bytes
  passes: 256, // newcomers of one stage
};

/** What the hub of a run works with. */
export function netLimits(limits: LimitConfig): NetLimits {
  return checkNetLimits({
    ...defaultNetLimits,
    frameBytes: limits.frameBytes,
    headerBytes: limits.headerBytes,
    outboxBytes: limits.outboxBytes,
    blobBytes: limits.blobBytes,
    uploadBytes: 64 * limits.blobBytes,
    sessionKeepMs: limits.disconnectGraceMs,
  });
}

export function checkNetLimits(limits: NetLimits): NetLimits {
  assert(limits.ackEveryBytes < limits.windowBytes, "Cannot use net limits as ackEveryBytes must be below windowBytes");
  assert(limits.frameBytes <= limits.outboxBytes, "Cannot use net limits as a frame must fit the outbox");
  assert(limits.headerBytes < limits.frameBytes, "Cannot use net limits as a header must fit a frame");
  return limits;
}

/**
 * Every bound of the network layer, in one place.
 *
 * Owns: those that a run does not configure, with the reason for each number. A run's `limits` (core/config) sets the rest.
 * Invariant: `ackEveryBytes` is below `windowBytes`, or two sides could wait for each other's acknowledgement.
 */

import { assert } from "../core/assert.ts";
import type { RunConfig } from "../core/config/config.ts";
import { largestNodeHeader } from "../core/protocol/node_header.ts";

export interface NetLimits {
  readonly frameBytes: number; // one message on the wire
  readonly headerBytes: number; // its msgpack header
  readonly headerDepth: number; // nesting of the header; `welcome` needs 4
  readonly nodeHeaderBytes: number; // of a header from a node to the hub, whose messages are small
  readonly nodeHeaderValues: number; // in it, keys counted too
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
  readonly pendingHellos: number; // connections that have not proven a hello
  readonly strangers: number; // connections of any kind that have proven nothing: half-open, idle, waiting for a hello
  readonly crowdedMs: number; // a stranger's patience where there is no room for another one of its origin
  readonly strangerReads: number; // pieces in which a hello may arrive
  readonly requestHeadBytes: number; // of HTTP
  readonly requestsAtOnce: number; // begun on one HTTP connection and not answered
  readonly refusalReportMs: number; // from one warning about refused strangers to the next
  readonly failedSignaturesPerSecond: number; // checked in vain for one origin; a check takes 1.2 ms
  readonly deafCheckMs: number; // without a new connection, then the port calls itself
  readonly nonces: number; // of one node's HTTP requests, remembered against replay
  readonly clockSkewMs: number; // of signed HTTP requests; the hello needs no clock
  readonly blobBytes: number;
  readonly uploads: number; // unfinished ones, of all nodes; also how many may arrive at once
  readonly uploadsOfNode: number;
  readonly uploadBytes: number; // of all unfinished uploads
  readonly uploadBytesOfNode: number;
  readonly uploadKeepMs: number; // an unfinished upload that nobody continues
  readonly uploadSilenceMs: number; // an upload that is arriving and sends nothing
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
  nodeHeaderBytes: 256 * 1024,
  nodeHeaderValues: 16_384,
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
  strangers: 4096,
  crowdedMs: 2_500, // twice what the hellos of a full table take
  strangerReads: 64, // an honest hello arrives in one to three
  requestHeadBytes: 16 * 1024,
  requestsAtOnce: 4, // nobody here pipelines
  refusalReportMs: 60_000,
  failedSignaturesPerSecond: 100,
  deafCheckMs: 1_000, // with the dial and a retry of the newcomer within 5 s
  nonces: 4096,
  clockSkewMs: 120_000,
  blobBytes: 32 * 1024 * mebibyte, // a stage of 8 G parameters; what a node fetches has the size of its own stage
  uploads: 1024,
  uploadsOfNode: 8, // a miner sends its slices a few at a time
  uploadBytes: 64 * 1024 * mebibyte,
  uploadBytesOfNode: 4 * 1024 * mebibyte,
  uploadKeepMs: 600_000,
  uploadSilenceMs: 30_000, // as long as the sender waits for an answer
  peerRequestsPerSecond: 200, // of 1 MiB each: more than a miner's line carries, and a fifth of a core for signatures
  passMs: 3_600_000, // a large stage over a slow line; it ends with its round, when peers hold other bytes
  passes: 256, // newcomers of one stage
};

/** What the hub of a run works with. */
export function netLimits(config: RunConfig): NetLimits {
  const { limits } = config;
  const { bytes: nodeHeaderBytes, values: nodeHeaderValues } = largestNodeHeader(config);
  return checkNetLimits({
    ...defaultNetLimits,
    frameBytes: limits.frameBytes,
    headerBytes: limits.headerBytes,
    nodeHeaderBytes,
    nodeHeaderValues,
    outboxBytes: limits.outboxBytes,
    blobBytes: limits.blobBytes,
    uploadBytes: 64 * limits.blobBytes,
    uploadBytesOfNode: 4 * limits.blobBytes,
    sessionKeepMs: limits.disconnectGraceMs,
  });
}

export function checkNetLimits(limits: NetLimits): NetLimits {
  assert(limits.ackEveryBytes < limits.windowBytes, "Cannot use net limits as ackEveryBytes must be below windowBytes");
  assert(limits.frameBytes <= limits.outboxBytes, "Cannot use net limits as a frame must fit the outbox");
  assert(limits.headerBytes < limits.frameBytes, "Cannot use net limits as a header must fit a frame");
  return limits;
}

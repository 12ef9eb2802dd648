/**
 * Every bound of the network layer; a run's `limits` (core/config) sets some of them.
 *
 * `ackEveryBytes` is below `windowBytes`, or two sides could wait for each other's acknowledgement.
 */

import { assert } from "../core/assert.ts";
import type { RunConfig } from "../core/config/config.ts";
import { largestNodeHeader } from "./node_header.ts";

export interface NetLimits {
  readonly frameBytes: number; // one message on the wire
  readonly headerBytes: number;
  readonly headerDepth: number; // nesting of the header; `welcome` needs 4
  readonly nodeHeaderBytes: number; // from a node to the orchestrator; nodes' messages are small
  readonly nodeHeaderValues: number; // in such a header, including keys
  readonly segments: number; // of one message
  readonly outboxBytes: number; // kept for retransmission to one peer; more ends the session

  readonly windowBytes: number; // not yet acknowledged
  readonly ackEveryBytes: number; // received before an acknowledgement is sent
  readonly ackEveryMessages: number;
  readonly helloBytes: number; // a frame before the hello is complete
  readonly helloMs: number; // from the connection to the signed hello
  readonly heartbeatMs: number; // an empty frame in each direction
  readonly silentHeartbeats: number; // then the link counts as dead
  readonly damagedLinks: number; // in a row without a message in between, then the session ends
  readonly sessionKeepMs: number; // without a link
  readonly ticketMs: number; // how long a signed hello saves later ones the signature
  readonly peers: number; // with a session
  readonly pendingHellos: number; // connections without a verified hello
  readonly strangers: number; // unauthenticated connections of any kind: half-open, idle, waiting for a hello
  readonly crowdedMs: number; // how long a stranger may stay while others of its origin wait for room
  readonly strangerReads: number; // pieces in which a hello may arrive
  readonly requestHeadBytes: number;
  readonly requestsAtOnce: number; // unanswered requests on one HTTP connection
  readonly refusalReportMs: number; // between two reports of refused connections
  readonly failedSignaturesPerSecond: number; // per origin; a check takes 1.2 ms
  readonly deafCheckMs: number; // without a new connection before the port dials itself
  readonly nonces: number; // of one node's HTTP requests, remembered against replay
  readonly clockSkewMs: number; // of signed HTTP requests; the hello does not depend on clocks
  readonly blobBytes: number;
  readonly uploads: number; // unfinished, of all nodes; also the most in progress at once
  readonly uploadsOfNode: number;
  readonly uploadBytes: number;
  readonly uploadBytesOfNode: number;
  readonly uploadKeepMs: number; // how long an idle unfinished upload is kept
  readonly uploadSilenceMs: number; // of an upload in progress
  readonly peerRequestsPerSecond: number; // that a node answers for other nodes
  readonly passMs: number; // how long a newcomer may copy its stage from peers
  readonly passes: number;
}

const mebibyte = 1024 * 1024;

/** A node's ceilings; the orchestrator's answer to its hello lowers them to the run's numbers. */
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
  damagedLinks: 8, // resuming fixes a bad cable; a frame that no link can carry would be resent forever
  sessionKeepMs: 120_000,
  ticketMs: 7 * 24 * 3_600_000, // as long as TLS 1.3 allows; a node signs again after half of it
  peers: 16_384,
  pendingHellos: 1024, // 5,000 returning nodes that sign dial 1.2 times each, with a limit of 256 2.2 times
  strangers: 4096,
  crowdedMs: 2_500, // twice what the hellos of a full table take
  strangerReads: 64, // an honest hello arrives in one to three
  requestHeadBytes: 16 * 1024,
  requestsAtOnce: 4, // no client here pipelines
  refusalReportMs: 60_000,
  failedSignaturesPerSecond: 100,
  deafCheckMs: 1_000, // including the dial and a newcomer's retry, within 5 s
  nonces: 4096,
  clockSkewMs: 120_000,
  blobBytes: 32 * 1024 * mebibyte, // a stage of 8 G parameters; a node fetches blobs of its own stage's size
  uploads: 1024,
  uploadsOfNode: 8, // a miner sends its slices a few at a time
  uploadBytes: 64 * 1024 * mebibyte,
  uploadBytesOfNode: 4 * 1024 * mebibyte,
  uploadKeepMs: 600_000,
  uploadSilenceMs: 30_000, // as long as the sender waits for an answer
  peerRequestsPerSecond: 200, // of 1 MiB each: more than a miner's connection carries, and a fifth of a core for signatures
  passMs: 3_600_000, // a large stage over a slow connection; useless after its round, when peers hold other bytes
  passes: 256, // newcomers of one stage
};

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
  assert(limits.ackEveryBytes < limits.windowBytes, "ackEveryBytes must be below windowBytes");
  assert(limits.frameBytes <= limits.outboxBytes, "a frame must fit the outbox");
  assert(limits.headerBytes < limits.frameBytes, "a header must fit a frame");
  return limits;
}

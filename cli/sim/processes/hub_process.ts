/**
 * The simulated orchestrator: the production machine, its segments and blobs counted, its own work answered after a while.
 *
 * Does what cli/hub/orchestrator_role.ts and driver.ts do: events in, effects out, a tick at the machine's deadline. Survives
 * `crash` by snapshot and replay; a replay that does not end in the state that crashed fails the run. Refuses to read a
 * deleted blob or a released segment; a blob that a fault took away is answered with the machine's event.
 */

import { assert, present, unreachable } from "../../../core/assert.ts";
import { secretKeyBytes } from "../../../core/chacha.ts";
import { fault } from "../../../core/fault.ts";
import { type BlobRef, type NodeId, stageIndex } from "../../../core/ids.ts";
import type { Attachment, OrchestratorEffect, OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import { heldSegments } from "../../../core/orchestrator/merge/rounds.ts";
import type { Restored } from "../../../core/orchestrator/merge/restoring.ts";
import { openOrchestrator, type OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { Machine } from "../../../core/protocol/machine.ts";
import type { NodeMessage, ParameterSource, Role } from "../../../core/protocol/message.ts";
import type { BlobSet } from "./blob_set.ts";
import type { Dice } from "../dice.ts";
import { digest } from "../digest.ts";
import type { EventQueue } from "../event_queue.ts";
import { HeldSegments, lostWithProcess } from "./held_segments.ts";
import { MemoryStore } from "./hub_store.ts";
import type { HubWatch } from "../checks/hub_watch.ts";
import type { Network } from "../network/network.ts";
import type { HubEnd, HubSender } from "../network/network_peer.ts";
import { isSameState } from "../same_state.ts";
import { blobsOfSource, mergedVectors, vectorsOf } from "./symbolic_stage.ts";
import { largestOf, statsOf } from "./symbolic_numbers.ts";
import { reducedSlice, symbolicVector } from "./symbolic_payload.ts";
import type { SwarmShape } from "../swarm_shape.ts";

type OwnWork = Extract<
  OrchestratorEffect,
  { type: "checkPayload" | "refereeSlice" | "refereeMerge" | "restoreStage" | "checkBlobs" | "writeCheckpoint" }
>;

interface StoredCheckpoint {
  readonly round: number;
  readonly sources: readonly ParameterSource[];
}

export type OrchestratorMachine = Machine<OrchestratorState, OrchestratorEvent, OrchestratorEffect>;

export interface HubOptions {
  readonly machine: OrchestratorMachine;
  readonly shape: SwarmShape;
  readonly queue: EventQueue;
  readonly network: Network;
  readonly blobs: BlobSet;
  readonly dice: Dice;
  readonly watch: HubWatch;
  readonly keepsJournal: boolean; // needed to crash
}

const mostTicksAtOnce = 1000; // a deadline that ticks do not clear would spin for ever

export class HubProcess implements HubEnd {
  readonly #options: HubOptions;
  #state: OrchestratorState;
  #segments = new HeldSegments();
  #store: MemoryStore | null;
  #isDown = false;
  #runs = 0; // starts of this process; results of an earlier one do not count
  #tickAtMs = Infinity;
  #ticksAtOnce = 0;
  #lastTickMs = -1;
  #checkpoint: StoredCheckpoint | null = null; // the newest, on disk
  disk: "fine" | "slow" | "full" = "fine";
  events = 0;

  constructor(options: HubOptions) {
    this.#options = options;
    const { shape, queue } = options;
    const secret = Uint8Array.from({ length: secretKeyBytes }, () => options.dice.below(256));
    this.#state = openOrchestrator({ ...shape, secret, nowMs: queue.nowMs });
    this.#store = options.keepsJournal ? new MemoryStore(this.#state) : null;
    options.network.hubUp(this);
    this.#deliver({ type: "tick" });
  }

  get state(): OrchestratorState {
    return this.#state;
  }

  get segments(): HeldSegments {
    return this.#segments;
  }

  get isDown(): boolean {
    return this.#isDown;
  }

  connected(node: NodeId, options: { role: Role; resumed: boolean }): void {
    this.#deliver({ type: "nodeConnected", node, ...options });
  }

  disconnected(node: NodeId): void {
    this.#deliver({ type: "nodeDisconnected", node });
  }

  received({ node, role }: HubSender, message: NodeMessage, segments: readonly BlobRef[]): void {
    const largest = segments.reduce((most, ref) => Math.max(most, largestOf(ref)), 0);
    const scale = { largest, rms: largest };
    this.#deliver({ type: "messageReceived", node, role, message, segments, scale });
  }

  /** The chain does not know it any more. */
  dismiss(node: NodeId): void {
    this.#deliver({ type: "nodeDismissed", node, fault: fault("notAdmitted", "its place in the subnet is gone") });
  }

  // ------------------------------------------------------------------------------------------------------ events

  #deliver(event: OrchestratorEvent): void {
    if (this.#isDown) return;
    const { machine, queue, watch } = this.#options;
    const { nowMs } = queue;
    this.events += 1;
    this.#store?.append(nowMs, event);
    watch.onEvent(event, this.#state);
    if (event.type === "messageReceived") this.#segments.hold(event.segments);
    for (const effect of machine.step(this.#state, event, nowMs)) this.#perform(effect);
    if (watch.isCheckDue()) machine.assertInvariants(this.#state);
    this.#setTimer();
    if (this.#store?.isSnapshotDue === true) this.#store.snapshot(this.#state);
  }

  #setTimer(): void {
    const { machine, queue } = this.#options;
    const deadlineMs = machine.nextDeadlineMs(this.#state);
    if (deadlineMs === null || deadlineMs >= this.#tickAtMs) return; // the tick that is set asks again
    const atMs = Math.max(queue.nowMs, deadlineMs);
    const run = this.#runs;
    this.#tickAtMs = atMs;
    queue.at(atMs, () => {
      if (run === this.#runs && this.#tickAtMs === atMs) this.#tick();
    });
  }

  #tick(): void {
    const { machine, queue } = this.#options;
    this.#tickAtMs = Infinity;
    const deadlineMs = machine.nextDeadlineMs(this.#state);
    if (deadlineMs !== null && deadlineMs <= queue.nowMs) {
      this.#ticksAtOnce = this.#lastTickMs === queue.nowMs ? this.#ticksAtOnce + 1 : 0;
      this.#lastTickMs = queue.nowMs;
      assert(this.#ticksAtOnce < mostTicksAtOnce, `A tick must clear the deadline of ${deadlineMs} ms`);
      this.#deliver({ type: "tick" });
    } else this.#setTimer();
  }

  // ----------------------------------------------------------------------------------------------------- effects

  #perform(effect: OrchestratorEffect): void {
    const { network, blobs, watch } = this.#options;
    switch (effect.type) {
      case "send": {
        const segments = effect.attachments.map((attachment) => this.#segmentOf(attachment));
        watch.onSend(effect.to, effect.message, this.#state);
        return network.sendToNode(effect.to, effect.message, segments);
      }
      case "disconnect":
        watch.onDisconnect(effect.node, effect.fault);
        return network.close(effect.node, { isFinal: effect.fault.code === "notAdmitted" });
      case "compareWires": // nobody lies here
        return this.#deliver({ ...effect, type: "wiresCompared", last: effect.last.hash, apart: 0 });
      case "release":
        return this.#segments.release(effect.refs);
      case "deleteBlobs":
        return blobs.delete(effect.hashes);
      case "sweepBlobs":
        return blobs.sweep(effect.used);
      case "checkPayload":
      case "refereeSlice":
      case "refereeMerge":
      case "restoreStage":
      case "checkBlobs":
      case "writeCheckpoint":
        return this.#work(effect);
      case "record":
        return watch.onRecord(effect.record, this.#state);
      case "finish":
        return;
      default:
        return unreachable(effect);
    }
  }

  #segmentOf(attachment: Attachment): BlobRef {
    const { shape: { config } } = this.#options;
    const tokenBytes = 4 * config.model.contextLength;
    const batchBytes = config.train.sequencesPerMicrobatch * tokenBytes;
    const heldOutBytes = config.validate.heldOutSequences * tokenBytes;
    switch (attachment.type) {
      case "blob":
        return this.#segments.read(attachment.ref);
      case "inputs":
      case "targets":
        return { hash: digest(attachment.type, attachment.microbatch), bytes: batchBytes };
      case "heldOutInputs":
      case "heldOutTargets":
        return { hash: digest(attachment.type), bytes: heldOutBytes };
      default:
        return unreachable(attachment);
    }
  }

  /** What the hub does itself, in another thread or on the disk. */
  #work(work: OwnWork): void {
    const { queue, dice } = this.#options;
    const run = this.#runs;
    const isSlow = work.type === "writeCheckpoint" && this.disk === "slow";
    queue.after(isSlow ? dice.between(60_000, 180_000) : dice.between(50, 500), () => {
      if (run === this.#runs && !this.#isDown) this.#answer(work);
    });
  }

  #answer(work: OwnWork): void {
    const { round } = work;
    const { blobs } = this.#options;
    switch (work.type) {
      case "checkPayload": {
        const { stage, node, slices, layout } = work;
        const stats = slices.every((ref) => blobs.has(ref)) ? statsOf(slices, layout) : null;
        return this.#deliver({ type: "payloadChecked", round, stage, node, stats });
      }
      case "refereeSlice":
        return this.#refereeSlice(work);
      case "refereeMerge":
        return this.#refereeMerge(work);
      case "restoreStage":
        return this.#deliver({ type: "stageRestored", round, stage: work.stage, ...this.#restored(work) });
      case "checkBlobs": {
        const { stage, phase, refs } = work;
        const lost = refs.filter((ref) => !blobs.has(ref));
        return this.#deliver({ type: "blobsChecked", round, stage, phase, lost });
      }
      case "writeCheckpoint":
        return this.#writeCheckpoint(work);
      default:
        return unreachable(work);
    }
  }

  #refereeSlice({ round, edition, stage, slice, inputs }: Extract<OwnWork, { type: "refereeSlice" }>): void {
    if (this.#lacks(inputs.map((input) => input.payload), { round, purpose: `slice ${slice} of round ${round}` })) {
      return this.#deliver({ type: "sliceUnavailable", round, stage, slice });
    }
    const result = reducedSlice(this.#options.shape, inputs);
    this.#options.blobs.put([result]);
    this.#deliver({ type: "sliceRefereed", round, edition, stage, slice, result });
  }

  #refereeMerge({ round, stage, source, slices }: Extract<OwnWork, { type: "refereeMerge" }>): void {
    const { shape, blobs } = this.#options;
    const need = { round, purpose: `the merge of stage ${stage} in round ${round}` };
    if (this.#lacks(blobsOfSource(source), need)) {
      return this.#deliver({ type: "mergeUnavailable", round, stage, lost: "start" });
    }
    if (this.#lacks(slices, need)) return this.#deliver({ type: "mergeUnavailable", round, stage, lost: "slices" });
    const merged = mergedVectors(vectorsOf(source, { shape, stage }), slices);
    const parameters = symbolicVector(shape, { hash: merged.parameters, stage });
    const momentum = merged.momentum === null ? null : symbolicVector(shape, { hash: merged.momentum, stage });
    blobs.put(momentum === null ? [parameters] : [parameters, momentum]);
    this.#deliver({ type: "mergeRefereed", round, stage, parameters, momentum });
  }

  #restored(
    { round, stage, sources }: Extract<OwnWork, { type: "restoreStage" }>,
  ): { source: ParameterSource; from: Restored } {
    const { blobs, shape } = this.#options;
    const source = present(sources[stage], "a source a stage");
    if (!this.#lacks(blobsOfSource(source), { purpose: `stage ${stage} of round ${round}` })) {
      return { source, from: "stored" };
    }
    if (this.#checkpoint?.round === round) {
      blobs.put(this.#checkpoint.sources.flatMap(blobsOfSource));
      if (blobs.missing(blobsOfSource(source)) === null) return { source, from: "checkpoint" };
    }
    const neighbours = [sources[stage - 1], sources[stage + 1]].flatMap((each, index) => {
      if (each === undefined || blobs.missing(blobsOfSource(each)) !== null) return [];
      return [vectorsOf(each, { shape, stage: stage - 1 + 2 * index }).parameters];
    });
    if (neighbours.length === 0) return { source: { type: "initial" }, from: "initial" };
    const parameters = symbolicVector(shape, { hash: digest("restored", stage, ...neighbours), stage });
    blobs.put([parameters]);
    return { source: { type: "blobs", parameters, momentum: null }, from: "neighbours" };
  }

  #writeCheckpoint({ round, sources }: Extract<OwnWork, { type: "writeCheckpoint" }>): void {
    const detail = "no space left on the device";
    if (this.disk === "full") return this.#deliver({ type: "checkpointFailed", round, detail, missing: null });
    const purpose = `the checkpoint of round ${round}`;
    const missing = sources.findIndex((source) => this.#lacks(blobsOfSource(source), { purpose }));
    if (missing !== -1) {
      const lost = { detail: "a blob is gone", missing: stageIndex(missing) };
      return this.#deliver({ type: "checkpointFailed", round, ...lost });
    }
    this.#checkpoint = { round, sources };
    this.#deliver({ type: "checkpointWritten", round, folder: `round-${round}` });
  }

  /** Whether the world took one of these away. That one is missing for another reason is a broken rule, unless the round has merged. */
  #lacks(refs: readonly BlobRef[], { round, purpose }: { round?: number; purpose: string }): boolean {
    const { blobs } = this.#options;
    const missing = blobs.missing(refs);
    if (missing === null) return false;
    const isDue = round === undefined || (this.#state.round === round && this.#state.merge !== null);
    if (isDue) assert(blobs.wasLost(missing), `Blob ${missing.hash} must be stored: the hub needs it for ${purpose}`);
    return true;
  }

  /** The newest folder is torn; what is written next is whole. */
  loseCheckpoint(): void {
    this.#checkpoint = null;
  }

  // ------------------------------------------------------------------------------------------------------- crash

  /** kill -9: memory is gone, the store is not. */
  crash(): void {
    assert(this.#store !== null && !this.#isDown, "A hub that crashes keeps a journal and is up");
    this.#isDown = true;
    this.#runs += 1;
    this.#tickAtMs = Infinity;
    this.#options.network.hubDown();
  }

  restart(): void {
    const { machine, network } = this.#options;
    const { state, events } = present(this.#store, "a hub that crashes keeps a journal").recover();
    for (const { nowMs, event } of events) machine.step(state, event, nowMs);
    assert(isSameState(state, this.#state), `A replay of ${events.length} events must end in the state that crashed`);
    const named = heldSegments(state);
    const segments = new HeldSegments();
    segments.hold(named);
    assert(segments.equals(this.#segments), "The state must name exactly the segments that are held");
    const lost = lostWithProcess(this.#options.dice, named);
    segments.release(lost);
    this.#state = state;
    this.#segments = segments;
    this.#isDown = false;
    network.hubUp(this);
    this.#deliver({ type: "restarted", lost });
    assert(heldSegments(state).length === segments.count, "The state must forget exactly the segments that are lost");
  }
}

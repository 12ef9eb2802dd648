/**
 * The simulated orchestrator: the production machine, its segments and blobs counted, its own work answered after a delay.
 *
 * Does what cli/hub/orchestrator_role.ts and driver.ts do: events in, effects out, a tick at the machine's deadline. Survives
 * `crash` by snapshot and replay; a replay that does not end in the state that crashed fails the run. Reading a deleted blob or
 * a released segment fails the run; a blob lost to a fault is answered with the machine's event.
 */

import { assert, present, unreachable } from "../../../core/assert.ts";
import { secretKeyBytes } from "../../../core/chacha.ts";
import { fault } from "../../../core/fault.ts";
import type { BlobRef, NodeId } from "../../../core/ids.ts";
import type { Attachment, OrchestratorEffect, OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import { heldSegments } from "../../../core/orchestrator/merge/rounds.ts";
import { openOrchestrator, type OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { Machine } from "../../../core/protocol/machine.ts";
import type { NodeMessage, Role } from "../../../core/protocol/message.ts";
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
import { SymbolicHubWork, type SymbolicWork } from "./symbolic_hub_work.ts";
import { largestOf } from "./symbolic_numbers.ts";
import type { SwarmShape } from "../swarm_shape.ts";

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
  readonly #ownWork: SymbolicHubWork;
  events = 0;

  constructor(options: HubOptions) {
    this.#options = options;
    const { shape, queue } = options;
    const secret = Uint8Array.from({ length: secretKeyBytes }, () => options.dice.below(256));
    this.#state = openOrchestrator({ ...shape, secret, nowMs: queue.nowMs });
    const isDue = (round: number) => this.#state.round === round && this.#state.merge !== null;
    this.#ownWork = new SymbolicHubWork({ shape, blobs: options.blobs, isDue });
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

  get ownWork(): SymbolicHubWork {
    return this.#ownWork;
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

  /** The chain no longer lists the node. */
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
      case "checkUpload":
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

  /** The hub's own work, in another thread or on the disk. */
  #work(work: SymbolicWork): void {
    const { queue, dice } = this.#options;
    const run = this.#runs;
    const isSlow = work.type === "writeCheckpoint" && this.#ownWork.disk === "slow";
    queue.after(isSlow ? dice.between(60_000, 180_000) : dice.between(50, 500), () => {
      if (run === this.#runs && !this.#isDown) this.#deliver(this.#ownWork.answer(work));
    });
  }

  // ------------------------------------------------------------------------------------------------------- crash

  /** kill -9: memory is gone, the store is not. */
  crash(): void {
    assert(this.#store !== null && !this.#isDown, "Only a running hub with a journal can crash");
    this.#isDown = true;
    this.#runs += 1;
    this.#tickAtMs = Infinity;
    this.#options.network.hubDown();
  }

  restart(): void {
    const { machine, network } = this.#options;
    const { state, events } = present(this.#store, "a crashing hub has a journal").recover();
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

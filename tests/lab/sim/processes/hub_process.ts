/**
 * The simulated orchestrator: the production runtime (cli/orchestrator/hub/hub_runtime.ts) between the simulated
 * network, clock and journal, its own work on symbolic blobs.
 *
 * Owns what a process can do that a runtime cannot: be killed and started again. A replay that does not end in the
 * state that crashed fails the run. Reading a deleted blob or a released segment fails the run; a blob lost to a fault
 * is answered with the machine's event.
 */

import { Buffer } from "node:buffer";
import { assert, present, unreachable } from "../../../../core/assert.ts";
import { secretKeyBytes } from "../../../../core/chacha.ts";
import { fault } from "../../../../core/fault.ts";
import type { BlobRef, NodeId } from "../../../../core/ids.ts";
import type { Attachment, OrchestratorEvent } from "../../../../core/orchestrator/event.ts";
import { heldSegments } from "../../../../core/orchestrator/closing.ts";
import { openOrchestrator, type OrchestratorState } from "../../../../core/orchestrator/state.ts";
import type { NodeMessage } from "../../../../core/protocol/message.ts";
import type { HubEvent } from "../../../../net/links/transport.ts";
import {
  type HubEdges,
  HubRuntime,
  type LeftBehind,
  type OrchestratorMachine,
  type OwnWork,
} from "../../../../cli/orchestrator/hub/hub_runtime.ts";
import { snapshotBytes } from "../../../../cli/orchestrator/journal/state_bytes.ts";
import type { RefereeGradient, RefereeTask } from "../../../../cli/orchestrator/hub/task_referee.ts";
import type { BlobSet } from "./blob_set.ts";
import type { Dice } from "../dice.ts";
import { digest } from "../digest.ts";
import type { EventQueue } from "../../world/event_queue.ts";
import { isSymbolic } from "./symbolic_signature.ts";
import { holdsExactly, lostWithProcess, symbolicSegments } from "./symbolic_segments.ts";
import type { MemoryJournal } from "./memory_journal.ts";
import type { HubWatch } from "../checks/hub_watch.ts";
import { watchedMachine } from "../checks/watched_machine.ts";
import type { Network } from "../network/network.ts";
import type { HubEnd } from "../network/network_peer.ts";
import { QueueTimers } from "../../world/queue_timers.ts";
import { SymbolicHubWork } from "./symbolic_hub_work.ts";
import { gradientWork, replayWork } from "../../../../core/validator/replay_work.ts";
import { noGradient } from "./symbolic_gradient.ts";
import { readOf, symbolicReplay, symbolicSum } from "./symbolic_replay.ts";
import { largestOf } from "./symbolic_numbers.ts";
import type { SwarmShape } from "../swarm_shape.ts";

const checkingMs = 5; // of a busy thread's

export interface HubOptions {
  readonly machine: OrchestratorMachine;
  readonly shape: SwarmShape;
  readonly queue: EventQueue;
  readonly network: Network;
  readonly blobs: BlobSet;
  readonly dice: Dice;
  readonly watch: HubWatch;
  readonly journal: MemoryJournal | null; // needed to crash
}

export class HubProcess implements HubEnd {
  readonly #options: HubOptions;
  readonly ownWork: SymbolicHubWork;
  #segments = symbolicSegments();
  #runtime: HubRuntime<BlobRef, BlobRef>;
  #waiting: HubEvent<NodeMessage, BlobRef>[] | null = null; // while the runtime takes nothing from the network
  #isDown = false;

  constructor(options: HubOptions) {
    const { shape, queue, blobs, dice } = options;
    this.#options = options;
    const isDue = (round: number) => this.state.round === round && this.state.merge !== null;
    this.ownWork = new SymbolicHubWork({ shape, blobs, isDue });
    const secret = Uint8Array.from({ length: secretKeyBytes }, () => dice.below(256));
    this.#runtime = this.#open(openOrchestrator({ ...shape, secret, nowMs: queue.nowMs }), null);
    this.#begin();
  }

  #open(state: OrchestratorState, recovered: LeftBehind<BlobRef> | null): HubRuntime<BlobRef, BlobRef> {
    const { machine, watch, shape: { config } } = this.#options;
    return new HubRuntime({ machine: watchedMachine(machine, watch), config, state, recovered, edges: this.#edges() });
  }

  #begin(): void {
    this.#options.network.hubUp(this);
    this.#runtime.start();
  }

  get state(): OrchestratorState {
    return this.#runtime.state;
  }

  /** Holders, summed over segments. */
  get heldCount(): number {
    return this.#segments.holders;
  }

  get isDown(): boolean {
    return this.#isDown;
  }

  take(event: HubEvent<NodeMessage, BlobRef>): void {
    if (this.#waiting === null) this.#runtime.take(event);
    else this.#waiting.push(event);
  }

  /** The chain no longer lists the node. */
  dismiss(node: NodeId): void {
    const gone = fault("notAdmitted", "its place in the subnet is gone");
    this.#runtime.enqueue({ type: "nodeDismissed", node, fault: gone });
  }

  // ------------------------------------------------------------------------------------------------------- edges

  #edges(): HubEdges<BlobRef, BlobRef> {
    const { queue, network, blobs, watch, journal } = this.#options;
    return {
      timers: new QueueTimers(queue),
      links: {
        send: (to, message, segments = []) => {
          watch.onSend(to, message, this.state);
          return network.sendToNode(to, message, segments);
        },
        close: (node, fault) => {
          watch.onDisconnect(node, fault);
          network.close(node, { isFinal: fault.code === "notAdmitted" });
        },
        pause: () => this.#waiting ??= [],
        resume: () => this.#resume(),
      },
      journal,
      segments: this.#segments,
      attach: (attachment) => this.#attach(attachment),
      scaleOf: (_, ref) => ({ largest: largestOf(ref), rms: largestOf(ref) }),
      apart: () => 0, // as between honest machines
      referee: (work, contents, done) => this.#later(() => done(this.#refereed(work, contents))),
      checkSignatures: (signed, done) => this.#later(() => done(signed.map(isSymbolic)), checkingMs),
      work: (work, done) => this.#work(work, done),
      probeUploads: (_, done) => this.#later(() => done(blobs.refusal === null ? null : "refused")),
      deleteBlobs: (hashes) => blobs.delete(hashes),
      sweepBlobs: (used) => blobs.sweep(used),
      onRecord: (record) => watch.onRecord(record, this.state),
      onLog: (entry) => watch.onLog(entry),
      onFinish: () => {},
      onEnd: () => network.hubDown(),
      onFailure: (error) => {
        throw error;
      },
    };
  }

  #resume(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    for (const event of waiting) this.take(event);
  }

  #attach(attachment: Attachment): BlobRef {
    const { shape: { config } } = this.#options;
    const tokenBytes = 4 * config.model.contextLength;
    const batchBytes = config.train.sequencesPerMicrobatch * tokenBytes;
    const heldOutBytes = config.validate.heldOutSequences * tokenBytes;
    switch (attachment.type) {
      case "blob":
        return this.#segments.get(attachment.ref);
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

  /** In another thread or on the disk; it ends with the process. */
  #work(work: OwnWork, done: (event: OrchestratorEvent) => void): void {
    const { dice } = this.#options;
    const isSlow = work.type === "writeCheckpoint" && this.ownWork.disk === "slow";
    const answer = () => done(this.ownWork.answer(work));
    this.#later(answer, isSlow ? dice.between(60_000, 180_000) : dice.between(50, 500));
  }

  #later(body: () => void, afterMs = this.#options.dice.between(50, 500)): void {
    const runtime = this.#runtime;
    this.#options.queue.after(afterMs, () => {
      if (runtime === this.#runtime && !this.#isDown) body();
    });
  }

  #refereed(work: RefereeTask | RefereeGradient, contents: readonly BlobRef[]): OrchestratorEvent {
    const { shape, blobs } = this.#options;
    const { task } = work;
    const missing = blobs.missing(readOf(work.source));
    if (work.type === "refereeGradient") {
      if (missing !== null) {
        return { type: "gradientRefereed", task, squareSum: null, detail: `no blob ${missing.hash}` };
      }
      const whole = gradientWork({ ...work, first: 0, isLast: true }, contents);
      const { squareSum } = symbolicSum(shape, { work: whole, before: noGradient });
      return { type: "gradientRefereed", task, squareSum, detail: "" };
    }
    if (missing !== null) return { type: "taskRefereed", task, found: null, detail: `no blob ${missing.hash}` };
    return { type: "taskRefereed", task, found: symbolicReplay(shape, replayWork(work, contents)), detail: "" };
  }

  // ------------------------------------------------------------------------------------------------------- crash

  /** kill -9: memory is gone, the journal is not. */
  crash(): void {
    assert(this.#options.journal !== null && !this.#isDown, "Only a running orchestrator with a journal can crash");
    this.#isDown = true;
    this.#waiting = null;
    this.#runtime.close();
    this.#options.network.hubDown();
  }

  restart(): void {
    const { state, nowMs } = present(this.#options.journal, "a crashing orchestrator has a journal").recover();
    const [replayed, crashed] = [state, this.state].map((each) => snapshotBytes({ state: each, nowMs }));
    assert(Buffer.compare(replayed!, crashed!) === 0, "A replay must end in the state that crashed");
    const named = heldSegments(state);
    assert(holdsExactly(this.#segments, named), "The state must name exactly the segments that are held");
    const lost = lostWithProcess(this.#options.dice, named);
    const saved = new Map(named.filter(({ hash }) => !lost.has(hash)).map((ref) => [ref.hash, ref]));
    this.#segments = symbolicSegments();
    this.#options.watch.onRestarted(state);
    this.#runtime = this.#open(state, { nowMs, saved: (hash) => saved.get(hash) });
    this.#isDown = false;
    this.#begin();
    assert(
      heldSegments(state).length === this.#segments.holders,
      "The state must forget exactly the segments that are lost",
    );
  }
}

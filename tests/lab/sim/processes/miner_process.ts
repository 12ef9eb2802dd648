/**
 * A simulated miner: the production machine, a symbolic stage, and how long work takes.
 */

import { assert, present, unreachable } from "../../../../core/assert.ts";
import type { BlobRef, NodeId, StageIndex } from "../../../../core/ids.ts";
import { type Fault, fault, type Parsed, parsed } from "../../../../core/fault.ts";
import type { MinerEffect, MinerEvent, MinerResult, MinerWork } from "../../../../core/miner/event.ts";
import { miner } from "../../../../core/miner/machine.ts";
import { type MinerState, openMiner } from "../../../../core/miner/state.ts";
import { NodeRuntime } from "../../../../cli/node/node_runtime.ts";
import { watchedNode } from "../checks/watched_machine.ts";
import { NodeProcess, type NodeServices } from "./node_process.ts";
import type { WatchedWork } from "../checks/node_watch.ts";
import type { UploadRefusal } from "./blob_set.ts";
import { blobsOfSource, SymbolicStage, type WorkOutcome } from "./symbolic_stage.ts";

type Done = (outcome: Parsed<MinerResult>) => void;

const gradientTaskFactor = 3; // recomputed forward, then backward of twice its cost

export class MinerProcess extends NodeProcess {
  readonly role = "miner";
  readonly state: MinerState;
  readonly stage: SymbolicStage;
  #refusal: (UploadRefusal & { readonly untilMs: number }) | null = null; // of its own uploads
  protected readonly runtime: NodeRuntime<MinerState, MinerEvent, MinerEffect, MinerResult, BlobRef, BlobRef>;

  constructor(node: NodeId, services: NodeServices, options: { previousStage: StageIndex | null }) {
    super(node, services);
    this.state = openMiner({ adapter: "simulated", previousStage: options.previousStage });
    const { shape } = services;
    const missing = (refs: readonly BlobRef[]) => services.missing(node, refs);
    this.stage = new SymbolicStage({ shape, missing, segments: this.segments, owner: node });
    this.runtime = new NodeRuntime({
      machine: watchedNode(miner, {
        watch: services.watch,
        onStep: (event, effects) => this.#mustStay(event, effects),
      }),
      state: this.state,
      edges: this.edges(({ work }, done) => this.#work(work, done)),
    });
  }

  #mustStay(event: MinerEvent, effects: readonly MinerEffect[]): void {
    if (event.type === "stopRequested" || this.state.leaving !== null) return;
    const isLeaving = effects.some((effect) => effect.type === "send" && effect.message.type === "leaving");
    assert(!isLeaving, `${this.node} must not leave unless it is told to`);
  }

  heldByState(): number {
    const { queue, log, running } = this.state;
    const refsOf = (job: MinerState["queue"][number]) => job.type !== "runTask" ? 0 : job.second === null ? 1 : 2;
    const queued = queue.reduce((sum, job) => sum + refsOf(job), 0);
    return queued + 2 * log.length + (running === null ? 0 : refsOf(running.job) + running.held.length);
  }

  #work(work: MinerWork, done: Done): void {
    if (work.type === "applyStep") this.#reportStep();
    const outcome = this.stage.perform(work);
    const onDevice = !besideDevice.has(work.type);
    const cost = { medianMs: this.#medianMs(work), bytes: bytesOf(work, outcome), onDevice };
    const payloads = work.type === "reduceSlice" ? work.inputs.map(({ payload }) => payload) : [];
    const stage = work.type === "loadStage" ? work.stage : null;
    const watched = { work: work.type, stage, round: roundOf(this.state, work), payloads };
    const isWanted = outcome.result.ok || this.services.watch.isWanted(this, watched); // when it asked for the blobs
    this.compute(
      cost,
      (computeMs) => this.#workEnded({ work, outcome, computeMs, watched: isWanted ? watched : null, done }),
    );
  }

  #workEnded(options: {
    work: MinerWork;
    outcome: WorkOutcome;
    computeMs: number;
    watched: WatchedWork | null; // null: the work is no longer wanted
    done: Done;
  }): void {
    const { work, outcome, computeMs, watched, done } = options;
    const { watch, blobs } = this.services;
    if (!outcome.result.ok) {
      const { fault } = outcome.result;
      const isFate = outcome.missing !== undefined && blobs.wasLost(outcome.missing);
      if (!isFate && watched !== null) watch.workFailed(this, { ...watched, fault });
      return done({ ok: false, fault });
    }
    const refused = this.#refused(outcome.puts);
    if (refused !== null) return done({ ok: false, fault: refused });
    blobs.put(outcome.puts);
    const result = outcome.result.value;
    if (result.type !== "runTask") {
      if (result.type === "applyMerge" && work.type === "applyMerge" && this.state.running?.isObsolete === false) {
        const stage = present(this.state.stage, "a merging miner has a stage");
        const momentum = result.momentum?.hash ?? null;
        watch.merged(this, { stage, round: work.round, parameters: result.parameters.hash, momentum });
      }
      return done(parsed(result));
    }
    watch.taskComputed();
    if (result.output !== null) this.segments.hold(result.output);
    done(parsed({ ...result, computeMs }));
  }

  refuseUploadsFor(forMs: number, refusal: UploadRefusal): void {
    this.#refusal = { ...refusal, untilMs: this.services.queue.nowMs + forMs };
  }

  override recover(): void {
    super.recover();
    this.#refusal = null;
  }

  /** Null: what it puts is stored. */
  #refused(puts: readonly BlobRef[]): Fault | null {
    const { blobs, queue } = this.services;
    const own = (this.#refusal?.untilMs ?? 0) > queue.nowMs ? this.#refusal : null;
    const refusal = own ?? blobs.refusal;
    const [first] = puts;
    if (refusal === null || first === undefined) return null;
    const { status, clockMs } = refusal;
    return { ...fault("uploadFailed", `answered ${status}`), upload: { status, clockMs, bytes: first.bytes } };
  }

  /** The accumulated gradient must be over exactly the log, which must be what the step header counts. */
  #reportStep(): void {
    const { running, log } = this.state;
    const job = present(running, "work is under way").job;
    assert(job.type === "applyStep", "a step header is applied");
    assert(
      job.tasks === log.length && this.stage.accumulated === log.length &&
        this.stage.gradient === this.stage.gradientOf(log),
      `${this.node} must accumulate exactly the ${job.tasks} tasks that count: current value is ${this.stage.accumulated}`,
    );
    this.services.watch.stepApplied(this, { step: job.step, tasks: log.map((entry) => entry.task) });
  }

  #medianMs(work: MinerWork): number {
    const { shape } = this.services;
    const forwardMs = shape.forwardMs * (shape.equal?.stagePaces[this.state.stage ?? 0] ?? 1);
    switch (work.type) {
      case "runTask":
        return work.direction === "forward" ? forwardMs : gradientTaskFactor * forwardMs;
      case "sealGradients":
        return 0.1 * forwardMs + (work.replay?.length ?? 0) * gradientTaskFactor * forwardMs;
      case "loadStage":
        return forwardMs;
      case "applyStep":
      case "formPayload":
      case "applyMerge":
        return 0.2 * forwardMs;
      case "zeroGradients":
      case "copyState":
      case "uploadState":
      case "reduceSlice":
      case "uploadParameters":
        return 0.02 * forwardMs;
      default:
        return unreachable(work);
    }
  }
}

const besideDevice: ReadonlySet<MinerWork["type"]> = new Set(["reduceSlice", "uploadParameters", "uploadState"]);

/** Bytes between the miner and the store. */
function bytesOf(work: MinerWork, outcome: WorkOutcome): number {
  let bytes = 0;
  for (const ref of outcome.puts) bytes += ref.bytes;
  if (work.type === "reduceSlice") { for (const { payload } of work.inputs) bytes += payload.bytes; }
  if (work.type === "applyMerge") { for (const ref of work.slices) bytes += ref.bytes; }
  if (work.type === "loadStage") { for (const ref of blobsOfSource(work.source)) bytes += ref.bytes; }
  return bytes;
}

function roundOf(state: MinerState, work: MinerWork): number | null {
  if (work.type === "loadStage") return work.round;
  return work.type === "applyMerge" ? work.round - 1 : work.type === "reduceSlice" ? state.round : null;
}

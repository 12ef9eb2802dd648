/**
 * A simulated validator: the production machine, and audits by comparing digests.
 */

import { assert } from "../../../../core/assert.ts";
import { fault, type Parsed, parsed } from "../../../../core/fault.ts";
import type { BlobRef, NodeId } from "../../../../core/ids.ts";
import type {
  ValidatorEffect,
  ValidatorEvent,
  ValidatorResult,
  ValidatorWork,
} from "../../../../core/validator/event.ts";
import { openValidator, validator, type ValidatorState } from "../../../../core/validator/machine.ts";
import { NodeRuntime } from "../../../../cli/node/node_runtime.ts";
import { watchedNode } from "../checks/watched_machine.ts";
import { NodeProcess, type NodeServices } from "./node_process.ts";
import type { GradientWork, ReplayWork } from "../../../../core/validator/replay_work.ts";
import { noGradient } from "./symbolic_gradient.ts";
import { readOf, symbolicReplay, symbolicSum } from "./symbolic_replay.ts";
import { firstStepOf, type SwarmShape } from "../swarm_shape.ts";

export class ValidatorProcess extends NodeProcess {
  readonly role = "validator";
  #sum = noGradient;
  readonly state: ValidatorState = openValidator({ adapter: "simulated" });
  protected readonly runtime: NodeRuntime<
    ValidatorState,
    ValidatorEvent,
    ValidatorEffect,
    ValidatorResult,
    BlobRef,
    BlobRef
  >;

  constructor(node: NodeId, services: NodeServices) {
    super(node, services);
    this.runtime = new NodeRuntime({
      machine: watchedNode(validator, { watch: services.watch }),
      state: this.state,
      edges: this.edges(({ work }, done) => this.#work(work, done)),
    });
  }

  heldByState(): number {
    const { queue, running } = this.state;
    return queue.reduce((sum, entry) => sum + entry.segments.length, running?.segments.length ?? 0);
  }

  #work(work: ValidatorWork, done: (outcome: Parsed<ValidatorResult>) => void): void {
    const { shape, blobs, watch } = this.services;
    const sources = work.type === "evaluate" ? work.sources : [work.source];
    const refs = sources.flatMap(readOf);
    const missing = this.services.missing(this.node, refs);
    const result: Parsed<ValidatorResult> = missing !== null
      ? { ok: false, fault: fault("badBlob", `no blob ${missing.hash}`) }
      : parsed(this.#done(work));
    const bytes = refs.reduce((sum, ref) => sum + ref.bytes, 0);
    const forwards = work.type === "evaluate"
      ? shape.stages.length
      : work.type === "replay"
      ? 3
      : 3 * work.tasks.length;
    const medianMs = shape.forwardMs * forwards;
    this.compute({ medianMs, bytes, onDevice: true }, () => {
      if (result.ok) return done(result);
      const isFate = missing !== null && blobs.wasLost(missing);
      if (!isFate) {
        watch.workFailed(this, { work: work.type, stage: null, round: null, payloads: [], fault: result.fault });
      }
      done(result);
    });
  }

  #done(work: ValidatorWork): ValidatorResult {
    if (work.type === "evaluate") return evaluate(this.services.shape, work);
    return work.type === "replay" ? this.#replay(work) : this.#addUp(work);
  }

  #addUp(work: GradientWork): ValidatorResult {
    assert(work.first === 0 || work.first === this.#sum.tasks, "The parts of a gradient come one after another");
    for (const task of work.tasks) for (const ref of [task.input, task.second]) this.segments.get(ref);
    const { gradient, squareSum } = symbolicSum(this.services.shape, { work, before: this.#sum });
    this.#sum = gradient;
    return { type: "gradient", squareSum: work.isLast ? squareSum : null };
  }

  #replay(work: ReplayWork): ValidatorResult {
    const { shape } = this.services;
    for (const ref of [work.input, work.second, work.claimed]) if (ref !== null) this.segments.get(ref);
    return { type: "replay", ...symbolicReplay(shape, work) };
  }
}

/** A payload's end gains nothing, so nobody's pay depends on a digest. */
function evaluate(shape: SwarmShape, { round }: Extract<ValidatorWork, { type: "evaluate" }>): ValidatorResult {
  const { model, validate } = shape.config;
  const loss = 2 + 6 / (1 + firstStepOf(round, shape) / 20);
  return { type: "evaluate", loss, tokens: validate.heldOutSequences * model.contextLength };
}

/** What the orchestrator computes itself. Work waits while the disk is full. */

import type { StageIndex } from "../../../core/ids.ts";
import type { OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { Segment } from "../../../net/messages/frame.ts";
import { plainChecker, type SignatureChecker } from "../../roles/signatures/signature_check.ts";
import { ThreadLost } from "./arithmetic/arithmetic_thread.ts";
import { plainArithmetic, type VectorArithmetic } from "./arithmetic/vector_calls.ts";
import { StageUnavailable } from "./checkpoint_writer.ts";
import type { HubEdges, OwnWork } from "./hub_runtime.ts";
import { type HubWork, performHubWork } from "./hub_work.ts";
import { needOfCheckpoint, needOfWork, type RunPause } from "./run_pause.ts";
import type { OrchestratorRoleOptions } from "./running_orchestrator.ts";
import { TaskReferee } from "./task_referee.ts";

interface ComputingParts {
  readonly state: () => OrchestratorState;
  readonly pause: RunPause;
  readonly onFailure: (error: unknown) => void;
}

type ComputingEdges = Pick<
  HubEdges<Uint8Array, Segment>,
  "referee" | "checkSignatures" | "work" | "probeUploads" | "deleteBlobs" | "sweepBlobs"
>;

export class OwnComputing {
  readonly edges: ComputingEdges;
  readonly #options: OrchestratorRoleOptions;
  readonly #parts: ComputingParts;
  readonly #referee: TaskReferee;
  readonly #checker: SignatureChecker;
  readonly #own: VectorArithmetic;
  #arithmetic: VectorArithmetic;

  constructor(options: OrchestratorRoleOptions, parts: ComputingParts) {
    this.#options = options;
    this.#parts = parts;
    this.#referee = new TaskReferee(options);
    this.#checker = options.checker ?? plainChecker(options.runId, options.verify);
    this.#own = plainArithmetic(options);
    this.#arithmetic = options.arithmetic ?? this.#own;
    const { blobs, probeUpload = () => Promise.resolve(null) } = options;
    this.edges = {
      referee: (work, contents, done) => this.#run(async () => done(await this.#referee.repeat(work, contents))),
      checkSignatures: (signed, done) => this.#run(async () => done(await this.#checker.check(signed))),
      work: (work, done) => this.#perform(work, done),
      probeUploads: (bytes, done) => this.#run(async () => done(await probeUpload(bytes))),
      deleteBlobs: (hashes) => {
        for (const hash of hashes) this.#run(() => blobs.delete(hash));
      },
      sweepBlobs: (used) => this.#run(() => blobs.sweep(used)),
    };
  }

  close(): void {
    this.#referee.close();
    this.#checker.close();
    this.#arithmetic.close();
  }

  #run(body: () => Promise<void>): void {
    body().catch(this.#parts.onFailure);
  }

  #perform(work: OwnWork, done: (event: OrchestratorEvent) => void): void {
    if (work.type === "writeCheckpoint") return this.#writeCheckpoint(work, done);
    const need = needOfWork(work, this.#parts.state().stageFloats);
    this.#run(async () => done(await this.#parts.pause.work(need, () => this.#computed(work))));
  }

  /** On this thread if an arithmetic thread is lost. */
  async #computed(work: HubWork): Promise<OrchestratorEvent> {
    const place = { ...this.#options, checker: this.#checker };
    try {
      return await performHubWork(work, { ...place, arithmetic: this.#arithmetic });
    } catch (error) {
      if (!(error instanceof ThreadLost)) throw error;
      if (error.isForGood) this.#arithmetic = this.#own;
      return await performHubWork(work, { ...place, arithmetic: this.#own });
    }
  }

  #writeCheckpoint(
    effect: Extract<OwnWork, { type: "writeCheckpoint" }>,
    done: (event: OrchestratorEvent) => void,
  ): void {
    const { round } = effect;
    const need = needOfCheckpoint(round, this.#parts.state().stageFloats);
    this.#parts.pause.work(need, () => this.#options.storeRound(effect)).then(
      (folder) => done({ type: "checkpointWritten", round, folder }),
      (error) => done({ type: "checkpointFailed", round, detail: textOf(error), missing: missingStage(error) }),
    );
  }
}

function missingStage(error: unknown): StageIndex | null {
  return error instanceof StageUnavailable ? error.stage : null;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

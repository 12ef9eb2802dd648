/**
 * The simulated orchestrator's own work: payloads and uploads looked at, slices and merges made again, stages brought
 * back, checkpoints.
 *
 * The twin of cli/orchestrator/hub/hub_work.ts on symbolic tensors. A blob lost to a fault is answered with the
 * machine's event; one that is missing for another reason fails the run. When an answer arrives is up to
 * hub_process.ts.
 */

import { assert, present, unreachable } from "../../../../core/assert.ts";
import { type BlobRef, stageIndex } from "../../../../core/ids.ts";
import type { OrchestratorEvent } from "../../../../core/orchestrator/event.ts";
import type { ParameterSource } from "../../../../core/protocol/message.ts";
import type { OwnWork } from "../../../../cli/orchestrator/hub/hub_runtime.ts";
import type { BroughtBack } from "../../../../cli/orchestrator/hub/restore_stage.ts";
import { digest } from "../digest.ts";
import type { SwarmShape } from "../swarm_shape.ts";
import type { BlobSet } from "./blob_set.ts";
import { isSymbolic, symbolicPayloadHash } from "./symbolic_signature.ts";
import { isFinite, statsOf } from "./symbolic_numbers.ts";
import { reducedSlice, symbolicVector } from "./symbolic_payload.ts";
import { blobsOfSource, mergedVectors, vectorsOf } from "./symbolic_stage.ts";

interface StoredCheckpoint {
  readonly round: number;
  readonly step: number;
  readonly sources: readonly ParameterSource[];
}

const keptCheckpoints = 3; // as iota orchestrate keeps

interface SymbolicWorkplace {
  readonly shape: SwarmShape;
  readonly blobs: BlobSet;
  readonly isDue: (round: number) => boolean; // whether that round is merging now
}

export class SymbolicHubWork {
  readonly #options: SymbolicWorkplace;
  #checkpoints: readonly StoredCheckpoint[] = []; // on disk, the newest first
  disk: "fine" | "slow" | "full" = "fine";

  constructor(options: SymbolicWorkplace) {
    this.#options = options;
  }

  answer(work: OwnWork): OrchestratorEvent {
    const { round } = work;
    const { blobs } = this.#options;
    switch (work.type) {
      case "checkPayload": {
        const { stage, node, slices, layout, signed } = work;
        const stats = slices.every((ref) => blobs.has(ref)) ? statsOf(slices, layout) : null;
        const { statement } = signed;
        const isOfThis = statement.type === "round" && statement.payload === symbolicPayloadHash(slices);
        const isSigned = isOfThis && isSymbolic(signed);
        return { type: "payloadChecked", round, stage, node, stats, shape: null, isSigned };
      }
      case "checkState": {
        const { step, node, change } = work;
        const way = blobs.has(change) ? statsOf([change], []) : null;
        return { type: "stateChecked", round, step, node, way, sketch: null };
      }
      case "layEnd": {
        const { stage, node, source, slices } = work;
        if (blobs.missing([...blobsOfSource(source), ...slices]) !== null) {
          return { type: "endLaid", round, stage, node, parameters: null };
        }
        const hash = digest("end", round, stage, node, ...slices.map((slice) => slice.hash));
        const parameters = symbolicVector(this.#options.shape, { hash, stage });
        blobs.put([parameters]);
        return { type: "endLaid", round, stage, node, parameters };
      }
      case "checkUpload": {
        const { stage, node, vectors } = work;
        const areFinite = vectors.every((ref) => blobs.has(ref)) ? vectors.every(isFinite) : null;
        return { type: "uploadChecked", round, stage, node, isFinite: areFinite };
      }
      case "refereeSlice":
        return this.#refereeSlice(work);
      case "refereeMerge":
        return this.#refereeMerge(work);
      case "restoreStage":
        return { round, stage: work.stage, ...this.#restored(work) };
      case "checkBlobs": {
        const { stage, phase, refs } = work;
        const lost = refs.filter((ref) => !blobs.has(ref));
        return { type: "blobsChecked", round, stage, phase, lost };
      }
      case "writeCheckpoint":
        return this.#writeCheckpoint(work);
      default:
        return unreachable(work);
    }
  }

  #refereeSlice(
    { round, edition, stage, slice, inputs }: Extract<OwnWork, { type: "refereeSlice" }>,
  ): OrchestratorEvent {
    if (this.#lacks(inputs.map((input) => input.payload), { round, purpose: `slice ${slice} of round ${round}` })) {
      return { type: "sliceUnavailable", round, stage, slice };
    }
    const result = reducedSlice(this.#options.shape, inputs);
    this.#options.blobs.put([result]);
    return { type: "sliceRefereed", round, edition, stage, slice, result };
  }

  #refereeMerge({ round, stage, source, slices }: Extract<OwnWork, { type: "refereeMerge" }>): OrchestratorEvent {
    const { shape, blobs } = this.#options;
    const need = { round, purpose: `the merge of stage ${stage} in round ${round}` };
    if (this.#lacks(blobsOfSource(source), need)) {
      return { type: "mergeUnavailable", round, stage, lost: "start" };
    }
    if (this.#lacks(slices, need)) return { type: "mergeUnavailable", round, stage, lost: "slices" };
    const merged = mergedVectors(vectorsOf(source, { shape, stage }), slices);
    const parameters = symbolicVector(shape, { hash: merged.parameters, stage });
    const momentum = merged.momentum === null ? null : symbolicVector(shape, { hash: merged.momentum, stage });
    blobs.put(momentum === null ? [parameters] : [parameters, momentum]);
    return { type: "mergeRefereed", round, stage, slices, parameters, momentum };
  }

  #restored(
    { round, stage, sources }: Extract<OwnWork, { type: "restoreStage" }>,
  ): BroughtBack {
    const { blobs, shape } = this.#options;
    const source = present(sources[stage], "every stage has a source");
    if (!this.#lacks(blobsOfSource(source), { purpose: `stage ${stage} of round ${round}` })) {
      return { type: "stageRestored", source, from: "stored" };
    }
    const checkpoint = this.#checkpoints.find((each) => each.round <= round);
    if (checkpoint !== undefined) {
      blobs.put(checkpoint.sources.flatMap(blobsOfSource));
      const isThere = checkpoint.round === round && blobs.missing(blobsOfSource(source)) === null;
      if (isThere) return { type: "stageRestored", source, from: "checkpoint" };
      const { step, sources: stages } = checkpoint;
      return { type: "earlierRoundFound", earlier: { step, sources: { round: checkpoint.round, stages } } };
    }
    const neighbours = [sources[stage - 1], sources[stage + 1]].flatMap((each, index) => {
      if (each === undefined || blobs.missing(blobsOfSource(each)) !== null) return [];
      return [vectorsOf(each, { shape, stage: stage - 1 + 2 * index }).parameters];
    });
    if (neighbours.length === 0) return { type: "stageRestored", source: { type: "initial" }, from: "initial" };
    const parameters = symbolicVector(shape, { hash: digest("restored", stage, ...neighbours), stage });
    blobs.put([parameters]);
    return { type: "stageRestored", source: { type: "blobs", parameters, momentum: null }, from: "neighbours" };
  }

  #writeCheckpoint({ round, step, sources }: Extract<OwnWork, { type: "writeCheckpoint" }>): OrchestratorEvent {
    const detail = "no space left on the device";
    if (this.disk === "full") return { type: "checkpointFailed", round, detail, missing: null };
    const purpose = `the checkpoint of round ${round}`;
    const missing = sources.findIndex((source) => this.#lacks(blobsOfSource(source), { purpose }));
    if (missing !== -1) {
      const lost = { detail: "a blob is gone", missing: stageIndex(missing) };
      return { type: "checkpointFailed", round, ...lost };
    }
    this.#checkpoints = [{ round, step, sources }, ...this.#checkpoints].slice(0, keptCheckpoints);
    return { type: "checkpointWritten", round, folder: `round-${round}` };
  }

  /**
   * Whether a fault took one of these blobs. One missing for another reason is a broken rule, unless the round has
   * merged.
   */
  #lacks(refs: readonly BlobRef[], { round, purpose }: { round?: number; purpose: string }): boolean {
    const { blobs } = this.#options;
    const missing = blobs.missing(refs);
    if (missing === null) return false;
    if (round === undefined || this.#options.isDue(round)) {
      assert(blobs.wasLost(missing), `Blob ${missing.hash} must be stored: the orchestrator needs it for ${purpose}`);
    }
    return true;
  }

  /** The newest checkpoint folder is torn; the next one written will be intact. */
  loseCheckpoint(): void {
    this.#checkpoints = this.#checkpoints.slice(1);
  }
}

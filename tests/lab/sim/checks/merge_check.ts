/**
 * Merges: rounds follow each other, no slice is accepted from a single node, and all honest replicas of a stage begin a
 * round with the same parameters and outer momentum.
 *
 * Votes are counted from the events the orchestrator was given, hashes from the miners' own symbolic state.
 */

import { present } from "../../../../core/assert.ts";
import type { BlobHash, NodeId, StageIndex } from "../../../../core/ids.ts";
import type { OrchestratorEvent } from "../../../../core/orchestrator/event.ts";
import type { PayloadStats } from "../../../../core/update/payload_stats.ts";
import type { MergedStage } from "../../../../core/orchestrator/merge/merge_state.ts";
import type { OrchestratorState } from "../../../../core/orchestrator/state.ts";
import type { HubMessage } from "../../../../core/protocol/message.ts";
import type { ApplyMerge } from "../../../../core/protocol/merge_messages.ts";
import type { RunRecord } from "../../../../core/protocol/record.ts";
import { must } from "./violation.ts";

/** A miner's own result of a merge. */
export interface OwnMerge {
  readonly stage: StageIndex;
  readonly parameters: BlobHash;
  readonly momentum: BlobHash | null;
}

const roundsRemembered = 8;
const mostHonest = 1; // far above any value that an honest symbolic payload holds

/** The store's statistics of a payload, judged independently of the orchestrator. */
const isMergeable = (stats: PayloadStats | null): boolean =>
  stats !== null && stats.isFinite && stats.largest <= mostHonest;

export class MergeCheck {
  #round = 0;
  readonly #agreed = new Map<number, readonly MergedStage[]>(); // by round that begins, one a stage
  readonly #early = new Map<number, { node: NodeId; own: OwnMerge }[]>(); // merged before all stages had agreed
  #reduced = new Set<BlobHash>(); // by the orchestrator, of the merge under way
  #payloads = new Map<StageIndex, Set<NodeId>>(); // of the layout that was asked for
  #asked = new Map<StageIndex, string>(); // the slices of the last applyMerge
  #remade = new Set<StageIndex>(); // stages that lost from the store what some have already applied
  readonly #uncertain = new Map<number, ReadonlySet<StageIndex>>(); // the same of rounds that have begun

  onEvent(event: OrchestratorEvent, state: OrchestratorState): void {
    if (state.merge === null) return;
    const isRestored = event.type === "stageRestored" && (event.from === "neighbours" || event.from === "initial");
    const isUnchecked = event.type === "mergeUnavailable" && event.lost === "slices"; // a single result may have to suffice
    if (isRestored || isUnchecked) this.#remade.add(event.stage);
    if (event.type === "sliceRefereed" && event.result !== null) this.#reduced.add(event.result.hash);
    if (event.type === "payloadChecked" && event.round === state.round) this.#onPayload(event);
  }

  /** What a node only claims to have committed does not count. */
  #onPayload({ stage, node, stats }: Extract<OrchestratorEvent, { type: "payloadChecked" }>): void {
    const known = this.#payloads.get(stage) ?? new Set();
    this.#payloads.set(stage, known);
    if (isMergeable(stats)) known.add(node);
    else known.delete(node);
  }

  onSend(to: NodeId, message: HubMessage, state: OrchestratorState): void {
    if (message.type !== "applyMerge" || message.round !== state.round) return; // an older one is for a newcomer that catches up
    this.#onApplyMerge(to, message, state);
  }

  /** Books the accepted slices, which this message names. */
  #onApplyMerge(to: NodeId, message: ApplyMerge, state: OrchestratorState): void {
    const stage = state.members.get(to)?.stage ?? null;
    if (stage === null) return;
    const slices = message.slices.map(({ hash }) => hash).join();
    const before = this.#asked.get(stage);
    this.#asked.set(stage, slices);
    if (before === slices) return;
    if (before !== undefined) this.#remade.add(stage);
    const committed = this.#payloads.get(stage) ?? new Set();
    if ([...committed].filter((node) => !state.expelled.has(node)).length <= 1) return; // one needs no reduction
    for (const { hash } of message.slices) {
      must(
        this.#reduced.has(hash),
        "no slice is merged that the orchestrator has not reduced itself",
        () => `stage ${stage} of round ${message.round} accepts ${hash}`,
      );
    }
  }

  roundMerged({ round }: Extract<RunRecord, { type: "roundMerged" }>, state: OrchestratorState): void {
    must(round === this.#round + 1, "rounds follow each other", () => `${round} after ${this.#round}`);
    this.#round = round;
    const { stages } = present(state.upload, "what was merged is uploaded next");
    for (const { stage, slices } of stages) {
      must(
        slices.length > 0 || this.#remade.has(stage), // whose parameters were lost, so that there was nothing to add them to
        "a closed round has a payload of every stage, or the run is behind it",
        () => `stage ${stage} has none in the round before ${round}`,
      );
    }
    this.#agreed.set(round, stages.map((stage) => stage.merged));
    this.#uncertain.set(round, this.#remade);
    for (const past of [this.#agreed, this.#uncertain]) past.delete(round - roundsRemembered);
    for (const { node, own } of this.#early.get(round) ?? []) this.#compare(node, { ...own, round });
    this.#forgetMerge(round);
  }

  /** The next round begins with the parameters of the open one, or of an earlier checkpoint. */
  roundRetaken({ round, because }: Extract<RunRecord, { type: "mergeRetaken" }>, state: OrchestratorState): void {
    must(
      round === this.#round + 1,
      "a round that was rolled back has the next number",
      () => `${round} after ${this.#round}`,
    );
    const agreed = because === "parametersLost"
      ? state.upload?.stages.map((stage) => stage.merged)
      : this.#agreed.get(this.#round);
    if (agreed !== undefined) this.#agreed.set(round, agreed);
    const known = this.#uncertain.get(this.#round) ?? new Set();
    this.#uncertain.set(round, new Set([...known, ...this.#asked.keys()])); // stragglers apply the dropped merge, then load
    this.#round = round;
    this.#forgetMerge(round);
  }

  #forgetMerge(round: number): void {
    this.#early.delete(round);
    this.#reduced = new Set();
    this.#payloads = new Map();
    this.#asked = new Map();
    this.#remade = new Set();
  }

  /** What an honest miner has in its own memory. */
  merged(node: NodeId, own: OwnMerge & { readonly round: number }): void {
    const { round } = own;
    if (this.#agreed.has(round)) return this.#compare(node, own);
    const early = this.#early.get(round);
    if (early !== undefined) early.push({ node, own });
    else if (round === this.#round + 1) this.#early.set(round, [{ node, own }]);
  }

  #compare(node: NodeId, { round, stage, parameters, momentum }: OwnMerge & { readonly round: number }): void {
    if (this.#uncertain.get(round)?.has(stage)) return; // a straggler may have applied what was lost
    const agreed = this.#agreed.get(round)?.[stage];
    must(
      agreed?.parameters.hash === parameters,
      "honest replicas have one parameter hash",
      () => `${node} begins round ${round} of stage ${stage} with ${parameters}, agreed is ${agreed?.parameters.hash}`,
    );
    const agreedMomentum = agreed?.momentum?.hash ?? null;
    must(
      agreedMomentum === momentum,
      "honest replicas have one outer momentum",
      () => `${node} begins round ${round} of stage ${stage} with ${momentum}, agreed is ${agreedMomentum}`,
    );
  }
}

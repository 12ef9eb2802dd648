/**
 * One run in a world, to its end, and what is measured of it: for experiments and attackers.
 *
 * Out of scope: the world itself (world.ts), faults of links and processes, checkpoints on disk. Held-out text is evaluated when the
 * run is over.
 */

import { assert, present } from "../../../core/assert.ts";
import type { WireDirection } from "../../../core/codec/codec.ts";
import { wireBytes } from "../../../core/codec/wire.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import type { NodeId } from "../../../core/ids.ts";
import { parameterTable } from "../../../core/model/spec.ts";
import { wiresOfDirection } from "../../../core/model/stage_wires.ts";
import { forwardUnits } from "../../../core/model/task_flops.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import type { ComputeHost } from "../../../cli/device/compute_host.ts";
import type { MinerRoleOptions } from "../../../cli/node/miner_role.ts";
import type { ValidatorRoleOptions } from "../../../cli/node/validator_role.ts";
import type { LinkShape } from "../../../cli/swarm/chaos/link_shape.ts";
import type { BatchSource } from "../../../cli/model/data/dataset.ts";
import { passTimes } from "./devices.ts";
import { FlopCount } from "./flop_count.ts";
import { heldOutLoss } from "./held_out_loss.ts";
import { worldSigner } from "./keys.ts";
import { World, type WorldScores } from "./world.ts";

export interface LabOptions {
  readonly config: RunConfig;
  readonly batches: BatchSource;
  readonly device: ComputeHost; // shared by all members
  readonly links?: LinkShape; // of every miner. @default no delay, and as fast as memory
  readonly slowness?: number; // times that every pass takes as long, as of a larger model. @default 1
  readonly onRecord: (record: RunRecord, state: OrchestratorState) => void;
  readonly onScores?: (scores: WorldScores) => void; // when the run is over
  /** What a member has of its own. @default an honest one's */
  readonly patch?: (place: Place, world: World) => Own;
  readonly signal: AbortSignal;
}

/** Of a miner: it gets stage `index % stages`, replica by replica. */
export interface Place {
  readonly role: "miner" | "validator";
  readonly index: number;
}

/** Instead of an honest member's. */
export interface Own {
  readonly device?: ComputeHost;
  readonly miner?: NonNullable<MinerRoleOptions["machine"]>;
  readonly validator?: NonNullable<ValidatorRoleOptions["machine"]>;
}

export interface LabResult {
  readonly loss: number; // of held-out text at the end, nats per token
  readonly bytesForward: number; // per token and boundary
  readonly bytesBackward: number;
  readonly mergeBytesPerParameter: number; // uploaded by a miner in a round, on average; 0: nothing was merged
  readonly tokens: number;
  readonly tokensPerSecond: number; // of virtual time, from the first step's end to the run's
  readonly validatorShare: number | null; // of validators' FLOPs, as a share of miners': flop_count.ts
}

const forwardMs = 25; // a step of `tiny` then takes 500 ms, where six miners on two cores need 430
const mostMs = 1e12;

export async function runLab(options: LabOptions): Promise<LabResult> {
  const { config, batches, device, links, slowness = 1, onRecord, onScores = () => {}, signal } = options;
  signal.throwIfAborted(); // a listener hears nothing of what was before
  const ends: StepEnd[] = [];
  const world: World = new World({
    ...{ config, batches, device, passMs: passTimes(slowness * forwardMs) },
    ...(links === undefined ? {} : { links }),
    watch(record) {
      if (record.type === "stepClosed") ends.push({ atMs: world.clock.nowMs, tokens: record.tokens });
      onRecord(record, world.orchestrator.state);
    },
  });
  const flops = new FlopCount(forwardUnits(world.stages));
  const stop = () => world.orchestrator.stop("interrupted");
  signal.addEventListener("abort", stop);
  try {
    for (const place of placesOf(config)) await addMember(options, { world, flops, place });
    const { finished } = await world.runThrough(mostMs);
    signal.throwIfAborted();
    assert(finished, "a lab's run ends by itself");
    world.scores.forEach(onScores);
    const loss = await heldOutLoss(world, device);
    const { validatorShare } = flops;
    return { loss, ...sizes(world), tokensPerSecond: rateOf(ends, world.clock.nowMs), validatorShare };
  } finally {
    signal.removeEventListener("abort", stop);
    world.close();
  }
}

const minersOf = ({ pipeline, swarm }: RunConfig): number => pipeline.stages * swarm.replicas;

/** In the order in which members start. */
export const placesOf = (config: RunConfig): Place[] => [
  ...Array.from({ length: minersOf(config) }, (_, index) => ({ role: "miner" as const, index })),
  ...Array.from({ length: config.swarm.validators }, (_, index) => ({ role: "validator" as const, index })),
];

export const addressOf = ({ role, index }: Place, config: RunConfig): NodeId =>
  worldSigner(1 + index + (role === "miner" ? 0 : minersOf(config))).address;

async function addMember(
  { patch }: LabOptions,
  { world, flops, place }: { world: World; flops: FlopCount; place: Place },
): Promise<void> {
  const { device = world.device(), miner, validator } = patch?.(place, world) ?? {};
  const counted = flops.of(place.role, device);
  if (place.role === "miner") {
    await world.addMiner({ device: counted, ...(miner === undefined ? {} : { machine: miner }) });
  } else world.addValidator({ device: counted, ...(validator === undefined ? {} : { machine: validator }) });
}

interface StepEnd {
  readonly atMs: number;
  readonly tokens: number;
}

function rateOf([first, ...later]: readonly StepEnd[], endMs: number): number {
  const tokens = later.reduce((sum, step) => sum + step.tokens, 0);
  return 1_000 * tokens / Math.max(1, endMs - present(first, "a run that is over has closed a step").atMs);
}

function sizes(
  { orchestrator: { state: { config, counters } }, stages }: World,
): Pick<LabResult, "bytesForward" | "bytesBackward" | "mergeBytesPerParameter" | "tokens"> {
  const parameters = stages.reduce((sum, spec) => sum + parameterTable(spec).length, 0);
  const ofMiner = counters.mergeMiners === 0 ? 0 : counters.mergeBytes / counters.mergeMiners;
  const perToken = (direction: WireDirection) => {
    const wires = wiresOfDirection(config, direction);
    return wires.reduce((sum, wire) => sum + wireBytes(wire) / wire.rows, 0) / Math.max(1, wires.length);
  };
  return {
    bytesForward: perToken("forward"),
    bytesBackward: perToken("gradient"),
    mergeBytesPerParameter: ofMiner / (parameters / config.pipeline.stages),
    tokens: counters.tokens,
  };
}

/**
 * A whole swarm in one process, for experiments and attacks: the production roles over the in-memory transport, on one device, in
 * virtual time. Equal settings and seeds give equal results on any machine.
 *
 * Owns: putting the roles together, and what is measured of a run. Out of scope: who is dishonest and how (tests/lab/redteam), faults
 * of links and processes (tests/lab/sim, tests), checkpoints on disk, the chain. Held-out text is evaluated when the run is over.
 */

import { assert, present } from "../../../core/assert.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { type NodeId, nodeId } from "../../../core/ids.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import type { MinerScore } from "../../../core/score/work_score.ts";
import { forwardUnits } from "../../../core/model/task_flops.ts";
import type { WireDirection } from "../../../core/codec/codec.ts";
import { wireBytes } from "../../../core/codec/wire.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import { wiresOfDirection } from "../../../core/model/stage_wires.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import type { Signer } from "../../../net/auth/hello.ts";
import { TicketBox, ticketKeyBytes } from "../../../net/auth/ticket.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { createLoopback } from "../../../net/links/loopback.ts";
import type { Dial } from "../../../net/links/wire.ts";
import { seededRandom } from "./seeded_random.ts";
import { hotkeyOfMiniSecret, verifySignature } from "../../../chain/wallet/hotkey.ts";
import type { BatchSource } from "../../../cli/model/data/dataset.ts";
import { startOrchestrator } from "../../../cli/orchestrator/hub/orchestrator_role.ts";
import type { RunningOrchestrator } from "../../../cli/orchestrator/hub/running_orchestrator.ts";
import { type MinerRoleOptions, type RunningNode, startMiner } from "../../../cli/node/miner_role.ts";
import { startValidator, type ValidatorRoleOptions } from "../../../cli/node/validator_role.ts";
import { ValidatorHost } from "../../../cli/node/validator_host.ts";
import type { ComputeHost } from "../../../cli/device/compute_host.ts";
import { byteSegments } from "../../../cli/roles/segments.ts";
import type { LinkShape } from "../../../cli/swarm/chaos/link_shape.ts";
import { FlopCount } from "./flop_count.ts";
import { LabClock } from "./lab_clock.ts";
import { LabLink } from "./lab_link.ts";
import { MemoryHubBlobs } from "./memory_hub_blobs.ts";

export interface LabOptions {
  readonly config: RunConfig;
  readonly batches: BatchSource;
  readonly device: ComputeHost; // shared by all miners
  readonly links?: LinkShape; // of every miner. @default no delay, and as fast as memory
  readonly slowness?: number; // times that every pass takes as long, as of a larger model. @default 1
  readonly onRecord: (record: RunRecord, state: OrchestratorState) => void;
  readonly onScores?: (scores: LabScores) => void;
  /** What a member has of its own. @default an honest one's */
  readonly patch?: (place: Place, world: LabWorld) => Own;
  readonly signal: AbortSignal;
}

/** Of a miner: it gets stage `index % stages`, replica by replica. */
export interface Place {
  readonly role: "miner" | "validator";
  readonly index: number;
}

export interface LabWorld {
  readonly device: (slowness?: number) => ComputeHost; // whose passes take their time, or so many times that
  readonly store: MemoryHubBlobs;
  readonly state: () => OrchestratorState;
}

/** Instead of an honest member's. */
export interface Own {
  readonly device?: ComputeHost;
  readonly miner?: NonNullable<MinerRoleOptions["machine"]>;
  readonly validator?: NonNullable<ValidatorRoleOptions["machine"]>;
}

export interface LabScores {
  readonly validator: number; // its place
  readonly round: number;
  readonly scores: readonly MinerScore[];
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

/** Virtual; a step of `tiny` then takes 500 ms, where six miners on two cores need 430. */
const passMs: Readonly<Record<string, number>> = { forward: 25, backward: 75, turnaround: 75 };
const mostMs = 1e12;
const secretSeed = 1; // keys of a swarm that no stranger meets

export async function runLab(options: LabOptions): Promise<LabResult> {
  const { config, onRecord, signal } = options;
  signal.throwIfAborted(); // a listener hears nothing of what was before
  const clock = new LabClock();
  const blobs = new MemoryHubBlobs();
  const ofAll = options.slowness ?? 1;
  const device: LabWorld["device"] = (slowness = 1) => timed(options.device, { clock, slowness: ofAll * slowness });
  const ends: StepEnd[] = [];
  const orchestrator = openHub(options, {
    ...{ clock, blobs, device },
    onRecord(record) {
      if (record.type === "stepClosed") ends.push({ atMs: clock.nowMs, tokens: record.tokens });
      onRecord(record, orchestrator.state);
    },
  });
  const stop = () => orchestrator.stop("interrupted");
  signal.addEventListener("abort", stop);
  const members: RunningNode[] = [];
  const flops = new FlopCount(forwardUnits(stageSpecs(config, splitLayers(config))));
  try {
    const world = { clock, device, flops, store: blobs, state: () => orchestrator.state };
    const dial = createLoopback((wire) => orchestrator.accept(wire));
    const miners = config.pipeline.stages * config.swarm.replicas;
    for (let i = 0; i < miners; i++) members.push(await openMember(options, { ...world, dial, place: minerAt(i) }));
    for (let i = 0; i < config.swarm.validators; i++) {
      members.push(await openMember(options, { ...world, dial, place: { role: "validator", index: i } }));
    }
    let isOver = false;
    const over = () => isOver = true;
    orchestrator.finished.then(over, over);
    await clock.run(() => isOver, mostMs);
    const { finished } = await orchestrator.finished;
    signal.throwIfAborted();
    assert(finished, "a lab's run ends by itself");
    const layersOfStages = splitLayers(config);
    const tokensPerSecond = rateOf(ends, clock.nowMs);
    const { validatorShare } = flops;
    return {
      ...await measured(orchestrator, { ...options, blobs, layersOfStages }),
      ...{ tokensPerSecond, validatorShare },
    };
  } finally {
    signal.removeEventListener("abort", stop);
    for (const member of members) member.close();
  }
}

const minerAt = (index: number): Place => ({ role: "miner", index });

function openHub(
  { config, batches }: LabOptions,
  { clock, blobs, device, onRecord }: {
    clock: LabClock;
    blobs: MemoryHubBlobs;
    device: LabWorld["device"];
    onRecord: (record: RunRecord) => void;
  },
): RunningOrchestrator {
  const layersOfStages = splitLayers(config);
  const signer = signerAt(0);
  const random = seededRandom(config.seed, "hub");
  const tickets = new TicketBox({
    ...{ key: new Uint8Array(ticketKeyBytes).fill(secretSeed), run: "lab", hub: signer.address },
    ...{ random, timers: clock.timers, ticketMs: defaultNetLimits.ticketMs },
  });
  return startOrchestrator({
    ...{ runId: "lab", config, stages: stageSpecs(config, layersOfStages), layersOfStages },
    ...{ signer, tickets, blobs, batches, limits: defaultNetLimits, timers: clock.timers, random },
    verify: verifySignature,
    admit: () => null,
    storeRound: ({ round }) => Promise.resolve(`round ${round}`),
    openReferee: () => Promise.resolve(device()),
    onRecord,
  });
}

interface MemberWorld extends LabWorld {
  readonly clock: LabClock;
  readonly flops: FlopCount;
  readonly dial: Dial;
  readonly place: Place;
}

async function openMember(
  { config, links, patch, onScores }: LabOptions,
  { clock, device, flops, store, state, dial, place }: MemberWorld,
): Promise<RunningNode> {
  const { role, index } = place;
  const line = links === undefined || role === "validator" ? null : new LabLink(links, clock);
  const own = patch?.(place, { device, store, state }) ?? {};
  const node = {
    link: {
      ...{ url: "loopback:", signer: signerOf(place, config), verify: verifySignature, limits: defaultNetLimits },
      dial: line?.dial(dial) ?? dial,
      ...{ timers: clock.timers, random: seededRandom(config.seed, role, index), giveUpAfterMs: null },
      ...{ onOffline: () => {}, onWaiting: () => {}, onConnected: () => {} },
    },
    device: flops.of(role, own.device ?? device()),
    blobs: line?.blobs(store) ?? store,
    onRecord: () => {},
  };
  const running = role === "miner"
    ? await startMiner({ ...node, ownState: null, ...(own.miner === undefined ? {} : { machine: own.miner }) })
    : startValidator({
      ...node,
      onScores: (round, scores) => onScores?.({ validator: index, round, scores }),
      ...(own.validator === undefined ? {} : { machine: own.validator }),
    });
  running.finished.catch(() => {
    // An expelled member is refused; the hub's records tell of it.
  });
  return running;
}

interface StepEnd {
  readonly atMs: number;
  readonly tokens: number;
}

function rateOf([first, ...later]: readonly StepEnd[], endMs: number): number {
  const tokens = later.reduce((sum, step) => sum + step.tokens, 0);
  return 1_000 * tokens / Math.max(1, endMs - present(first, "a run that is over has closed a step").atMs);
}

export const addressOf = (place: Place, config: RunConfig): NodeId => signerOf(place, config).address;

/** The hub has the first key. */
function signerOf({ role, index }: Place, { pipeline, swarm }: RunConfig): Signer {
  return signerAt(1 + index + (role === "miner" ? 0 : pipeline.stages * swarm.replicas));
}

function signerAt(index: number): Signer {
  const secret = new Uint8Array(32).fill(secretSeed);
  new DataView(secret.buffer).setUint32(0, index);
  const pair = hotkeyOfMiniSecret(secret);
  return { address: nodeId(pair.address), sign: (message) => pair.sign(message) };
}

/** Every pass takes its virtual time, and no time passes while it is computed. */
function timed(device: ComputeHost, { clock, slowness }: { clock: LabClock; slowness: number }): ComputeHost {
  return {
    adapter: device.adapter,
    finish: () => Promise.resolve(),
    openStage: (spec, options) =>
      clock.during(async () => {
        const stage = await device.openStage(spec, options);
        return new Proxy(stage, {
          get(target, name) {
            const member: unknown = Reflect.get(target, name);
            if (typeof member !== "function" || name === "close") {
              return typeof member === "function" ? member.bind(target) : member;
            }
            const work = (given: unknown[]) => clock.during(() => Reflect.apply(member, target, given));
            const ms = passMs[String(name)];
            if (ms === undefined) return (...given: unknown[]) => work(given);
            return (...given: unknown[]) => clock.pass(slowness * ms).then(() => work(given));
          },
        });
      }),
  };
}

interface Measured extends Pick<LabOptions, "config" | "batches" | "device"> {
  readonly blobs: MemoryHubBlobs;
  readonly layersOfStages: readonly number[];
}

async function measured(
  { state }: RunningOrchestrator,
  options: Measured,
): Promise<Omit<LabResult, "tokensPerSecond" | "validatorShare">> {
  const { config, layersOfStages } = options;
  const { counters } = state;
  const parameters = stageSpecs(config, layersOfStages).reduce((sum, spec) => sum + parameterTable(spec).length, 0);
  const ofMiner = counters.mergeMiners === 0 ? 0 : counters.mergeBytes / counters.mergeMiners;
  const perToken = (direction: WireDirection) => {
    const wires = wiresOfDirection(config, direction);
    return wires.reduce((sum, wire) => sum + wireBytes(wire) / wire.rows, 0) / Math.max(1, wires.length);
  };
  return {
    loss: await heldOutLoss(state.sources, options),
    bytesForward: perToken("forward"),
    bytesBackward: perToken("gradient"),
    mergeBytesPerParameter: ofMiner / (parameters / config.pipeline.stages),
    tokens: counters.tokens,
  };
}

async function heldOutLoss(
  { round, stages: sources }: RunningOrchestrator["state"]["sources"],
  { config, batches, blobs, device, layersOfStages }: Measured,
): Promise<number> {
  const segments = byteSegments();
  const host = new ValidatorHost({ device, blobs, segments });
  const { inputs, targets } = batches.heldOut(Math.min(config.validate.heldOutSequences, batches.heldOutWindows));
  const hold = (ids: Uint32Array) => segments.hold(new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength));
  const work = { type: "evaluate" as const, round, sources, inputs: hold(inputs), targets: hold(targets) };
  const result = await host.perform({ config, layersOfStages, work });
  assert(result.type === "evaluate", "an evaluation was asked for");
  return result.loss;
}

/**
 * A whole swarm in one process, for experiments: the production roles over the in-memory transport, on one device, in virtual
 * time. Equal settings and seeds give equal results on any machine.
 *
 * Owns: putting the roles together, and what is measured of a run. Out of scope: faults (cli/sim, tests), real links, checkpoints
 * on disk, the chain. Nobody is checked here, since nobody lies: there are no validators, and held-out text is evaluated once,
 * when the run is over.
 */

import { assert, present } from "../../core/assert.ts";
import type { RunConfig } from "../../core/config/config.ts";
import { nodeId } from "../../core/ids.ts";
import { wireBytes } from "../../core/codec/wire.ts";
import { parameterTable, stageSpecs } from "../../core/model/spec.ts";
import { runWire } from "../../core/model/stage_wires.ts";
import { splitLayers } from "../../core/model/stages.ts";
import type { Signer } from "../../net/auth/hello.ts";
import { TicketBox, ticketKeyBytes } from "../../net/auth/ticket.ts";
import { defaultNetLimits } from "../../net/limits.ts";
import { createLoopback } from "../../net/links/loopback.ts";
import { systemRandom } from "../../net/timers.ts";
import { hotkeyOfMiniSecret, verifySignature } from "../../chain/wallet/hotkey.ts";
import type { BatchSource } from "../data/dataset.ts";
import { startOrchestrator } from "../hub/orchestrator_role.ts";
import type { RunningOrchestrator } from "../hub/running_orchestrator.ts";
import { type RunningNode, startMiner } from "../node/miner_role.ts";
import { ValidatorHost } from "../node/validator_host.ts";
import type { ComputeHost } from "../roles/compute_host.ts";
import { byteSegments } from "../roles/segments.ts";
import type { LinkShape } from "../chaos/link_shape.ts";
import { LabClock } from "./lab_clock.ts";
import { LabLink } from "./lab_link.ts";
import { MemoryHubBlobs } from "./memory_hub_blobs.ts";

export interface LabOptions {
  readonly config: RunConfig;
  readonly batches: BatchSource;
  readonly device: ComputeHost; // shared by all miners
  readonly links?: LinkShape; // of every miner. @default no delay, and as fast as memory
  readonly onStep: (step: { readonly step: number; readonly loss: number }) => void;
  readonly signal: AbortSignal;
}

export interface LabResult {
  readonly loss: number; // of held-out text at the end, nats per token
  readonly bytesForward: number; // per token and boundary
  readonly bytesBackward: number;
  readonly mergeBytesPerParameter: number; // uploaded by a miner in a round, on average; 0: nothing was merged
  readonly tokens: number;
  readonly tokensPerSecond: number; // of virtual time, from the first step's end to the run's
}

/** Virtual; a step of `tiny` then takes the 400 ms that six miners on two cores need for it. */
const passMs: Readonly<Record<string, number>> = { forward: 25, backward: 75, turnaround: 75 };
const mostMs = 1e12;
const secretSeed = 1; // keys of a swarm that no stranger meets

export async function runLab(options: LabOptions): Promise<LabResult> {
  const { config, batches, onStep, signal } = options;
  const clock = new LabClock();
  const blobs = new MemoryHubBlobs();
  const layersOfStages = splitLayers(config);
  const stages = stageSpecs(config, layersOfStages);
  const signer = signerOf(0);
  const key = new Uint8Array(ticketKeyBytes).fill(secretSeed);
  const ends: StepEnd[] = [];
  const tickets = new TicketBox({
    ...{ key, run: "lab", hub: signer.address, random: systemRandom, timers: clock.timers },
    ticketMs: defaultNetLimits.ticketMs,
  });
  const orchestrator = startOrchestrator({
    ...{ runId: "lab", config, stages, layersOfStages, signer, tickets, blobs, batches },
    ...{ limits: defaultNetLimits, timers: clock.timers, random: systemRandom },
    verify: verifySignature,
    admit: () => null,
    storeRound: ({ round }) => Promise.resolve(`round ${round}`),
    openReferee: () => Promise.reject(new Error("no task of a lab is disputed")),
    onRecord: (record) => {
      if (record.type !== "stepClosed") return;
      ends.push({ atMs: clock.nowMs, tokens: record.tokens });
      onStep({ step: record.step, loss: record.loss });
    },
  });
  const stop = () => orchestrator.stop("interrupted");
  signal.addEventListener("abort", stop);
  const miners: RunningNode[] = [];
  try {
    const dial = createLoopback((wire) => orchestrator.accept(wire));
    const device = timed(options.device, clock);
    for (let i = 0; i < config.pipeline.stages * config.swarm.replicas; i++) {
      const line = options.links === undefined ? null : new LabLink(options.links, clock);
      const link = {
        ...{ url: "loopback:", signer: signerOf(i + 1), verify: verifySignature, limits: defaultNetLimits },
        dial: line?.dial(dial) ?? dial,
        ...{ timers: clock.timers, random: systemRandom, giveUpAfterMs: null },
        ...{ onOffline: () => {}, onWaiting: () => {}, onConnected: () => {} },
      };
      miners.push(
        await startMiner({ link, device, blobs: line?.blobs(blobs) ?? blobs, ownState: null, onRecord: () => {} }),
      );
    }
    let isOver = false;
    const over = () => isOver = true;
    orchestrator.finished.then(over, over);
    await clock.run(() => isOver, mostMs);
    const { finished } = await orchestrator.finished;
    signal.throwIfAborted();
    assert(finished, "a lab's run ends by itself");
    const tokensPerSecond = rateOf(ends, clock.nowMs);
    return { ...await measured(orchestrator, { ...options, blobs, layersOfStages }), tokensPerSecond };
  } finally {
    signal.removeEventListener("abort", stop);
    for (const miner of miners) miner.close();
  }
}

interface StepEnd {
  readonly atMs: number;
  readonly tokens: number;
}

function rateOf([first, ...later]: readonly StepEnd[], endMs: number): number {
  const tokens = later.reduce((sum, step) => sum + step.tokens, 0);
  return 1_000 * tokens / Math.max(1, endMs - present(first, "a run that is over has closed a step").atMs);
}

function signerOf(index: number): Signer {
  const secret = new Uint8Array(32).fill(secretSeed);
  new DataView(secret.buffer).setUint32(0, index);
  const pair = hotkeyOfMiniSecret(secret);
  return { address: nodeId(pair.address), sign: (message) => pair.sign(message) };
}

/** Every pass takes its virtual time, and no time passes while it is computed. */
function timed(device: ComputeHost, clock: LabClock): ComputeHost {
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
            return (...given: unknown[]) => clock.pass(ms).then(() => work(given));
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
): Promise<Omit<LabResult, "tokensPerSecond">> {
  const { config, layersOfStages } = options;
  const { counters } = state;
  const parameters = stageSpecs(config, layersOfStages).reduce((sum, spec) => sum + parameterTable(spec).length, 0);
  const ofMiner = counters.mergeMiners === 0 ? 0 : counters.mergeBytes / counters.mergeMiners;
  const perToken = (direction: "forward" | "backward") => {
    const wire = runWire(config, direction);
    return wireBytes(wire) / wire.rows;
  };
  return {
    loss: await heldOutLoss(state.sources, options),
    bytesForward: perToken("forward"),
    bytesBackward: perToken("backward"),
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

/**
 * A swarm in one process and in virtual time: the production roles over the in-memory transport, computing real numbers
 * or the float64 reference's. Equal options give equal runs on any machine.
 *
 * Everything but sockets, disk, device and clock is the real thing, and a test may replace any part of a member. Out of
 * scope: who is dishonest and how (tests/lab/redteam), tens of thousands of miners (tests/lab/sim), the chain.
 */

import type { RunConfig } from "../../../core/config/config.ts";
import { type BlobHash, type BlobRef, type NodeId, stageIndex } from "../../../core/ids.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import { mayRead } from "../../../core/orchestrator/access.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import type { MinerScore } from "../../../core/score/work_score.ts";
import { verifySignature } from "../../../chain/wallet/hotkey.ts";
import type { ComputeHost } from "../../../cli/device/compute_host.ts";
import type { BatchSource } from "../../../cli/model/data/dataset.ts";
import { miner } from "../../../core/miner/machine.ts";
import { validator } from "../../../core/validator/machine.ts";
import { type MinerRoleOptions, type RunningRole, startMiner } from "../../../cli/node/miner_role.ts";
import type { NodeLink } from "../../../cli/node/node_role.ts";
import type { Finished } from "../../../cli/node/node_runtime.ts";
import { type PauseGate, PausingRole } from "../../../cli/node/pausing_role.ts";
import { startValidator, type ValidatorRoleOptions } from "../../../cli/node/validator_role.ts";
import { type RoundState, StageUnavailable } from "../../../cli/orchestrator/hub/checkpoint_writer.ts";
import type { RecoveredRun, StateJournal } from "../../../cli/orchestrator/journal/hub_journal.ts";
import { startOrchestrator } from "../../../cli/orchestrator/hub/orchestrator_role.ts";
import type {
  OrchestratorRoleOptions,
  RunningOrchestrator,
} from "../../../cli/orchestrator/hub/running_orchestrator.ts";
import type { BlobAccess } from "../../../cli/roles/blob_access.ts";
import type { LinkShape } from "../../../cli/swarm/chaos/link_shape.ts";
import type { Signer } from "../../../net/auth/hello.ts";
import { TicketBox, ticketKeyBytes } from "../../../net/auth/ticket.ts";
import { BlobError } from "../../../net/blobs/blobs.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { createLoopback } from "../../../net/links/loopback.ts";
import { EventLog } from "../../support/event_log.ts";
import { LinkControl } from "../../support/net/link_control.ts";
import { Clock } from "./clock.ts";
import { countingBatches } from "./counting_batches.ts";
import { type PassTimes, processor, timed } from "./devices.ts";
import { worldSigner } from "./keys.ts";
import { MemoryHubBlobs } from "./memory_hub_blobs.ts";
import { seededRandom } from "./seeded_random.ts";
import { WorldLink } from "./world_link.ts";

export interface WorldOptions {
  readonly config: RunConfig;
  readonly clock?: Clock;
  readonly batches?: BatchSource; // @default sequences that can be learned
  /** Of the orchestrator and of every member that brings none. @default the reference */
  readonly device?: ComputeHost;
  readonly passMs?: PassTimes; // on `device`. @default computing takes no time
  readonly links?: LinkShape; // of every miner. @default no delay, and as fast as memory
  /** What the orchestrator has instead of the world's: a disk, a journal, rules of admission. */
  readonly hub?: Partial<OrchestratorRoleOptions>;
  readonly memberBlobs?: (signer: Signer) => BlobAccess; // @default the orchestrator's store
  /** Receives every record before the machine's next effect is performed: the place to inject a fault. */
  readonly watch?: (record: RunRecord, world: World) => void;
}

type MemberOptions = Partial<Pick<MinerRoleOptions, "device" | "blobs">>;

/** What a member has instead of an honest one's. */
export interface WorldMinerOptions
  extends MemberOptions, Partial<Pick<MinerRoleOptions, "machine" | "onRecord" | "ownState">> {
  readonly gate?: PauseGate;
  readonly onPause?: (event: string) => void;
}

export interface WorldValidatorOptions extends MemberOptions, Partial<Pick<ValidatorRoleOptions, "machine">> {}

export interface WorldMember {
  readonly role: RunningRole & { close?(): void };
  readonly link: LinkControl;
  readonly address: NodeId;
}

export interface WorldScores {
  readonly validator: NodeId;
  readonly round: number;
  readonly scores: readonly MinerScore[];
}

interface NewLife {
  readonly journal: StateJournal | null;
  readonly recovered: RecoveredRun | null;
  readonly savedWires?: ReadonlyMap<BlobHash, Uint8Array>; // none after a kill
  readonly config?: RunConfig;
}

export const patienceMs = 600_000; // a calm run of a toy takes seconds

export class World {
  readonly clock: Clock;
  readonly blobs = new MemoryHubBlobs();
  readonly records = new EventLog<RunRecord>();
  readonly rounds: RoundState[] = []; // handed over for storage
  readonly members: WorldMember[] = [];
  readonly scores: WorldScores[] = []; // of all validators
  readonly refusals: unknown[] = []; // why members ended
  readonly stages: StageSpec[];
  readonly batches: BatchSource;
  orchestrator: RunningOrchestrator;
  readonly #options: WorldOptions;
  readonly #layersOfStages: number[];
  #keys = 0;
  readonly #dial = createLoopback((wire) => this.orchestrator.accept(wire));

  constructor(options: WorldOptions) {
    const { config, hub, batches = countingBatches(config), clock = new Clock() } = options;
    this.#options = options;
    this.clock = clock;
    this.batches = batches;
    this.#layersOfStages = splitLayers(config);
    this.stages = stageSpecs(config, this.#layersOfStages);
    this.orchestrator = this.#startOrchestrator({ journal: hub?.journal ?? null, recovered: null });
  }

  /** Restarts the orchestrator from the last one's journal, with another configuration if one is given. */
  restart(from: NewLife & { journal: StateJournal }): void {
    this.orchestrator = this.#startOrchestrator(from);
  }

  #startOrchestrator({ config = this.#options.config, ...life }: NewLife): RunningOrchestrator {
    const { watch, hub } = this.#options;
    const { timers } = this.clock;
    const signer = worldSigner(0);
    const random = seededRandom(config.seed, "hub");
    const key = new Uint8Array(ticketKeyBytes).fill(1);
    const { runId: run = "world" } = hub ?? {};
    return startOrchestrator({
      ...{ runId: run, config, stages: this.stages, layersOfStages: this.#layersOfStages },
      ...{ signer, verify: verifySignature, limits: defaultNetLimits, timers, random },
      tickets: new TicketBox({ key, run, hub: signer.address, ticketMs: defaultNetLimits.ticketMs, timers, random }),
      admit: () => null,
      blobs: this.blobs,
      batches: this.batches,
      storeRound: (round) => this.#read(round),
      openReferee: () => Promise.resolve(this.device()),
      ...hub,
      ...life,
      onRecord: (record) => {
        this.records.push(record);
        watch?.(record, this);
      },
    });
  }

  /** Like the checkpoint writer: reads every stage, and reports a missing one. */
  #read(round: RoundState): Promise<string> {
    this.rounds.push(round);
    for (const [stage, source] of round.sources.entries()) {
      const refs = source.type === "blobs" ? [source.parameters, source.momentum] : [];
      const isMissing = refs.some((ref) => ref !== null && !this.blobs.held.has(ref.hash));
      if (isMissing) return Promise.reject(new StageUnavailable(stageIndex(stage), "not in memory"));
    }
    return Promise.resolve(`round-${round.round}`);
  }

  /** The world's device; `slowness`: its passes take so many times as long. */
  device(slowness = 1): ComputeHost {
    const { device = processor, passMs } = this.#options;
    if (passMs === undefined) return device;
    const { forward, backward, turnaround } = passMs;
    const own = { forward: slowness * forward, backward: slowness * backward, turnaround: slowness * turnaround };
    return timed(device, { clock: this.clock, passMs: own });
  }

  // ------------------------------------------------------------------------------------------------------- members

  /** Starts every validator that the configuration asks for, and its miners or this many. */
  async startAll(miners?: number): Promise<void> {
    const { pipeline, swarm } = this.#options.config;
    await this.addMiners(miners ?? pipeline.stages * swarm.replicas);
    for (let i = 0; i < swarm.validators; i++) this.addValidator();
  }

  async addMiners(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await this.addMiner();
  }

  async addMiner(options: WorldMinerOptions = {}): Promise<WorldMember> {
    const { links } = this.#options;
    const {
      device = this.device(),
      blobs,
      gate,
      onPause = () => {},
      machine = miner,
      onRecord = () => {},
      ownState = null,
    } = options;
    const line = links === undefined ? null : new WorldLink(links, this.clock);
    const { link, control } = this.#link(line);
    const store = this.#blobsOf(link.signer, blobs);
    const start = () =>
      startMiner({
        ...{ link, device, blobs: line?.blobs(store) ?? store, ownState, onRecord, machine },
      });
    const role = gate === undefined ? await start() : new PausingRole({
      gate,
      start,
      onPaused: ({ reason }) => onPause(`paused: ${reason}`),
      onResumed: () => onPause("resumed"),
    });
    return this.#remember({ role, link: control, address: link.signer.address });
  }

  addValidator({ device = this.device(), blobs, machine = validator }: WorldValidatorOptions = {}): WorldMember {
    const { link, control } = this.#link(null);
    const { address } = link.signer;
    const role = startValidator({
      ...{ link, device, blobs: this.#blobsOf(link.signer, blobs), onRecord: () => {} },
      onScores: (round, scores) => this.scores.push({ validator: address, round, scores }),
      machine,
    });
    return this.#remember({ role, link: control, address });
  }

  #remember(member: WorldMember): WorldMember {
    member.role.finished.catch((error) => this.refusals.push(error)); // what some tests are about
    this.members.push(member);
    return member;
  }

  /**
   * The orchestrator's store as one node sees it: what its duty does not need is refused, as the orchestrator's port
   * does.
   */
  #blobsOf(signer: Signer, own?: BlobAccess): BlobAccess {
    const { memberBlobs, hub } = this.#options;
    const store = own ?? memberBlobs?.(signer) ?? hub?.blobs ?? this.blobs;
    const refused = (hash: BlobHash) =>
      new BlobError("refused", `Cannot read blob ${hash}: this node's work does not need it`);
    return {
      put: (bytes) => store.put(bytes),
      get: (ref: BlobRef, from) =>
        mayRead(this.orchestrator.state, { node: signer.address, hash: ref.hash })
          ? store.get(ref, from)
          : Promise.reject(refused(ref.hash)),
    };
  }

  #link(line: WorldLink | null): { link: NodeLink; control: LinkControl } {
    const control = new LinkControl(line?.dial(this.#dial) ?? this.#dial);
    const index = ++this.#keys;
    const link: NodeLink = {
      ...{ url: "loopback:", signer: worldSigner(index), verify: verifySignature, dial: control.dial },
      ...{ limits: defaultNetLimits, timers: this.clock.timers, giveUpAfterMs: null },
      random: seededRandom(this.#options.config.seed, "member", index),
      ...{ onOffline: () => {}, onWaiting: () => {}, onConnected: () => {} },
    };
    return { link, control };
  }

  member(address: string): WorldMember {
    const member = this.members.find((each) => each.address === address);
    if (member === undefined) throw new Error(`no member ${address}`);
    return member;
  }

  /** Like SIGKILL: the link breaks and the node no longer answers. */
  kill(address: string): void {
    const { link } = this.member(address);
    link.unreachable = true;
    link.cut();
  }

  // ---------------------------------------------------------------------------------------------------------- time

  runUntil(isDone: () => boolean, mostMs = patienceMs): Promise<void> {
    return this.clock.runUntil(isDone, mostMs);
  }

  /** Moves time to the end of the run. */
  async runThrough(mostMs = patienceMs): Promise<Finished> {
    let isOver = false;
    const over = () => isOver = true;
    this.orchestrator.finished.then(over, over);
    await this.runUntil(() => isOver, mostMs);
    return await this.orchestrator.finished;
  }

  /** To the end of a run that needs no time. */
  run(): Promise<Finished> {
    return this.orchestrator.finished;
  }

  quiet(): Promise<void> {
    return this.clock.quiet();
  }

  /** Frees what members hold on their devices. */
  close(): void {
    for (const { role } of this.members) role.close?.();
  }
}

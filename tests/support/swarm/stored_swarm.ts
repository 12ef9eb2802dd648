/**
 * A swarm whose orchestrator keeps blobs and checkpoints on a disk as `iota orchestrate` does, and whose nodes reach
 * them by HTTP: the production gate, quotas and routes, without sockets. The disk of the blobs may be full when a test
 * says so.
 */

import { mayRead } from "../../../core/orchestrator/access.ts";
import { present } from "../../../core/assert.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { fault } from "../../../core/fault.ts";
import type { NodeId } from "../../../core/ids.ts";
import { mostStates } from "../../../core/update/payload/allowance.ts";
import { payloadCodecOf } from "../../../core/update/payload/payload_codecs.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import { blobAccess, type HubBlobs } from "../../../cli/roles/blob_access.ts";
import type { StateJournal } from "../../../cli/orchestrator/journal/hub_journal.ts";
import type { Finished } from "../../../cli/node/node_runtime.ts";
import { HubStore } from "../../../cli/orchestrator/hub/hub_store.ts";
import { createApi } from "../../../net/hub_http.ts";
import { DiskBlobs } from "../../../net/blobs/blob_disk.ts";
import { HttpBlobs, type HttpBlobsOptions } from "../../../net/blobs/blob_http.ts";
import type { Signer } from "../../../net/auth/hello.ts";
import { defaultNetLimits, type NetLimits } from "../../../net/limits.ts";
import { type Authorize, createAuthorize, RequestGate } from "../../../net/auth/request_auth.ts";
import { heldUp } from "./held_host.ts";
import { World } from "../../lab/world/world.ts";
import { verifySignature } from "../../../chain/wallet/hotkey.ts";
import { Clock } from "../../lab/world/clock.ts";
import { worldSigner } from "../../lab/world/keys.ts";
import { seededRandom } from "../../lab/world/seeded_random.ts";
import { runDisk } from "./run_disk.ts";

export const noRoom = (): Error =>
  Object.assign(new Error("No space left on device (os error 28)"), { code: "ENOSPC" });

export interface StoredSwarmOptions {
  readonly folder: string;
  readonly config: RunConfig;
  readonly journal?: StateJournal;
  readonly limits?: Partial<NetLimits>;
  readonly memberBytes?: number; // what members may fill
  readonly ownBytes?: number; // and what the orchestrator has beside it
  readonly watch?: (record: RunRecord, world: StoredSwarm) => void;
  readonly hold?: () => Promise<unknown> | null; // what forwards wait for
  /** Before each checkpoint; throws when the disk should refuse it. */
  readonly beforeCheckpoint?: (world: StoredSwarm) => void;
}

export class StoredSwarm {
  readonly swarm: World;
  readonly store: DiskBlobs;
  readonly members: HubStore;
  readonly api: ReturnType<typeof createApi>;
  readonly limits: NetLimits;
  readonly errors: Error[] = [];
  /** The blobs' disk takes nothing more. */
  isFull = false;
  /** Only what the orchestrator stores itself finds no room. */
  isFullForHub = false;
  refusedWrites = 0;
  #clients = 0;

  private constructor(
    options: StoredSwarmOptions,
    parts: { store: DiskBlobs; members: HubStore; clock: Clock },
  ) {
    const { config, folder, watch, journal = null, beforeCheckpoint = () => {} } = options;
    const { store, members, clock } = parts;
    this.store = store;
    this.members = members;
    this.limits = { ...defaultNetLimits, ...options.limits };
    const blobs = this.#withRoom(members.blobs);
    this.swarm = new World({
      ...{ config, clock, device: heldUp(() => options.hold?.() ?? null) },
      watch: (record) => watch?.(record, this),
      hub: {
        journal,
        ...runDisk({ folder, config, blobs, clock, beforeCheckpoint: () => beforeCheckpoint(this) }),
        probeRoom: () => this.isFull ? Promise.reject(noRoom()) : Promise.resolve(),
      },
      memberBlobs: (signer) => blobAccess(this.client(signer)),
    });
    this.api = createApi({
      blobs: members.routes(this.swarm.orchestrator.members, {
        check: gateOf(this.swarm),
        mayRead: (asked) => mayRead(this.swarm.orchestrator.state, asked),
      }),
      pages: { "/status": () => Response.json({}) },
      onError: (error) => this.errors.push(error),
    });
  }

  static async open(options: StoredSwarmOptions): Promise<StoredSwarm> {
    const { folder, config, memberBytes = 2 ** 30, ownBytes = 2 ** 28 } = options;
    const clock = new Clock();
    let world: StoredSwarm | null = null;
    const store = await DiskBlobs.open({
      folder: `${folder}/blobs`,
      blobBytes: config.limits.blobBytes,
      capacityBytes: memberBytes + ownBytes,
      createFile: async (path) => {
        const file = await Deno.open(path, { createNew: true, write: true });
        return {
          write: (bytes) => {
            if (world?.isFull !== true) return file.write(bytes);
            world.refusedWrites += 1;
            return Promise.reject(noRoom());
          },
          sync: () => file.sync(),
          close: () => file.close(),
        };
      },
    });
    const members = await HubStore.open({
      ...{ folder, store, timers: clock.timers, capacityBytes: memberBytes },
      stageFloats: stageSpecs(config, splitLayers(config)).map((spec) => parameterTable(spec).length),
      codec: payloadCodecOf(config),
      states: mostStates(config.validate),
      limits: { ...defaultNetLimits, ...options.limits },
    });
    world = new StoredSwarm(options, { store, members, clock });
    return world;
  }

  /** What a node asks the orchestrator's store with. */
  client(signer: Signer, options: Partial<HttpBlobsOptions> = {}): HttpBlobs {
    const { timers, random } = this.#requests();
    return new HttpBlobs({
      url: "http://hub",
      authorize: createAuthorize({ signer, receiver: worldSigner(0).address, timers, random }),
      blobBytes: 2 ** 30,
      timers,
      random,
      fetch: (url, init) => this.swarm.clock.during(() => this.api.request(url, init)),
      ...options,
    });
  }

  /** Proves requests of one of the swarm's nodes. */
  authorizeAs(address: string): Authorize {
    return createAuthorize({ signer: signerOf(address), receiver: worldSigner(0).address, ...this.#requests() });
  }

  #requests() {
    return { timers: this.swarm.clock.timers, random: seededRandom(++this.#clients, "requests") };
  }

  /** To the end of the run and of what it left to the disk. */
  async run(): Promise<Finished> {
    const finished = await this.swarm.run();
    await this.swarm.quiet();
    return finished;
  }

  #withRoom(blobs: HubBlobs): HubBlobs {
    return { ...blobs, put: (bytes) => this.isFullForHub ? Promise.reject(noRoom()) : blobs.put(bytes) };
  }
}

/** The key of a node that the swarm started. */
export function signerOf(address: string): Signer {
  const members = Array.from({ length: 64 }, (_, i) => worldSigner(1 + i));
  return present(members.find((signer) => signer.address === address), "one of the swarm's nodes");
}

/** Like the orchestrator's command: any member of the run. */
function gateOf(swarm: World): RequestGate["check"] {
  const gate = new RequestGate({
    self: worldSigner(0).address,
    verify: verifySignature,
    admit: (node: NodeId) =>
      swarm.orchestrator.isMember(node) ? null : fault("notAdmitted", "Only nodes of this run may use its blobs"),
    tickets: null,
    limits: defaultNetLimits,
    timers: swarm.clock.timers,
  });
  return (request, headers) => gate.check(request, headers);
}

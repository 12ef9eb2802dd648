/** A run on disk as a killed orchestrator leaves it, and its folder opened again whatever happened to the files meanwhile. */

import type { RunConfig } from "../../../core/config/config.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { stageSpecs } from "../../../core/model/spec.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import { latestCheckpoint } from "../../../cli/model/checkpoint/checkpoint.ts";
import { hubBlobs } from "../../../cli/roles/blob_access.ts";
import { HubJournal } from "../hub_journal.ts";
import { openRunState } from "../../../cli/orchestrator/run/open_run_state.ts";
import { openRunJournal, type Progress } from "../../../cli/orchestrator/run/recover_run.ts";
import { DiskBlobs } from "../../../net/blobs/blob_disk.ts";
import { Clock } from "../../lab/world/clock.ts";
import { World } from "../../lab/world/world.ts";
import { runDisk } from "./run_disk.ts";

export const runId = "damaged";

/** Trains until `isThere`, and copies the folder as it is at this moment: its log is not yet part of its journal. */
export async function leaveRun(
  options: { config: RunConfig; folder: string; copy: string; isThere: (state: OrchestratorState) => boolean },
): Promise<Progress> {
  const { config, folder, copy, isThere } = options;
  await Deno.mkdir(folder, { recursive: true });
  const { journal } = await openRunJournal({
    folder,
    runId,
    config,
    hasBegun: false,
    checkpoint: null,
    onReplayed: () => {},
    warn: () => {},
    open: HubJournal.open,
  });
  const limits = { blobBytes: 2 ** 26, capacityBytes: 2 ** 30 };
  const blobs = hubBlobs(await DiskBlobs.open({ folder: `${folder}/blobs`, ...limits }));
  const clock = new Clock();
  const swarm = new World({
    ...{ config, clock },
    watch: (_, { orchestrator }) => {
      if (isThere(orchestrator.state)) orchestrator.stop("enough");
    },
    hub: { journal, ...runDisk({ folder, config, blobs, clock, runId }) },
  });
  await swarm.startAll();
  await swarm.run(); // needs no time as nothing goes wrong
  await copyFolder(folder, copy);
  journal.close();
  const { round, step } = swarm.orchestrator.state;
  return { round, step };
}

export interface Reopened extends Progress {
  readonly warnings: readonly string[];
}

/** As `iota orchestrate --resume` does before its first socket. */
export async function reopen(folder: string, config: RunConfig): Promise<Reopened> {
  const warnings: string[] = [];
  const warn = (text: string) => warnings.push(text);
  const found = await latestCheckpoint(`${folder}/checkpoints`, warn, runId);
  const { journal, recovered, from } = await openRunState({
    prepared: { config, folder: { path: folder, isResumed: true }, runId, found, from: null },
    stages: stageSpecs(config, splitLayers(config)),
    onReplayed: () => {},
    onLost: () => {},
    openJournal: HubJournal.open,
    warn,
  });
  journal.close();
  const round = recovered?.state.round ?? from?.sources.round ?? 0;
  const step = recovered?.state.step ?? from?.step ?? 0;
  return { round, step, warnings };
}

export async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copyFolder(`${from}/${name}`, `${to}/${name}`);
    else await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}

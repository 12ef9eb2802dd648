/** From a prepared run's folder to a role that serves nodes. */

import { splitLayers } from "../../../core/model/stages.ts";
import { stageSpecs } from "../../../core/model/spec.ts";
import type { NetLimits } from "../../../net/limits.ts";
import { openHubChain } from "../../chain/duty/hub_chain.ts";
import type { Projection } from "../../observe/projection/projection.ts";
import type { BegunAt } from "../../observe/run_summary.ts";
import type { Retention } from "../../model/checkpoint/checkpoint.ts";
import type { CommandContext, OptionValues } from "../../terminal/command.ts";
import { checkpointsDefault } from "../../terminal/options/hub_options.ts";
import type { HubPort } from "../hub/hub_port.ts";
import { hubTickets } from "../hub/hub_tickets.ts";
import { startOrchestrator } from "../hub/orchestrator_role.ts";
import type { RunningOrchestrator } from "../hub/running_orchestrator.ts";
import { keepWires, takeWires } from "../hub/saved_wires.ts";
import type { RunOwner } from "../owner/run_owner.ts";
import type { HubPlace } from "./hub_place.ts";
import { openOwner } from "./open_owner.ts";
import { openProjection, ReplayedEffects } from "./open_projection.ts";
import { begunAt, openStorage, startOf } from "./open_run_state.ts";
import { ownMachine } from "./own_machine.ts";
import { type PreparedRun, saveResumedRun } from "./prepare_run.ts";
import { lostText, takenUp } from "./run_facts.ts";
import { openFollowers, type RunFollowers } from "./run_followers.ts";
import { sayWhere } from "./say_listening.ts";
import { serveRun } from "./serve_run.ts";

export interface StartedRun {
  readonly role: RunningOrchestrator;
  readonly owner: RunOwner;
  readonly chainFailed: Promise<never>; // our own failure, not the chain's
  readonly projection: Projection;
  readonly begun: BegunAt;
  readonly followers: RunFollowers;
  close(options: { isOver: boolean; isOurs: boolean }): Promise<void>;
}

const retentionOf = (options: OptionValues): Retention => ({
  newest: options.number("checkpoints") ?? checkpointsDefault,
  everySteps: options.number("milestones") ?? 0,
});

export async function startRun(
  context: CommandContext,
  options: { prepared: PreparedRun; place: HubPlace; port: HubPort; limits: NetLimits; startedMs: number },
): Promise<StartedRun> {
  const { output } = context;
  const { prepared, place, port, limits, startedMs } = options;
  const { config, folder, runId, key: { signer } } = prepared;
  const layersOfStages = splitLayers(config);
  const stages = stageSpecs(config, layersOfStages);
  const warn = (text: string) => output.log.warn(text);
  const replayed = new ReplayedEffects();
  const opened = await openStorage({ prepared, stages, limits, onReplayed: (effects) => replayed.take(effects), warn });
  const { members, journal, recovered } = opened;
  const { projection, ledger, recordedStep, ...seen } = await openProjection(context, {
    ...{ prepared, layersOfStages, startedMs, refused: () => role.refusals, owner: () => owner, replayed },
  });
  const { past } = ledger.log;
  const begun = begunAt(opened, past);
  const lost = lostText({ ...opened, recordedStep, begun, folder });
  ledger.log.begin(begun);
  await saveResumedRun(context, prepared, { at: port.at, step: begun.step });
  const tickets = hubTickets(signer, runId);
  const { promise: chainFailed, reject } = Promise.withResolvers<never>();
  const owner = await openOwner(context, { prepared, at: port.at, role: () => role, tell: seen.onRecord });
  const chain = openHubChain(config.chain, { folder: folder.path, output, tell: seen.onRecord, onFailure: reject });
  output.line(`Run kept in ${folder.path}; ${folder.isResumed ? `resumes at step ${begun.step}` : "begins"}`);
  projection.tell(takenUp(begun, recovered?.state ?? null));
  if (lost !== null) projection.tell({ type: "warning", text: lost });
  const followers = await openFollowers(context, { prepared, projection, role: () => role });
  const { measures, traces, places } = followers;
  const { blobs } = members;
  const role = startOrchestrator({
    ...{ runId, config, stages, layersOfStages },
    ...(traces === null ? {} : { traces }),
    ...startOf(opened, past),
    ...{ journal, recovered, savedWires: await takeWires(folder.path) },
    ...{ signer, tickets, limits, blobs },
    admit: (node) => owner.check(node.node) ?? chain.admit(node) ?? places.admit(node),
    ...ownMachine(prepared, { stages, warn, place, at: port.at, blobs, keep: retentionOf(context.options) }),
    onLog: (entry) => ledger.log.take(entry),
    onRecord: (record) => {
      if (record.type === "stepClosed") measures.onStep(record);
      for (const each of [seen, owner, followers]) each.onRecord(record);
    },
  });
  chain.onRenewed(() => role.review());
  owner.begin();
  const served = { runId, owner, role, members, limits, port, tickets, pages: projection.pages };
  serveRun(context, { ...served, self: signer.address });
  chain.announce({
    invite: sayWhere(output, { prepared, place, at: port.at, miners: config.swarm.replicas * stages.length }),
    signer,
  });
  const close: StartedRun["close"] = async ({ isOver, isOurs }) => {
    followers.samples.close();
    await port.close();
    await members.close();
    await chain.close({ isOver });
    await journal.close();
    if (isOurs) await keepWires(folder.path, { wires: isOver ? [] : role.segments.all, warn });
    seen.close({ isOurs });
  };
  return { role, owner, chainFailed, projection, begun, followers, close };
}

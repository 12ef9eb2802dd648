/** What follows a run's records: samples, measurements, traces, places. */

import type { RunRecord } from "../../../core/protocol/record.ts";
import { systemTimers } from "../../../net/timers.ts";
import { startSample } from "../../model/samples/sample_thread.ts";
import { TextSamples } from "../../model/samples/text_samples.ts";
import { type Measures, openMeasures } from "../../observe/projection/measures.ts";
import type { Projection } from "../../observe/projection/projection.ts";
import { type HubTraces, openHubTraces } from "../../observe/telemetry/hub_traces.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { openPlaces, type Places } from "../hub/members/places.ts";
import type { RunningOrchestrator } from "../hub/running_orchestrator.ts";
import type { PreparedRun } from "./prepare_run.ts";

export interface RunFollowers {
  readonly samples: TextSamples;
  readonly measures: Measures;
  readonly traces: HubTraces | null;
  readonly places: Places;
  onRecord(record: RunRecord): void;
}

export async function openFollowers(
  { output: { log } }: CommandContext,
  { prepared: { folder, config, runId }, projection, role }: {
    prepared: PreparedRun;
    projection: Projection;
    role: () => RunningOrchestrator;
  },
): Promise<RunFollowers> {
  const samples = new TextSamples({
    folder: folder.path,
    config: () => role().state.config,
    sampledStep: () => projection.view.samples.at(-1)?.step ?? null,
    timers: systemTimers,
    start: startSample,
    tell: (record) => projection.tell(record),
    onProblem: (text) => log.info(text),
  });
  const measures = openMeasures(projection, { config, traffic: () => role().traffic });
  const traces = openHubTraces(runId);
  const places = await openPlaces(folder.path, { state: () => role().state, warn: (text) => log.warn(text) });
  const onRecord = (record: RunRecord) => {
    for (const each of [samples, traces, places]) each?.onRecord(record);
  };
  return { samples, measures, traces, places, onRecord };
}

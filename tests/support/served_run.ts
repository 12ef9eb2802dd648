/** A run as the orchestrator's port serves it: records go in, pages are asked without a socket, and the test moves the clock. */

import { TerminalOutput } from "../../cli/terminal/output/output.ts";
import { openDashboard } from "../../cli/observe/dashboard/dashboard.ts";
import { openPastApi } from "../../cli/observe/dashboard/past_api.ts";
import { openRunApi } from "../../cli/observe/dashboard/run_api.ts";
import type { OpenRecordLog } from "../../cli/observe/projection/record_log.ts";
import { Projection } from "../../cli/observe/projection/projection.ts";
import { openMetricsPage } from "../../cli/observe/telemetry/metrics_page.ts";
import type { RunView } from "../../core/view/view.ts";
import type { RunFacts, ViewRecord } from "../../core/view/view_record.ts";
import { FakeHost } from "./fake_host.ts";
import { ManualTimers } from "./net/manual_timers.ts";
import { sampleFacts } from "./sample_run.ts";

export interface ServedRun {
  readonly view: RunView;
  readonly timers: ManualTimers;
  readonly paths: readonly string[];
  tell(record: ViewRecord): void;
  get(
    path: string,
    headers?: Readonly<Record<string, string>>,
    method?: string,
    search?: string,
    origin?: string,
  ): Promise<Response>;
  close(): void;
}

export interface ServedRunOptions {
  readonly facts?: Partial<RunFacts>;
  readonly timers?: ManualTimers;
  readonly records?: OpenRecordLog;
}

export function servedRun({ facts = {}, timers = new ManualTimers(), records }: ServedRunOptions = {}): ServedRun {
  const run = new Projection({
    output: new TerminalOutput({ host: new FakeHost(), json: true, quiet: true, verbose: false, noColor: true }),
    opened: { facts: { ...sampleFacts, ...facts }, startedAtMs: timers.nowMs(), step: 0 },
    nowMs: () => timers.nowMs(),
    timers,
    refused: () => ({ total: 3, byCode: { notAdmitted: 3 } }),
    consumers: [openMetricsPage, openRunApi, openPastApi, () => openDashboard()],
    ...(records === undefined ? {} : { records }),
  });
  return {
    view: run.view,
    timers,
    paths: Object.keys(run.pages),
    tell: (record) => run.tell(record),
    get: async (path, headers = {}, method = "GET", search = "", origin = "unknown") =>
      await run.pages[path]!(new Request(`http://hub${path}${search}`, { method, headers }), origin),
    close: () => run.close(),
  };
}

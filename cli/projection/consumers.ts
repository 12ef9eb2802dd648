/** The table of all consumers of a run's view, in the order in which they receive a record. */

import { openDashboard } from "../dashboard/dashboard.ts";
import { openPastApi } from "../dashboard/past_api.ts";
import { openRunApi } from "../dashboard/run_api.ts";
import { openRunScreen } from "../screen/run_screen.ts";
import type { OpenConsumer } from "./consumer.ts";
import { openMetricsPage } from "../telemetry/metrics_page.ts";
import { openJsonLines } from "./json_lines.ts";
import { openStatusPage } from "./status_page.ts";

export const projectionConsumers: readonly OpenConsumer[] = [
  openJsonLines,
  openRunScreen,
  openStatusPage,
  openMetricsPage,
  openRunApi,
  openPastApi,
  () => openDashboard(),
];

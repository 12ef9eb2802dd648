/** All consumers of a run's view, in the order in which they receive a record. */

import { openDashboard } from "../../observe/dashboard/dashboard.ts";
import { openPastApi } from "../../observe/dashboard/past_api.ts";
import { openRunApi } from "../../observe/dashboard/run_api.ts";
import { openRunScreen } from "../../observe/screen/run_screen.ts";
import type { OpenConsumer } from "../../observe/consumer.ts";
import { openMetricsPage } from "../../observe/telemetry/metrics_page.ts";
import { openJsonLines, openStatusPage } from "../../observe/projection/status_page.ts";

export const projectionConsumers: readonly OpenConsumer[] = [
  openJsonLines,
  openRunScreen,
  openStatusPage,
  openMetricsPage,
  openRunApi,
  openPastApi,
  () => openDashboard(),
];

/** The table of all consumers of a run's view, in the order in which they receive a record. */

import { openRunScreen } from "../screen/run_screen.ts";
import type { OpenConsumer } from "./consumer.ts";
import { openJsonLines } from "./json_lines.ts";
import { openStatusPage } from "./status_page.ts";

export const projectionConsumers: readonly OpenConsumer[] = [
  openJsonLines,
  openRunScreen,
  openStatusPage,
];

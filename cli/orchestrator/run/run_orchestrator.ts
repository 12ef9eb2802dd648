/** `iota orchestrate`, from the command line to the summary. */

import { netLimits } from "../../../net/limits.ts";
import { systemTimers } from "../../../net/timers.ts";
import { refuseHeldFolder } from "../../files/folder_lock.ts";
import { openLogFile } from "../../files/long_run.ts";
import { namedFolder } from "../../files/run_folder.ts";
import { keepPage } from "../../observe/dashboard/keep_page.ts";
import { handedToken } from "../../program/lock_token.ts";
import { readOpenFiles } from "../../rights/open_files.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { openHubPort } from "../hub/hub_port.ts";
import { untilTheEnd } from "./end_run.ts";
import { hubPlace } from "./hub_place.ts";
import { planRun, sayOver } from "./plan_run.ts";
import { prepareRun } from "./prepare_run.ts";
import { refuseWhileHeld } from "./recover_run.ts";
import { dashboardAt } from "./say_listening.ts";
import { startRun } from "./start_run.ts";

export async function runOrchestrator(context: CommandContext): Promise<number> {
  await openLogFile(context);
  const startedMs = systemTimers.nowMs();
  const interruption = context.interruption();
  const plan = await planRun(context, (name) => namedFolder(context.dataFolder(), name));
  if (plan.isOver) {
    await sayOver(context, { plan, command: "orchestrate" });
    return 0;
  }
  const limits = netLimits(plan.config);
  const place = await hubPlace(context.options, plan.saved);
  let notice = (text: string) => context.output.log.warn(text);
  const port = await openHubPort({
    wanted: place,
    limits,
    descriptors: readOpenFiles(context.environment),
    onNotice: (text) => notice(text),
  }).catch((error) => {
    refuseHeldFolder(plan.folder.path, handedToken(context.environment)); // the other program may be this very run
    if (plan.folder.isResumed) refuseWhileHeld(plan.folder.path);
    throw error;
  });
  try {
    const prepared = await prepareRun(context, plan, port.at);
    const run = await startRun(context, { prepared, place, port, limits, startedMs });
    notice = (text) => run.projection.tell({ type: "warning", text });
    const ended = await untilTheEnd(context, { prepared, run, interruption, startedMs });
    if (ended.finished) {
      const { host, port: number } = port.at;
      const url = dashboardAt(place.urlAt(number));
      context.output.printSummary();
      await keepPage(context, { folder: plan.folder.path, host, port: number, url, tls: place.tls });
    }
    return ended.code;
  } finally {
    await port.close();
  }
}

/** The page of a swarm that is over, at the address where it was live, until the person who watches presses Ctrl-C. */

import type { CommandContext } from "../command.ts";
import { openFolderPage, untilAborted } from "../dashboard/run_dashboard.ts";
import { RunHistory } from "../history/run_history.ts";
import { UserError } from "../output/errors.ts";

/** `dashboard`: where it was. Does nothing where nobody watches: without a terminal, with --json or --quiet. */
export async function keepPage(
  context: CommandContext,
  { dashboard, folder }: { dashboard: string; folder: string },
): Promise<void> {
  const { output } = context;
  const interruption = context.interruption();
  if (output.mode !== "live" || interruption.aborted) return;
  const history = new RunHistory(folder);
  try {
    await history.refresh();
    const { hostname: host, port } = new URL(dashboard);
    const page = await openFolderPage(context, { history, folder, host, port: Number(port) });
    output.line(`The dashboard stays at ${page.url} until Ctrl-C`);
    await untilAborted(interruption);
    await page.close();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    output.log.warn(`The dashboard ends with the run: ${error.message}`); // its port is taken
  } finally {
    await history.close();
  }
}

/** The work is in cli/observe/dashboard. */

import type { Command } from "../terminal/command.ts";
import { newestWithoutRun, ownRunOption } from "../terminal/options/own_run.ts";
import { listenOptions } from "../terminal/options/hub_options.ts";

export const command: Command = {
  name: "dashboard",
  summary: "show a run's folder in the browser with a slider over its whole time, or export it",
  usage: "dashboard [--run DIR] [--beside DIR] [--export FILE] [--csv FILE] [--tensorboard DIR] [options]",
  about:
    "Serves the page of a run from the records in its folder, also when the run is over, or while it is still going. A slider " +
    "shows any moment as it was live. The folder is only read. With --export it writes one HTML file that needs no server and " +
    "holds nothing that the page would not show to anyone.",
  examples: [
    "iota dashboard --run runs/demo",
    "iota dashboard --run runs/demo --port 0 --json",
    "iota dashboard --run runs/muon --beside runs/adamw",
    "iota dashboard --run runs/demo --export demo.html --csv demo.csv --tensorboard curves",
  ],
  options: [
    { name: "run", kind: "string", placeholder: "DIR", ...ownRunOption },
    { name: "beside", kind: "string", placeholder: "DIR", doc: "a second run's folder, shown at the first one's step" },
    {
      name: "export",
      kind: "string",
      placeholder: "FILE",
      doc: "write the page as one HTML file instead of serving it",
    },
    { name: "csv", kind: "string", placeholder: "FILE", doc: "write the curves, one line for each step" },
    { name: "tensorboard", kind: "string", placeholder: "DIR", doc: "write the curves as events for TensorBoard" },
    ...listenOptions({ port: 9010 }),
  ],
  rights: { read: ["--run", "--beside"], write: ["--export", "--csv", "--tensorboard"], net: "any" },
  takesOwnRun: newestWithoutRun,
  async run(context) {
    return await (await import("../observe/dashboard/run_dashboard.ts")).runDashboard(context);
  },
};

/** The work is in cli/observe/ledger. */

import type { Command } from "../terminal/command.ts";
import { newestWithoutRun, ownRunOption } from "../terminal/options/own_run.ts";

const exampleHub = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY";

export const command: Command = {
  name: "verify",
  summary: "check a run's signed log, or a model by it: every hash, signature and score, offline",
  usage: "verify [DIR|LOG|--run DIR] [--hub ADDRESS] [--model DIR]",
  about:
    "Reads the log that a run's orchestrator keeps (ledger.jsonl in its folder, and the older files beside it), checks that each " +
    "line continues the one before and that the orchestrator's signatures are right, computes every score again from the steps, reports " +
    "and verdicts in the log, and names the first line that does not follow. The run may still be going. Exit 1: a line is wrong. " +
    "With --model, says as well whether an exported model has the tensors that the run's miners agreed on.",
  examples: [
    "iota verify --run runs/demo",
    "iota verify runs/demo --json",
    `iota verify ledger.jsonl --hub ${exampleHub}`,
    "iota verify --run runs/demo --model out/model",
  ],
  options: [
    { name: "run", kind: "string", placeholder: "DIR", ...ownRunOption, doc: "the run's folder, or its log" },
    {
      name: "hub",
      kind: "string",
      placeholder: "ADDRESS",
      doc: "the orchestrator (hub) whose signatures they must be",
    },
    { name: "model", kind: "string", placeholder: "DIR", doc: "a model of that run, from iota export" },
  ],
  positionals: { max: 1, placeholder: "DIR|LOG" },
  rights: { read: "any" },
  takesOwnRun: ({ options, positionals: [place] }) => place === undefined ? newestWithoutRun({ options }) : null,
  async run(context) {
    return await (await import("../observe/ledger/run_verify.ts")).runVerify(context);
  },
};

/** The work is in cli/orchestrator/owner. */

import type { Command } from "../terminal/command.ts";
import { hotkeyOption, walletPathOption } from "../terminal/options/wallet_options.ts";

export const command: Command = {
  name: "admin",
  summary: "pause or resume a run, remove a node, set the learning rate, or stop it after a round",
  usage: "admin pause|resume|stop|kick NODE|admit NODE|rate VALUE|page [--run DIR] [options]",
  about:
    "Signs one request with the key that signs the run's log and sends it to the running orchestrator, which accepts it once. The run's " +
    "records say what was done. A pause and removed nodes outlive the orchestrator's process; work that is under way is kept. kick " +
    "takes a node's place until admit lets it join again; what it has not merged yet is lost to it. NODE is an address, at least 6 characters " +
    "of its beginning, or the name of a wallet in the run's folder. page serves the dashboard on " +
    "this machine with a button for each of these; the key stays here and signs each request.",
  examples: [
    "iota admin pause --run runs/demo",
    "iota admin rate 0.0005 --run runs/demo",
    "iota admin stop --after round --run runs/demo",
    "iota admin kick 5GrwvaEF --run runs/demo",
    "iota admin page --run runs/demo",
    "iota admin resume --orchestrator http://10.0.0.1:9009 --wallet owner",
  ],
  options: [
    {
      name: "run",
      kind: "string",
      placeholder: "DIR",
      defaultText: "the only run that runs on this machine",
      doc: "the run's folder, where its key and port are found",
    },
    {
      name: "orchestrator",
      kind: "string",
      placeholder: "URL",
      defaultText: "the port in the run's folder, on this machine",
      doc: "where the orchestrator answers",
    },
    {
      name: "wallet",
      kind: "string",
      placeholder: "NAME",
      defaultText: "the key in the run's folder",
      doc: "the wallet whose hotkey signs for the run",
    },
    hotkeyOption,
    walletPathOption,
    {
      name: "after",
      kind: "choice",
      placeholder: "WHEN",
      choices: ["round"],
      doc: "stop when the open round is merged",
    },
    {
      name: "port",
      kind: "int",
      placeholder: "PORT",
      min: 0,
      max: 65535,
      default: 9011,
      doc: "where page is served on this machine; 0 takes any free port",
    },
  ],
  positionals: {
    max: 2,
    placeholder: "ACTION",
    choices: ["pause", "resume", "kick", "admit", "rate", "stop", "page"],
  },
  rights: { read: "any", net: "any", env: "any" },
  takesOwnRun: ({ options, positionals: [action] }) =>
    action === undefined || ["run", "orchestrator"].some((name) => options.text(name) !== undefined) ? null : "running",
  async run(context) {
    return await (await import("../orchestrator/owner/run_admin.ts")).runAdmin(context);
  },
};

/** The work is in cli/chain. */

import { chainOptions, hotkeyOptions, mechanismOption, waitFinalOption } from "../terminal/options/chain_options.ts";
import type { Command, CommandContext } from "../terminal/command.ts";
import { attempting, UsageError } from "../program/errors.ts";

export const command: Command = {
  name: "chain weights",
  summary: "show a hotkey's weights, or set them",
  usage: "chain weights [--set LIST | --from FILE] [--wait] [--wait-final] [--wallet NAME] [options]",
  about:
    "Weights are shares in any unit. They are converted to a row as Bittensor's SDK does it, and a row that the chain would refuse is reported " +
    "before anything is sent. Where the subnet requires commit-reveal they are committed under a timelock that the chain opens " +
    "by itself, or with a salt that stays in the data folder until `iota chain commit --reveal`. The hotkey signs; there is no fee.",
  examples: [
    "iota chain weights --wallet miner",
    'iota chain weights --wallet owner --set "3:0.5,4:1" --wait',
    "iota chain weights --wallet owner --set 5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY=1",
    "iota chain weights --wallet owner --from scores.json --json",
  ],
  options: [
    ...chainOptions,
    ...hotkeyOptions,
    { name: "set", kind: "string", placeholder: "LIST", doc: "UID:WEIGHT or HOTKEY=WEIGHT, separated by commas" },
    { name: "from", kind: "string", placeholder: "FILE", doc: "a JSON object from hotkey to weight" },
    { name: "wait", kind: "boolean", doc: "wait for the permit and the rate limit if time alone brings them" },
    waitFinalOption,
    { name: "salted", kind: "boolean", doc: "commit with a salt even where the chain accepts timelocks" },
    {
      name: "version-key",
      kind: "string",
      placeholder: "N",
      defaultText: "what the subnet requires",
      doc: "the version key sent with the weights",
    },
    mechanismOption,
  ],
  rights: { read: "any", write: "any", net: "any", env: "any" },
  async run(context) {
    const order = await orderOf(context);
    if (order === null) return await (await import("../chain/show_weights.ts")).showWeights(context);
    return await (await import("../chain/set_weights.ts")).setWeights(context, order);
  },
};

async function orderOf({ options }: CommandContext) {
  const list = options.text("set"), path = options.text("from"), versionKey = options.text("version-key");
  if (list !== undefined && path !== undefined) {
    throw new UsageError("--set and --from exclude each other: both give the weights", {
      next: "Leave one of them out",
    });
  }
  if (versionKey !== undefined && !/^\d{1,19}$/.test(versionKey)) {
    throw new UsageError(`--version-key must be a whole number, but is '${versionKey}'`);
  }
  const { parseWeightFile, parseWeightList } = await import("../chain/weight_scores.ts");
  if (list !== undefined) return { weights: parseWeightList(list), isFromFile: false };
  if (path === undefined) {
    const idle = ["wait", "wait-final", "salted", "version-key"].find((name) => options.given(name));
    if (idle === undefined) return null;
    throw new UsageError(`--${idle} needs weights to set: --set LIST or --from FILE`, {
      next: "See iota help chain weights",
    });
  }
  const text = await attempting({ action: "read the weights in", value: path }, () => Deno.readTextFile(path));
  return { weights: parseWeightFile(text, path), isFromFile: true };
}

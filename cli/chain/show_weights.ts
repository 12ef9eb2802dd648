/**
 * `iota chain weights` and `iota chain commit` without changes: a hotkey's row, and its commits that wait for their
 * reveal.
 */

import { readView } from "../../chain/duty/read_view.ts";
import type { CommandContext } from "../terminal/command.ts";
import { plural, shortAddress } from "../terminal/text/format.ts";
import { registeredNeuron, withChain } from "./chain_access.ts";
import { alignedTable, blocksText } from "./text/chain_words.ts";
import { commitFields, commitLine } from "./text/commit_text.ts";
import { hotkeyAddressOf } from "./hotkey_address.ts";

export async function showWeights(context: CommandContext): Promise<number> {
  const { output, options } = context;
  const hotkey = await hotkeyAddressOf(context);
  const mechanism = options.number("mechanism") ?? 0;
  return await withChain(context, async ({ netuid, chain, reading, commandTo }) => {
    const view = await reading(readView(chain, { hotkey, mechanism }));
    const { metagraph: { neurons, block }, row, commits, parameters: { blockMs } } = view;
    const { uid, lastUpdateBlock, registeredAtBlock } = registeredNeuron(neurons, {
      ...{ action: "show its weights", hotkey, netuid, commandTo },
    });
    const total = row.reduce((sum, { value }) => sum + value, 0);
    const weights = row.map((each) => ({
      ...each,
      hotkey: neurons[each.uid]?.hotkey ?? "gone",
      share: each.value / total,
    }));
    for (const weight of weights) output.event({ type: "weight", ...weight });
    for (const commit of commits) output.event({ type: "commit", ...commitFields(commit, view) });
    const updatedBlock = lastUpdateBlock > registeredAtBlock ? lastUpdateBlock : null; // registration writes it too
    const age = updatedBlock === null ? "" : `, last set or committed ${blocksText(block - updatedBlock, blockMs)} ago`;
    const head = row.length === 0 ? "no weights" : plural(row.length, "weight");
    const table = alignedTable([
      { title: "uid", align: "right", text: (weight) => String(weight.uid) },
      { title: "hotkey", align: "left", text: (weight) => shortAddress(weight.hotkey) },
      { title: "weight", align: "right", text: (weight) => String(weight.value) },
      { title: "share", align: "right", text: (weight) => `${(weight.share * 100).toFixed(2)} %` },
    ], weights);
    output.answer(
      {
        netuid,
        hotkey,
        uid,
        mechanism,
        block,
        lastUpdateBlock: updatedBlock,
        weights: row.length,
        commits: commits.length,
      },
      [
        `uid ${uid} (${shortAddress(hotkey)}) has ${head} in subnet ${netuid}${age}`,
        ...(row.length === 0 ? [] : ["", output.paint.dim(table[0]!), ...table.slice(1)]),
        ...(commits.length === 0 ? [] : ["", ...commits.map((commit) => commitLine(commit, { ...view, commandTo }))]),
      ].join("\n"),
    );
    return 0;
  });
}

export async function showCommits(context: CommandContext): Promise<number> {
  const { output, options } = context;
  const hotkey = await hotkeyAddressOf(context);
  const mechanism = options.number("mechanism") ?? 0;
  return await withChain(context, async ({ netuid, chain, reading, commandTo }) => {
    const view = await reading(readView(chain, { hotkey, mechanism }));
    const { metagraph, commits } = view;
    const { uid } = registeredNeuron(metagraph.neurons, {
      ...{ action: "show its commits", hotkey, netuid, commandTo },
    });
    for (const commit of commits) output.event({ type: "commit", ...commitFields(commit, view) });
    const lines = commits.map((commit) => commitLine(commit, { ...view, commandTo }));
    output.answer(
      { netuid, hotkey, uid, mechanism, block: metagraph.block, commits: commits.length },
      lines.length === 0 ? `No weights of uid ${uid} in subnet ${netuid} wait to be revealed` : lines.join("\n"),
    );
    return 0;
  });
}

/** `iota chain metagraph` and `iota chain params`: public facts about a subnet, without a wallet. */

import type { CommandContext } from "../terminal/command.ts";
import { plural } from "../terminal/text/format.ts";
import { withChain } from "./chain_access.ts";
import { neuronFields, neuronTable, sortedNeurons, type Sorting } from "./text/neuron_table.ts";
import { parameterFields, parameterText } from "./text/parameter_text.ts";

export async function showMetagraph(context: CommandContext): Promise<number> {
  const { output, options } = context;
  return await withChain(context, async ({ chain, netuid, reading }) => {
    const [{ neurons, block }, owner] = await reading(Promise.all([chain.metagraph(), chain.parameters()]));
    const sorted = sortedNeurons(neurons, (options.text("sort") ?? "uid") as Sorting);
    const shown = sorted.slice(0, options.number("limit") ?? sorted.length);
    for (const neuron of shown) output.event({ type: "neuron", ...neuronFields(neuron, { block, owner }) });
    const validators = neurons.filter(({ hasPermit }) => hasPermit).length;
    const active = neurons.filter(({ isActive }) => isActive).length;
    const total = `subnet ${netuid} at block ${block}: ${plural(neurons.length, "neuron")}, ` +
      `${validators} with a permit, ${active} active`;
    const text = output.quiet ? [] : neuronTable(shown, { block, owner, columns: output.columns, paint: output.paint });
    output.answer(
      { endpoint: chain.endpoint, netuid, block, neurons: neurons.length, shown: shown.length, validators, active },
      [...text, ...(output.quiet ? [] : [""]), total].join("\n"),
    );
    return 0;
  });
}

export async function showParameters(context: CommandContext): Promise<number> {
  const { output } = context;
  return await withChain(context, async ({ chain, netuid, reading }) => {
    const [parameters, epoch, { neurons }, isStarted] = await reading(
      Promise.all([chain.parameters(), chain.epochState(), chain.metagraph(), chain.isStarted()]),
    );
    const subnet = { netuid, parameters, epoch, neurons: neurons.length, isStarted };
    output.answer(
      { endpoint: chain.endpoint, ...parameterFields(subnet) },
      parameterText(subnet, output.paint).join("\n"),
    );
    return 0;
  });
}

/**
 * `iota miner` with a device that sends NaN, or, with HOSTILE=flip, outputs of the wrong sign that look like others' at a
 * glance, as a program of its own: the same options, the same production code but for the passes of its device. For tests of
 * real processes.
 *
 * It keeps all permissions of its process, as a stranger's own program would.
 */

import type { Command, CommandContext } from "../../../cli/command.ts";
import { command as miner } from "../../../cli/commands/miner.ts";
import { denoHost } from "../../../cli/host.ts";
import { main } from "../../../cli/main.ts";
import { startMiner } from "../../../cli/node/miner_role.ts";
import { openNode, openSigner, runRole } from "../../../cli/node/run_node.ts";
import { hostileMiner, together } from "./hostile_node.ts";
import { oneOf, spoilsForward, spoilsGradients, times } from "./hostile_wires.ts";
import { MemoryHubBlobs } from "../../../cli/experiment/memory_hub_blobs.ts";

async function run(context: CommandContext): Promise<number> {
  const node = await openNode(context, { signer: await openSigner(context), role: "miner" });
  const spoil = Deno.env.get("HOSTILE") === "flip" ? times(-1) : oneOf(NaN);
  const hostile = together(spoilsForward(spoil), spoilsGradients(spoil));
  const own = hostileMiner({ hostile, host: node.device, store: new MemoryHubBlobs(), isOn: () => true });
  const start = () =>
    startMiner({
      ...{ link: node.link, blobs: node.blobs, ownState: null, ...own },
      onRecord: (record) => context.output.event(record),
    });
  return await runRole(context, { node, start, summary: () => ({}) });
}

const hostileCommand: Command = {
  ...miner,
  rights: { read: "any", write: "any", net: "any", run: "any", env: "any", sys: "any" },
  run,
};

if (import.meta.main) Deno.exit(await main(Deno.args, denoHost(), { miner: () => Promise.resolve(hostileCommand) }));

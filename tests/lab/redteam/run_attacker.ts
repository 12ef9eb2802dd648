/** `lab attacker`: the parts of `iota miner`, with a hostile machine, device or store among them. */

import { present } from "../../../core/assert.ts";
import type { MinerRecord } from "../../../core/miner/event.ts";
import { systemTimers } from "../../../net/timers.ts";
import type { CommandContext } from "../../../cli/terminal/command.ts";
import { startMiner } from "../../../cli/node/miner_role.ts";
import { minerLine } from "../../../cli/node/node_lines.ts";
import { openNode, openSigner } from "../../../cli/node/run_node.ts";
import { runRole } from "../../../cli/node/run_role.ts";
import { LinkMeter } from "../../../cli/node/screen/link_meter.ts";
import { hostileProcess } from "./hostile_process.ts";

export async function runAttacker(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const signer = await openSigner(context);
  const meter = new LinkMeter(() => systemTimers.steadyMs());
  const node = await openNode(context, { signer, role: "miner", meter });
  const hostile = hostileProcess(present(options.text("attack"), "--attack has a default"), node);
  const onRecord = (record: MinerRecord) => {
    output.event(record);
    const line = minerLine(record);
    if (line !== null) output.line(line);
  };
  return await runRole(context, {
    node,
    start: async () => await startMiner({ ...node, ownState: null, ...hostile, onRecord }),
    summary: () => ({ attack: options.text("attack") }),
  });
}

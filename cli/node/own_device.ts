/** The device of `--device`, opened again when it is lost, and what is said of it. */

import type { HotkeyPair } from "../../chain/wallet/hotkey.ts";
import { systemTimers } from "../../net/timers.ts";
import type { CommandContext } from "../terminal/command.ts";
import { byteOption } from "../terminal/text/byte_text.ts";
import { plural } from "../terminal/text/format.ts";
import type { ShellEvent } from "./screen/node_event.ts";
import { LastingDevice } from "../device/lasting_device.ts";
import { deviceSentence, deviceText, openDevice, sameDevice } from "../device/open_device.ts";
import { readTuning } from "../device/tuning_file.ts";

export async function openLastingDevice(context: CommandContext, signer: HotkeyPair): Promise<LastingDevice> {
  const { options, output } = context;
  const tuned = await readTuning(context.dataFolder());
  const how = { memoryBytes: byteOption("memory", options.text("memory")), threads: options.number("threads"), tuned };
  const worker = await openDevice(options.text("device"), how);
  output.event({ type: "device", ...worker.adapter });
  output.line(deviceSentence(worker));
  output.line(`This node is ${signer.address}`);
  output.detail(`Computes on ${deviceText(worker)}`);
  return new LastingDevice(worker, {
    reopen: () => openDevice(sameDevice(worker), how),
    timers: systemTimers,
    onLoss: ({ reason, losses }) => {
      output.event({ type: "deviceLost", reason, losses } satisfies ShellEvent);
      output.log.warn(`${reason}; opening it again`);
    },
    onRebuilt: ({ spec, calls }) => {
      output.event({ type: "stageRebuilt", stage: spec.index, calls } satisfies ShellEvent);
      output.line(`stage ${spec.index}: rebuilt on a new device, ${plural(calls, "call")} repeated`);
    },
  });
}

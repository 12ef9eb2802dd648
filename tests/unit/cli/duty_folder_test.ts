/** The weight duty on disk: two validators of one hotkey that save at the same time. */

import { assertEquals } from "@std/assert";
import { openDuty } from "../../../chain/duty/duty.ts";
import { hotkeyOfMiniSecret } from "../../../chain/wallet/hotkey.ts";
import { DutyFolder } from "../../../cli/chain/duty/duty_folder.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

const state = openDuty({
  netuid: 9,
  mechanism: 0,
  hotkey: hotkeyOfMiniSecret(new Uint8Array(32).fill(4)).address,
  versionKey: "3",
  beacon: { genesisMs: 0, periodMs: 3000 },
  saltSeed: "00".repeat(32),
  settleBlocks: 32,
});

Deno.test("Duty folder: one validator saves between another's write and rename, and neither loses its file", async () => {
  await withScratchFolder((folder) => {
    const warnings: string[] = [];
    const genesisHash = `0x${"ab".repeat(32)}`;
    const open = () => new DutyFolder({ folder, genesisHash, warn: (text) => warnings.push(text) });
    const [one, other] = [open(), open()];
    const rename = Deno.renameSync;
    Deno.renameSync = (from, to) => {
      Deno.renameSync = rename;
      other.save(state);
      rename(from, to);
    };
    try {
      one.save(state);
    } finally {
      Deno.renameSync = rename;
    }
    assertEquals(warnings, []);
    assertEquals(one.load(state.options).isSaved, true);
    assertEquals(Array.from(Deno.readDirSync(folder)).length, 1);
  });
});

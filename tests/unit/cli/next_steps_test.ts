/** Next steps and addresses that work as they are printed. */

import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { dispatchRows } from "../../../chain/subtensor/sending/refusal_rows.ts";
import { refusalError } from "../../../cli/chain/send_call.ts";
import { dialledUrl } from "../../../cli/chain/run_local_chain.ts";
import { mustBeCorpus } from "../../../cli/model/prepare/collect_small.ts";
import { runGenerate, sampleModel } from "../../../cli/model/generate/run_generate.ts";
import { UsageError, UserError } from "../../../cli/program/errors.ts";
import type { CommandContext } from "../../../cli/terminal/command.ts";
import { referenceHost } from "../../lab/world/devices.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

Deno.test("Generate: a file in place of a run's folder is not proposed as a folder to train in", async () => {
  await withScratchFolder(async (folder) => {
    const run = `${folder}/small.txt`;
    await Deno.writeTextFile(run, "text");
    const request = { model: run } as Parameters<typeof sampleModel>[1];
    const { next } = await assertRejects(() => sampleModel(referenceHost(), request, () => {}), UserError);
    assertMatch(next ?? "", /^That is a file: name the folder of a run/);
  });
});

Deno.test("Generate: on a machine without a run it says how to train one", async () => {
  const context = { options: { text: () => undefined } } as unknown as CommandContext;
  const { message, next } = await assertRejects(() => runGenerate(context), UsageError);
  assertMatch(message, /no run on this machine.*--run must name/);
  assertEquals(next, "Train one: iota swarm; or for example: --run runs/demo");
});

Deno.test("Corpus: the command that converts a file names it", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/my text.txt`;
    await Deno.writeFile(path, Uint8Array.of(0x41, 0xe9, 0x41));
    const { next } = await assertRejects(() => mustBeCorpus(path), UserError);
    assertEquals(next, `Convert it first, for example with: iconv -f latin1 -t utf-8 '${path}' > '${path}.utf8'`);
  });
});

Deno.test("Local chain: at all addresses it names one that others can dial", () => {
  const interfaces = [
    { name: "lo", family: "IPv4", address: "127.0.0.1" },
    { name: "eth0", family: "IPv4", address: "192.168.1.5" },
  ] as const;
  assertEquals(dialledUrl("ws://0.0.0.0:9944", { host: "0.0.0.0", interfaces }), "ws://192.168.1.5:9944");
  assertEquals(dialledUrl("ws://127.0.0.1:9944", { host: "127.0.0.1", interfaces }), "ws://127.0.0.1:9944");
});

Deno.test("Chain: a hotkey without enough stake gets the command that adds some, with this command line's options", () => {
  const [sentence, action, retry] = dispatchRows["NotEnoughStakeToSetWeights"]!;
  const commandTo = (words: string) => `iota chain ${words} --endpoint local --wallet alice`;
  const refusal = { name: "NotEnoughStakeToSetWeights", sentence, action, retry };
  const { next } = refusalError(refusal, { action: "set weights", commandTo });
  assertEquals(next, "Add stake to the hotkey: iota chain stake --amount 100 --endpoint local --wallet alice");
});

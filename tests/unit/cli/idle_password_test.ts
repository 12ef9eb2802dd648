/** A password option is used, refused, or said to be unused; it is never ignored. */

import { withCommands } from "../../support/with_commands.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { main } from "../../../cli/command_line.ts";
import { openColdkeySigner } from "../../../cli/terminal/options/wallet_options.ts";
import { coldkeyOptions } from "../../../cli/terminal/options/wallet_options.ts";
import type { Command } from "../../../cli/terminal/command.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

async function told(folder: string, words: string): Promise<{ code: number; said: string }> {
  const host = new FakeHost({ env: { HOME: folder, SECRET: "correct horse" } });
  const code = await main(["wallet", ...words.split(" "), "--wallet-path", `${folder}/wallets`], host);
  return { code, said: host.written.stderr };
}

Deno.test("Password: an option that would open and encrypt nothing is refused", async () => {
  await withScratchFolder(async (folder) => {
    const check = async (words: string, why: string) => {
      const { code, said } = await told(folder, `${words} --password-env SECRET`);
      assertEquals(code, 2, `${words}: ${said}`);
      assertStringIncludes(said, `--password-env has no effect, as there is nothing to open or encrypt: ${why}`);
    };
    await check("new --name a", "hotkeys are never encrypted here");
    await check("import --uri //Alice --name a", "hotkeys are never encrypted here");
    await check("sign --name a --message hello", "hotkeys are never encrypted here");
    await check(
      `regen --name a --coldkey --address 5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY`,
      "an address is public",
    );
    assertEquals((await told(folder, "new --name a")).code, 0);
    const path = `${folder}/wallets/a/hotkeys/default`;
    await check(`import ${path} --name b`, `${path} is not encrypted, and hotkeys are never encrypted here`);
  });
});

Deno.test("Password: a coldkey that is not encrypted is opened, and the unused option is said", async () => {
  await withScratchFolder(async (folder) => {
    assertEquals((await told(folder, "import --uri //Alice --name a --coldkey --no-password")).code, 0);
    const command: Command = {
      ...{ name: "pay", summary: "pay", usage: "pay", examples: [], options: coldkeyOptions },
      run: async (context) => (await openColdkeySigner(context)).address.length > 0 ? 0 : 1,
    };
    const host = new FakeHost({ env: { HOME: folder, SECRET: "correct horse" } });
    const words = ["pay", "--wallet", "a", "--wallet-path", `${folder}/wallets`, "--password-env", "SECRET"];
    assertEquals(await main(words, host, withCommands({ pay: () => Promise.resolve(command) })), 0);
    assertStringIncludes(host.written.stderr, "--password-env was not used as");
    assertStringIncludes(host.written.stderr, "a/coldkey is not encrypted: anyone who reads it owns it");
  });
});

/** `iota wallet` as scripts use it: every action as a real process, its exit codes, files and JSON. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { iota } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const alice = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY";
const developmentPhrase = "bottom drive obey lake curtain smoke basket hold race lonely fit walk"; // public
const developmentAddress = "5DfhGyQdFobKM8NsWvEeAKk5EQQgYe9AydgJ7rMB6E1EqRzV";

interface Answer {
  readonly code: number;
  readonly last: Readonly<Record<string, unknown>>; // the last line of stdout
  readonly printed: string;
}

/** Runs one action with --json in its own home. */
async function wallet(folder: string, words: string, more: readonly string[] = []): Promise<Answer> {
  const { code, stdout, stderr } = await iota(["wallet", ...words.split(" "), ...more, "--data", folder, "--json"], {
    HOME: folder,
    SECRET: "correct horse",
  });
  const lines = stdout.trimEnd().split("\n");
  return { code, last: JSON.parse(lines.at(-1)!) as Answer["last"], printed: stdout + stderr };
}

Deno.test("iota wallet: new, then show by the wallet's name alone", async () => {
  await withScratchFolder(async (folder) => {
    const made = await wallet(folder, "new --name t --hotkey h");
    const shown = await wallet(folder, "show --name t");
    assertEquals([made.code, shown.code], [0, 0], made.printed + shown.printed);
    assertEquals([made.last["type"], shown.last["type"]], ["summary", "summary"]);
    assertEquals(shown.last["address"], made.last["address"]);
    assertEquals(shown.last["path"], `${folder}/wallets/t/hotkeys/h`);
    await wallet(folder, "new --name t --hotkey i");
    const unclear = await wallet(folder, "show --name t");
    assertEquals([unclear.code, unclear.last["next"]], [1, "Name it: --hotkey h"]);
    assertEquals((await wallet(folder, "show --name t --hotkey i")).code, 0);
  });
});

Deno.test("iota wallet: a program gets the mnemonic only when it asks, and makes the key again with it", async () => {
  await withScratchFolder(async (folder) => {
    const { last } = await wallet(folder, "new --name t --show-mnemonic");
    await Deno.writeTextFile(`${folder}/words`, `${last["mnemonic"]}\n`, { mode: 0o600 });
    const again = await wallet(folder, "regen --name u --from", [`${folder}/words`]);
    assertEquals([again.code, again.last["address"]], [0, last["address"]], again.printed);
    assert(!again.printed.includes(String(last["mnemonic"])));
    const silent = await wallet(folder, "new --name v");
    const { secretPhrase } = JSON.parse(await Deno.readTextFile(String(silent.last["path"])));
    assertEquals(silent.last["mnemonicStoredIn"], silent.last["path"]);
    assert(!silent.printed.includes(secretPhrase));
    const refused = await wallet(folder, "regen --name u --from", [`${folder}/words`]);
    assertEquals(refused.code, 1);
    assertStringIncludes(refused.printed, "--overwrite");
    assertEquals((await wallet(folder, "regen --name u --overwrite --from", [`${folder}/words`])).code, 0);
  });
});

Deno.test("iota wallet: a bad secret is refused without being quoted", async () => {
  await withScratchFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/words`, developmentPhrase.replace("walk", "curtain"), { mode: 0o600 });
    const refused = await wallet(folder, "regen --from", [`${folder}/words`, "--verbose"]);
    assertEquals([refused.code, refused.last["type"]], [1, "error"]);
    assert(!refused.printed.includes("basket"), refused.printed);
    const onLine = await wallet(folder, "import --uri", [developmentPhrase]);
    assertEquals(onLine.code, 2);
    assert(!onLine.printed.includes("basket"), onLine.printed);
    const asked = await wallet(folder, "regen"); // stdin is not a terminal
    assertEquals(asked.code, 2);
    assertStringIncludes(asked.printed, "are not a terminal");
  });
});

Deno.test("iota wallet: import takes development accounts and key files, list and show name them", async () => {
  await withScratchFolder(async (folder) => {
    const coldkey = await wallet(folder, "import --uri //Alice --name alice --coldkey --no-password");
    assertEquals([coldkey.code, coldkey.last["address"]], [0, alice], coldkey.printed);
    assertEquals((await wallet(folder, "import --uri //Alice --name alice")).last["address"], alice);
    await Deno.writeTextFile(`${folder}/old`, developmentPhrase);
    const old = await wallet(folder, "import --name old", [`${folder}/old`]);
    assertEquals([old.code, old.last["address"]], [0, developmentAddress], old.printed);
    await wallet(folder, `regen --name old --coldkey --address ${alice}`);
    const shown = (await wallet(folder, "show --name old")).last;
    assertEquals([shown["coldkey"], shown["coldkeyState"]], [alice, "public only"]);
    const listed = await wallet(folder, "list");
    assertEquals([listed.code, listed.last["wallets"], listed.last["hotkeys"]], [0, 2, 2]);
    const names = listed.printed.split("\n").flatMap((line) =>
      line.match(/^\{"type":"wallet","name":"(\w+)"/)?.[1] ?? []
    );
    assertEquals(names, ["alice", "old"]);
  });
});

Deno.test("iota wallet: an encrypted coldkey signs with its password, and anybody verifies", async () => {
  await withScratchFolder(async (folder) => {
    const made = await wallet(folder, "new --name owner --coldkey --password-env SECRET");
    assertEquals([made.code, made.last["isEncrypted"]], [0, true], made.printed);
    assert(!made.printed.includes("correct horse"));
    const signed = await wallet(folder, "sign --name owner --coldkey --password-env SECRET --message hello");
    assertEquals([signed.code, signed.last["address"]], [0, made.last["address"]], signed.printed);
    const signature = String(signed.last["signature"]);
    const verify = (message: string) =>
      wallet(folder, `verify --message ${message} --signature ${signature} --address ${made.last["address"]}`);
    const [right, wrong] = [await verify("hello"), await verify("hallo")];
    assertEquals([right.code, right.last["isValid"], wrong.code, wrong.last["isValid"]], [0, true, 1, false]);
    const own = await wallet(folder, `verify --name owner --coldkey --message hello --signature ${signature}`);
    assertEquals(own.code, 0);
  });
});

Deno.test("iota wallet: a wrong command line exits with 2 and says why", async () => {
  await withScratchFolder(async (folder) => {
    const check = async (words: string, says: string) => {
      const { code, printed } = await wallet(folder, words);
      assertEquals(code, 2, printed);
      assertStringIncludes(printed, says);
    };
    await check("nwe", "Did you mean new?");
    await check("new extra", "takes nothing");
    await check("new --coldkey --hotkey h", "a wallet's coldkey belongs to no hotkey");
    await check("new --no-password", "hotkeys are never encrypted");
    await check("new --coldkey", "are not a terminal");
    await check("import", "either a file or --uri");
    await check("sign", "--message TEXT");
    await check("verify --message hello", "--signature is missing");
    await check("verify --message hello --signature 0x12 --name t", "128 hex digits");
    await check("regen --coldkey --address nobody", "is not an ss58 address");
    for (const name of ["../up", "a/b", ".."]) {
      const { code, printed } = await wallet(folder, `new --name ${name}`);
      assertEquals(code, 1, printed);
      assertStringIncludes(printed, "plain file name");
    }
  });
});

Deno.test("iota wallet: each action explains itself with examples", async () => {
  const actions = ["new", "list", "show", "import", "regen", "sign", "verify"];
  const { stdout } = await iota(["wallet", "--help"]);
  for (const action of actions) {
    assertStringIncludes(stdout, `\n  ${action} `);
    const help = await iota(["wallet", action, "--help"]);
    assertEquals([help.code, help.stderr], [0, ""]);
    assertStringIncludes(help.stdout, `Examples\n  iota wallet ${action}`);
    assertEquals((await iota(["help", "wallet", action])).stdout, help.stdout);
  }
});

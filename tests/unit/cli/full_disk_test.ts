/** What a person reads when a key or the embedded chain cannot be written: the cause, and a step that fits it. */

import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type ChainStoreError, storeProblem } from "../../../chain/local/state/chain_store.ts";
import { fileError } from "../../../chain/wallet/key_disk.ts";
import { storeError } from "../../../cli/chain/run_local_chain.ts";
import { explaining } from "../../../cli/terminal/options/wallet_options.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { ownKeyError } from "../../../cli/orchestrator/run/hub_key.ts";
import { WalletError } from "../../../chain/wallet/wallet_error.ts";

const failed = (code: string) => Object.assign(new Error(`${code}, as the system says it`), { code });
const keyError = (code: string) => fileError(failed(code), "/keys/hot") as WalletError;
const place = { folder: "/keys", wallet: "m4", hotkey: "default" };

async function walletNext(error: Error): Promise<string | undefined> {
  return (await assertRejects(() => explaining(place, () => Promise.reject(error)), UserError)).next;
}

Deno.test("Full disk: a wallet's key, a run's own key and the chain each get room as their next step", async () => {
  for (const code of ["ENOSPC", "EDQUOT"]) {
    const error = keyError(code);
    assertMatch(error.message, /^Cannot write \/keys\/hot: the disk is full$/);
    assertMatch(await walletNext(error) ?? "", /^Free some space, .*--wallet-path DIR$/);
    assertMatch(ownKeyError(error).next ?? "", /^Free some space, .*--data DIR$/);
  }
  const chain = storeProblem("/data/chain.sqlite", new Error("database or disk is full"));
  const { message, next } = storeError(chain as ChainStoreError, "/data");
  assertEquals(message, "Cannot use the chain at /data/chain.sqlite as the disk is full");
  assertMatch(next ?? "", /^Free some space, .*--data DIR$/);
});

Deno.test("Key files: permissions are the next step only where they are the cause, and a damaged key is replaced", async () => {
  assertMatch(await walletNext(keyError("EACCES")) ?? "", /^Change the folder's permissions/);
  assertMatch(ownKeyError(keyError("EROFS")).next ?? "", /^Change the folder's permissions.*--data DIR$/);
  assertEquals(
    await walletNext(new WalletError("malformed", "not a key")),
    "Make it again from its mnemonic: iota wallet regen --name m4 --wallet-path /keys --overwrite",
  );
});

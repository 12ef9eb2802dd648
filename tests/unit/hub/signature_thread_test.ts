/** The thread that checks signatures: a real one, with real keys. */

import { assertEquals } from "@std/assert";
import { hotkeyOfMiniSecret, verifySignature } from "../../../chain/wallet/hotkey.ts";
import { SignatureThread } from "../../../cli/roles/signatures/signature_thread.ts";
import { nodeId } from "../../../core/ids.ts";
import { type SignedStatement, type Statement, statementText } from "../../../core/statements/statement.ts";

const run = "demo";
const key = hotkeyOfMiniSecret(new Uint8Array(32).fill(5));
const statement: Statement = { type: "model", round: 1, parameters: ["initial"], loss: 4, tokens: 64 };
const right: SignedStatement = {
  ...{ signer: nodeId(key.address), statement },
  signature: key.sign(new TextEncoder().encode(statementText(run, statement))).toHex(),
};

Deno.test("Signature thread: it says of each whether it is genuine, in order, and ends when it is closed", async () => {
  const thread = new SignatureThread({ run, verify: verifySignature, warn: () => {} });
  const wrong: SignedStatement = { ...right, statement: { ...statement, loss: 3 } };
  const results = await Promise.all([
    thread.check([right, wrong]),
    thread.check([{ ...right, signature: "" }, { ...right, signer: nodeId("nobody") }, right]),
  ]);
  assertEquals(results, [[true, false], [false, false, true]]);
  thread.close();
});

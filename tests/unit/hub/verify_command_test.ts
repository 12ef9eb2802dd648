/** What `iota verify` and `iota explain` say of a log, of one that others have written to, and of files that are none. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { chainLine } from "../../../cli/files/chain_line.ts";
import { openLedgerLog } from "../../../cli/observe/ledger/ledger_log.ts";
import type { VerifiedLedger } from "../../../cli/observe/ledger/verify_ledger.ts";
import { textOf } from "../../../cli/observe/ledger/verify_text.ts";
import { main } from "../../../cli/command_line.ts";
import { verifySignature } from "../../../chain/wallet/hotkey.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";
import { type NodeId, nodeId } from "../../../core/ids.ts";
import type { LogEntry } from "../../../core/ledger/entry.ts";
import { recordLedger } from "../../support/ledger_folder.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

Deno.test("Signed log: a file that is none is named by its first line, and a head of nonsense is not a head", () =>
  withScratchFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/ledger.jsonl`, "root:x:0\n");
    await Deno.writeTextFile(`${folder}/ledger.jsonl.head`, "null");
    const host = new FakeHost();
    assertEquals(await main(["verify", folder], host), 1);
    assertEquals(host.written.stdout.trim(), "WRONG: the first wrong line is 1: it is not a line of a log");
  }));

Deno.test("Signed log: one without lines is refused, as one that is missing", () =>
  withScratchFolder(async (folder) => {
    for (const words of [["verify", folder], ["explain", "miner-0", "--run", folder]]) {
      for (const content of [null, ""]) {
        if (content !== null) await Deno.writeTextFile(`${folder}/ledger.jsonl`, content);
        const host = new FakeHost();
        assertEquals(await main(words, host), 1, words.join(" "));
        assertStringIncludes(host.written.stderr, "There is no signed log in");
        assertEquals(host.written.stdout, "");
        if (content !== null) await Deno.remove(`${folder}/ledger.jsonl`);
      }
    }
  }));

const [right, wrong, validator] = ["5Right", "5Wrong", "5Judge"].map(nodeId) as [NodeId, NodeId, NodeId];

async function said(words: readonly string[]) {
  const host = new FakeHost();
  const status = await main([...words], host);
  return { status, ...host.written };
}

Deno.test("Signed log: lines that somebody appended tell nothing of a node", () =>
  withScratchFolder(async (folder) => {
    await recordLedger(folder, { right, wrong, validator });
    const before = await said(["explain", right, "--run", folder]);
    assertStringIncludes(before.stderr, "It does not say that the run is over");
    const path = `${folder}/ledger.jsonl`;
    const lines = (await Deno.readTextFile(path)).trimEnd().split("\n");
    const { line, hash } = JSON.parse(lines.at(-2)!);
    const head = { line: line + 1, hash: JSON.parse(lines.at(-1)!).hash ?? hash };
    const blamed: LogEntry = { type: "blamed", node: right, code: "badNumbers", detail: "a lie" };
    await Deno.writeTextFile(path, `${chainLine(head, { entry: blamed }).text}\n`, { append: true });
    const after = await said(["explain", right, "--run", folder]);
    assertEquals([after.status, after.stdout], [0, before.stdout]);
    assertStringIncludes(after.stderr, "Only lines that the orchestrator has signed are used");
    assertStringIncludes((await said(["verify", folder])).stdout, "Signed up to line");
  }));

Deno.test("Signed log: a node that is not in it is told a few that are", () =>
  withScratchFolder(async (folder) => {
    await recordLedger(folder, { right, wrong, validator });
    const { status, stderr } = await said(["explain", "5Nobody", "--run", folder]);
    assertEquals(status, 1);
    assertStringIncludes(stderr, "it is not a node of the run");
    assertStringIncludes(stderr, right);
  }));

Deno.test("Signed log: whose it must be is a whole address", () =>
  withScratchFolder(async (folder) => {
    await recordLedger(folder, { right, wrong, validator });
    const { hub } = JSON.parse((await said(["verify", folder, "--json"])).stdout);
    const own = await said(["verify", folder, "--hub", hub]);
    assertEquals([own.status, own.stdout.endsWith("\n\n")], [0, false]);
    const part = await said(["verify", folder, "--hub", hub.slice(0, 10)]);
    assertEquals([part.status, part.stdout], [2, ""]);
    assertStringIncludes(part.stderr, "--hub must be a whole address");
    const other = await said(["verify", folder, "--hub", "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"]);
    assertEquals(other.status, 1);
    assertStringIncludes(other.stderr, `The log is signed by ${hub}, not by`);
  }));

Deno.test("Signed log: a run begun where another run's log lies keeps that aside and pays nobody for it", () =>
  withScratchFolder(async (folder) => {
    await recordLedger(folder, { right, wrong, validator });
    const before = await Deno.readTextFile(`${folder}/ledger.jsonl`);
    const warned: string[] = [];
    const log = await openLedgerLog({
      ...{ folder, run: "another", timers: new ManualTimers(), warn: (text: string) => warned.push(text) },
      ...{ signer: { address: nodeId("5Hub"), sign: () => new Uint8Array(64) }, verify: verifySignature },
    });
    assertEquals(log.past, { reports: [], expelled: [] });
    log.close();
    assertEquals(await Deno.readTextFile(`${folder}/put-aside-1-ledger.jsonl`), before);
    assertEquals(warned.length, 1);
    assertStringIncludes(warned[0]!, "is of another run, demo");
  }));

Deno.test("Signed log: the verdict comes first: complete, complete as far as it goes, unsigned, wrong", () => {
  const whole = {
    ...{ run: "demo", hub: "5Hub", firstLine: 1, lines: 9, signedLine: 9, wrong: null, isEnded: true },
    ...{ lostLines: 0, tornBytes: 0, unprovenRounds: 0, foreignHead: null, from: null },
  } as unknown as VerifiedLedger;
  const first = (changes: Partial<VerifiedLedger>) => textOf({ ...whole, ...changes })[0];
  assertEquals(first({}), "OK: the log is complete and untampered");
  assertStringIncludes(first({ isEnded: false })!, "OK as far as it goes");
  assertStringIncludes(first({ signedLine: 0 })!, "UNSIGNED");
  assertEquals(first({ wrong: { line: 3, why: "a hash" } }), "WRONG: the first wrong line is 3: a hash");
  assertEquals(textOf(whole, { isOtherHub: true })[0], "Run demo, orchestrator 5Hub");
});

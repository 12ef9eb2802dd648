/** What the owner of a run may ask of its orchestrator, who the owner is, and what a restart still knows. */

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { createHash } from "node:crypto";
import { adminPath, openAdminPage } from "../../../cli/orchestrator/owner/admin_page.ts";
import { readOwnerDecisions } from "../../../cli/orchestrator/owner/owner_file.ts";
import type { OwnerRequest } from "../../../cli/orchestrator/owner/owner_request.ts";
import { RunOwner } from "../../../cli/orchestrator/owner/run_owner.ts";
import { Holds } from "../../../cli/orchestrator/hub/run_pause.ts";
import type { SettingChange } from "../../../core/settings/change.ts";
import { addressOrBeginning } from "../../../cli/orchestrator/owner/named_node.ts";
import { UsageError } from "../../../cli/program/errors.ts";
import { createHotkey } from "../../../chain/wallet/hotkey_files.ts";
import { parsed } from "../../../core/fault.ts";
import { nodeId } from "../../../core/ids.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import { createAuthorize } from "../../../net/auth/request_auth.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { countingRandom, ManualTimers } from "../../support/net/manual_timers.ts";
import { testSigner, testVerify } from "../../support/net/test_keys.ts";
import { testTickets } from "../../support/net/test_tickets.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const owner = testSigner(1);
const stranger = testSigner(2);
const node = testSigner(3).address;
const twin = nodeId(`${node.slice(0, 20)}${"1".repeat(node.length - 20)}`); // begins as the node does

function world() {
  const timers = new ManualTimers();
  const acted: OwnerRequest[] = [];
  const open = () =>
    openAdminPage({
      ...{ run: "run", owner: owner.address, verify: testVerify, limits: defaultNetLimits, timers },
      tickets: testTickets({ hub: owner.address, timers }),
      act: (request) => {
        acted.push(request);
        return Promise.resolve(parsed("done"));
      },
    });
  const to = { receiver: owner.address, timers, random: countingRandom() };
  const authorizes = createAuthorize({ signer: owner, ...to }); // no nonce twice
  const signed = (text: string, signer = owner) => {
    const authorize = signer === owner ? authorizes : createAuthorize({ signer, ...to });
    const bodyHash = createHash("sha256").update(text).digest("hex");
    return new Request(`http://hub${adminPath}`, {
      method: "POST",
      body: text,
      headers: authorize({ method: "POST", target: adminPath, bodyHash }),
    });
  };
  return { timers, acted, open, signed };
}

const call = (request: unknown, run = "run") => JSON.stringify({ run, request });

Deno.test("Owner: only the key that signs the run may ask, once, for this run, with this body", async () => {
  const { timers, acted, open, signed } = world();
  const page = open();
  const status = async (request: Request) => (await page(request, "")).status;
  const first = signed(call({ action: "pause" }));
  const replay = first.clone();
  assertEquals([await status(first), await status(replay)], [200, 401]);
  assertEquals(await status(signed(call({ action: "pause" }), stranger)), 403);
  assertEquals(await status(signed(call({ action: "pause" }, "another"))), 401);
  const good = signed(call({ action: "resume" }));
  assertEquals(
    await status(new Request(good.url, { method: "POST", headers: good.headers, body: call({ action: "stop" }) })),
    401,
  );
  assertEquals(await status(new Request(good.url, { method: "POST", body: call({ action: "stop" }) })), 401);
  const late = signed(call({ action: "stop" }));
  timers.advance(defaultNetLimits.clockSkewMs + 1);
  assertEquals(await status(late), 401);
  assertEquals(acted, [{ action: "pause" }]);
});

Deno.test("Owner: strangers with wrong signatures use up the checks of their own address alone", async () => {
  const { open, signed } = world();
  const page = open();
  const forged = () => new Request(signed(call({ action: "pause" })), { body: call({ action: "stop" }) });
  for (let i = 0; i < defaultNetLimits.failedSignaturesPerSecond; i++) {
    assertEquals((await page(forged(), "theirs")).status, 401);
  }
  const fromTheirs = await page(signed(call({ action: "pause" })), "theirs");
  assertMatch(await fromTheirs.text(), /Too many signatures were wrong/);
  assertEquals((await page(signed(call({ action: "pause" })), "ours")).status, 200);
});

Deno.test("Owner: a request from before a restart is refused, as the new process has not seen what was accepted", async () => {
  const { timers, open, signed } = world();
  const before = signed(call({ action: "stop" }));
  timers.advance(5);
  const refused = await open()(before, "");
  assertEquals(refused.status, 401);
  assertMatch((await refused.json()).detail, /signed before this process started; send it again/);
});

Deno.test("Owner: whatever else the owner's key signs is refused in a sentence, and acts on nothing", async () => {
  const { acted, open, signed } = world();
  const page = open();
  const bodies = [
    ...["", "{", "null", `{"run":"run"}`, call({ action: "erase" }), call({ action: "kick" })],
    ...[
      call({ action: "kick", node: "x" }),
      call({ action: "rate", learningRate: 7 }),
      call({ action: "stop", more: 1 }),
    ],
    call({ action: "rate", learningRate: "1e-3" }),
    `"${"x".repeat(5_000)}"`,
  ];
  for (const body of bodies) {
    const response = await page(signed(body), "");
    assert(response.status >= 400 && response.status < 500, body);
    assertMatch((await response.json()).detail, /is not|longer|must be|node/, body);
  }
  assertEquals(acted, []);
});

interface Heard {
  readonly deeds: string[];
  readonly records: RunRecord[];
  readonly changes: SettingChange[];
  readonly isHalted: boolean; // the run waits before it repeats a lost round
}

async function ownerOf(folder: string, { isHalted = false } = {}) {
  const heard: Heard = { deeds: [], records: [], changes: [], isHalted };
  const { deeds } = heard;
  const later: (() => void)[] = [];
  const members: OrchestratorState["members"] = new Map([node, twin].map((each) => [each, {} as never]));
  const state = { config: tinyConfig(), members } as OrchestratorState;
  const role = {
    state,
    isMember: (other: string) => other === node,
    holdForOwner: (isHeld: boolean) => void deeds.push(isHeld ? "hold" : "release"),
    dismiss: (other: string, { fault }: { fault: { code: string } }) =>
      void deeds.push(`dismiss ${other === node} ${fault.code}`),
    retryRound: () => heard.isHalted && deeds.push("retry") > 0,
    changeSettings: (changes: readonly SettingChange[]) => void heard.changes.push(...changes),
    stop: (reason: string) => void deeds.push(`stop: ${reason}`),
  };
  const run = new RunOwner({
    ...{ folder, decisions: await readOwnerDecisions(folder), role: () => role },
    tell: (record) => heard.records.push(record),
    saveSettings: () => Promise.resolve(void deeds.push("saved")),
    later: (callback) => later.push(callback),
  });
  const said = async (request: OwnerRequest) => {
    const done = await run.act(request);
    return done.ok ? done.value : done.fault.detail;
  };
  return { run, said, ...heard, settle: () => later.splice(0).forEach((callback) => callback()) };
}

Deno.test("Owner: a node is named by its address, or by a beginning of it that no other has", async () => {
  await withScratchFolder(async (folder) => {
    const { said, deeds } = await ownerOf(folder);
    const both = await said({ action: "kick", node: node.slice(0, 20) });
    assertEquals(both, `2 addresses begin with ${node.slice(0, 20)}: ${node}, ${twin}`);
    assertMatch(await said({ action: "kick", node: node.slice(0, 21) }), new RegExp(`^${node} is removed`));
    assertEquals(deeds, ["dismiss true notAdmitted"]);
    assertMatch(await said({ action: "admit", node: node.slice(0, 6) }), new RegExp(`^${node} may join again`));
  });
});

Deno.test("Owner: a wallet in the run's folder names its node; too few characters of an address do not", async () => {
  await withScratchFolder(async (folder) => {
    const { pair } = await createHotkey({ folder: `${folder}/wallets`, wallet: "miner-0", hotkey: "default" });
    assertEquals(await addressOrBeginning("miner-0", folder), pair.address);
    assertEquals(await addressOrBeginning(node.slice(0, 6), folder), node.slice(0, 6));
    for (const text of [node.slice(0, 5), "miner-1", "../wallets/miner-0", ""]) {
      await assertRejects(() => addressOrBeginning(text, folder), UsageError, "give at least 6 characters");
    }
  });
});

Deno.test("Owner: a pause and a removed node outlive the process; each is recorded, and contradictions are named", async () => {
  await withScratchFolder(async (folder) => {
    const first = await ownerOf(folder);
    first.run.begin();
    assertMatch(await first.said({ action: "resume" }), /Cannot resume the run: its owner has not paused it/);
    assertMatch(await first.said({ action: "pause" }), /paused; iota admin resume/);
    assertMatch(await first.said({ action: "pause" }), /Cannot pause the run: its owner has already paused it/);
    assertMatch(
      await first.said({ action: "kick", node: stranger.address }),
      /There is no member of the run whose address is or begins with 5/,
    );
    assertMatch(await first.said({ action: "kick", node }), /is removed as soon as the run goes on/);
    assertEquals(first.deeds, ["hold", "dismiss true notAdmitted"]);
    assertEquals(first.run.check(stranger.address), null);

    const second = await ownerOf(folder);
    second.run.begin();
    assertEquals(second.records, [{ type: "ownerActed", action: "pause" }]);
    assertEquals([second.deeds, second.run.check(node)?.code], [["hold"], "notAdmitted"]);
    assertMatch(await second.said({ action: "admit", node }), /may join again/);
    assertMatch(
      await second.said({ action: "admit", node }),
      /There is no node that the owner has removed whose address/,
    );
    assertMatch(await second.said({ action: "resume" }), /goes on/);
    assertEquals([second.run.check(node), second.deeds.at(-1)], [null, "release"]);
    assertEquals(await readOwnerDecisions(folder), { isPaused: false, removed: [] });
    await Deno.writeTextFile(`${folder}/owner.json`, "{");
    await assertRejects(() => readOwnerDecisions(folder), Error, "Cannot read the owner's decisions");
  });
});

Deno.test("Owner: the learning rate changes by an event, kept for the next start; a stop waits for the round if asked", async () => {
  await withScratchFolder(async (folder) => {
    const { run, said, changes, deeds, records, settle } = await ownerOf(folder);
    const { learningRate } = tinyConfig().train;
    assertMatch(await said({ action: "rate", learningRate }), /already/);
    assertMatch(await said({ action: "rate", learningRate: 0.5 }), /Cannot set the learning rate: .* at most 0.01/);
    assertMatch(await said({ action: "rate", learningRate: learningRate / 2 }), /from the next step on/);
    assertEquals(changes, [{ path: "train.learningRate", from: learningRate, to: learningRate / 2 }]);
    run.onRecord({ type: "runContinued", pausedMs: 1 });
    await said({ action: "stopAfterRound" });
    const merged = { round: 1, stages: [], bytesPerMiner: 1, mergeMs: 1, draws: "" };
    settle();
    assertEquals([deeds, run.hasStopped], [["saved"], false]);
    run.onRecord({ type: "roundMerged", ...merged });
    settle();
    assertEquals([deeds, run.hasStopped], [["saved", "stop: the run's owner stopped it"], true]);
    assertEquals(records.map((record) => record.type === "ownerActed" && record.action), ["rate", "stopAfterRound"]);
  });
});

Deno.test("Holds: the run goes on when neither a full disk nor its owner holds it", () => {
  const calls: string[] = [];
  const holds = new Holds({ hold: () => calls.push("hold"), resume: () => calls.push("resume") });
  holds.release("owner");
  holds.hold("owner");
  holds.hold("disk");
  holds.release("disk");
  assertEquals(calls, ["hold"]);
  holds.hold("disk");
  holds.release("owner");
  holds.release("owner");
  holds.release("disk");
  assertEquals(calls, ["hold", "resume"]);
});

Deno.test("Owner: to resume a run that is halted repeats its lost round at once", () =>
  withScratchFolder(async (folder) => {
    const { said, deeds, records } = await ownerOf(folder, { isHalted: true });
    assertMatch(await said({ action: "resume" }), /repeats the round/);
    assertEquals([deeds, records], [["retry"], [{ type: "ownerActed", action: "resume" }]]);
  }));

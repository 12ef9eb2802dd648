/** A patched miner against a run of real processes, over real sockets: what its ticket gets it from the orchestrator's port. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { blobHash, type NodeId } from "../../core/ids.ts";
import type { ParameterSource } from "../../core/protocol/message.ts";
import { HttpBlobs } from "../../net/blobs/blob_http.ts";
import { dialWebSocket } from "../../net/links/client.ts";
import { defaultNetLimits } from "../../net/limits.ts";
import { createAuthorize } from "../../net/auth/request_auth.ts";
import { systemRandom, systemTimers } from "../../net/timers.ts";
import { assertProblem } from "../conformance/blobs_suite.ts";
import { IotaProcess, type Line } from "../support/process/iota_process.ts";
import { PatchedNode } from "../support/attack/patched_node.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const toy = ["--size", "toy", "--device", "cpu", "--json", "--replicas", "2", "--sample-tokens", "0"];

interface Published {
  readonly url: string;
  readonly hub: NodeId;
  readonly run: string;
}

Deno.test("Access: a miner of a running swarm gets its own stage, and 403 for the others although it knows their names", async () => {
  await withScratchFolder(async (folder) => {
    const swarm = new IotaProcess(["swarm", ...toy, "--steps", "4000", "--data", folder]);
    const { url } = await swarm.lines.next("listening") as Line & Published;
    await swarm.lines.next("checkpointWritten");
    const miner = new PatchedNode({ seed: 77, role: "miner", dial: dialWebSocket, timers: systemTimers, url });
    const liar = new PatchedNode({ seed: 78, role: "miner", dial: dialWebSocket, timers: systemTimers, url });
    try {
      const ticket = await miner.connect();
      await liar.connect();
      liar.join("validator");
      assertStringIncludes((await liar.told.next("reject")).fault.detail, "but its hello proved the role");
      miner.join("miner");
      const { stage, round, source } = await miner.told.next("assign");
      assert(source.type === "blobs");
      const merged = swarm.lines.all.find((line) => line.type === "roundMerged" && line["round"] === round);
      const names = merged!["stages"] as { stage: number; parameters: string }[];
      const by = { signer: miner.signer, timers: systemTimers, random: systemRandom };
      const store = new HttpBlobs({
        url: url.replace("ws", "http"),
        authorize: createAuthorize({ ...by, receiver: ticket.hub, ticket }),
        blobBytes: defaultNetLimits.blobBytes,
        timers: systemTimers,
        random: systemRandom,
      });
      const others = names.filter((each) => each.stage !== stage).map(({ parameters }) => parameters);
      assertEquals(others.length, 2);
      for (const hash of [...others, "ab".repeat(32)].map(blobHash)) {
        assertStringIncludes(await assertProblem(() => store.get(hash), "refused"), "work does not need it");
        await assertProblem(() => store.leaves(hash), "refused");
      }
      // Its own, unless the run has gone on since; then the next assignment names what it may read.
      let assigned: { readonly source: ParameterSource } = { source };
      for (let tries = 0; tries < 5; tries++) {
        const { source: from } = assigned;
        assert(from.type === "blobs");
        const bytes = await store.get(from.parameters.hash).catch(() => null);
        if (bytes !== null) return assertEquals(bytes.length, from.parameters.bytes);
        assigned = await miner.told.next("assign");
      }
      throw new Error("the miner never got its own stage");
    } finally {
      miner.close();
      liar.close();
      swarm.kill("SIGINT");
      await swarm.ended;
    }
  });
});

Deno.test("Access: a miner with a pinned orchestrator refuses another one at that address", async () => {
  await withScratchFolder(async (folder) => {
    const wallets = ["--wallet", "hot", "--wallet-path", `${folder}/wallets`];
    await new IotaProcess(["wallet", "new", "--name", "hot", "--wallet-path", `${folder}/wallets`]).ended;
    const orchestrate = (data: string, port: string) =>
      new IotaProcess(["orchestrate", "--size", "toy", "--json", "--data", `${folder}/${data}`, "--port", port]);
    const mine = (url: string, words: string[]) =>
      new IotaProcess([
        ...["miner", "--orchestrator", url, ...wallets, "--device", "cpu", "--json"],
        ...["--data", `${folder}/miner`, ...words],
      ]);
    const end = async (process: IotaProcess) => {
      process.kill("SIGINT");
      return await process.ended;
    };
    const first = orchestrate("first", "0");
    const known = await first.lines.next("listening") as Line & Published;
    const before = mine(known.url, []);
    await before.lines.next("welcomed");
    await end(before);
    await end(first);
    const impostor = orchestrate("second", new URL(known.url).port);
    const found = await impostor.lines.next("listening") as Line & Published;
    assertEquals(found.url, known.url);
    const { code, stderr } = await mine(known.url, ["--hub", known.hub]).ended;
    assertEquals(code, 1);
    assertStringIncludes(stderr, `The orchestrator's address is ${found.hub}, not the expected ${known.hub}`);
    const wrongRun = await mine(known.url, ["--hub", found.hub, "--run", known.run]).ended;
    assertStringIncludes(wrongRun.stderr, `This orchestrator serves run '${found.run}', not '${known.run}'`);
    const meant = mine(known.url, ["--hub", found.hub]);
    await meant.lines.next("welcomed");
    await end(meant);
    const again = mine(known.url, []); // on this machine what was met before does not bind
    await again.lines.next("welcomed");
    await end(again);
    const mistyped = await mine(known.url, ["--hub", "nobody"]).ended;
    assertMatch(mistyped.stderr, /--hub must be an orchestrator's ss58 address/);
    await end(impostor);
  });
});

/** A swarm that goes on training a model that transformers wrote, over a kill of its orchestrator, and what comes out. */

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { iota, IotaProcess } from "../support/process/iota_process.ts";
import { openModel } from "../../cli/model/source/open_model.ts";
import { identify } from "../../cli/model/source/start_model.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const llama = new URL("../vectors/export/llama", import.meta.url).pathname;

const hashOf = async (folder: string): Promise<string> =>
  (await identify({ name: "", source: await openModel(folder, () => {}) })).parameters;

Deno.test("From a model: a swarm trains it in stages and over a kill, its log says which it was, and a Llama comes out", async () => {
  await withScratchFolder(async (folder) => {
    const [run, out] = [`${folder}/run`, `${folder}/out`];
    const words = ["swarm", "--from", llama, "--codec", "none", "--steps", "6", "--replicas", "1", "--chain", "none"];
    const place = ["--device", "cpu", "--sample-tokens", "0", "--data", run, "--json"];
    const swarm = new IotaProcess([...words, ...place, "--chaos", "kill-orchestrator at step 2"]);
    const { code, stderr } = await swarm.ended;
    assertEquals(code, 0, stderr);
    const { steps, orchestratorKills, stageHashesAgree } = swarm.lines.all.at(-1)!;
    assertEquals([steps, orchestratorKills, stageHashesAgree], [6, 1, true]);
    const parameters = await hashOf(llama);
    const began = swarm.lines.all.filter(({ type }) => type === "beganFrom");
    assertEquals(began, [{ type: "beganFrom", name: "llama", parameters }]);
    assertEquals(await hashOf(`${run}/checkpoints/round-000000`), parameters, "it began with these very bits");
    const losses = swarm.lines.all.filter(({ type }) => type === "stepClosed").map(({ loss }) => Number(loss));
    assert(losses.at(-1)! < losses[0]! - 0.5, losses.join());

    const verified = await iota(["verify", run]);
    assertEquals(verified.code, 0, verified.stderr);
    assertMatch(verified.stdout, new RegExp(`It began from the model llama, parameters ${parameters}`));
    assertMatch(await Deno.readTextFile(`${run}/run.toml`), new RegExp(`model 'llama', parameters ${parameters}`));
    const exported = await iota(["export", "--run", run, "--out", out]);
    assertEquals(exported.code, 0, exported.stderr);
    assertMatch(exported.stdout, /a plain Llama/);
    assertNotEquals(await hashOf(out), parameters, "training moved it");
    assertEquals(JSON.parse(await Deno.readTextFile(`${out}/config.json`)).vocab_size, 260);
  });
});

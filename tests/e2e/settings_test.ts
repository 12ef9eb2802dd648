/** Settings in files reach the process that needs them, and what a machine cannot carry is refused before anything starts. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { iota, IotaProcess } from "../support/process/iota_process.ts";
import { noGpuReason } from "../support/gpu_adapter.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { writeSmallCorpus } from "../support/process/small_corpus.ts";
import { testWhere } from "../support/test_where.ts";

Deno.test("Settings: a text named with --set is used for training, and the run resumes without the file", async () => {
  await withScratchFolder(async (folder) => {
    const corpus = await writeSmallCorpus(folder);
    const data = ["--data", `${folder}/run`, "--port", "0", "--json"];
    const listens = async (words: readonly string[]) => {
      const hub = new IotaProcess(["orchestrate", ...words, ...data]);
      const first = await Promise.race([hub.lines.next("listening"), hub.ended]);
      assert("type" in first, JSON.stringify(first));
      const text = hub.lines.all.find(({ type }) => type === "text");
      hub.kill("SIGTERM");
      assertEquals((await hub.ended).code, 0);
      return text?.["tokens"];
    };
    const tokens = await listens(["--size", "toy", "--set", `data.corpus=${corpus}`]);
    await Deno.remove(corpus);
    assertEquals(await listens(["--resume"]), tokens);
  });
});

Deno.test("Settings: a swarm trains on the text of its file, on loopback whatever [hub] says", async () => {
  await withScratchFolder(async (folder) => {
    const corpus = await writeSmallCorpus(folder);
    const file = `${folder}/run.toml`;
    const hub = '[hub]\nhost = "203.0.113.9"\ntlsCert = "none.pem"\ntlsKey = "none.pem"\n';
    const train = "[pipeline]\nstages = 1\n[swarm]\nreplicas = 1\nvalidators = 0\n[train]\nsteps = 2\n";
    await Deno.writeTextFile(file, `size = "toy"\n[data]\ncorpus = "${corpus}"\n${train}${hub}`);
    const words = ["swarm", "--config", file, "--data", `${folder}/run`, "--device", "cpu", "--chain", "none"];
    const { code, stdout, stderr } = await iota([...words, "--sample-tokens", "0", "--json"]);
    assertEquals(code, 0, stderr);
    const summary = JSON.parse(stdout.trim().split("\n").at(-1)!);
    assertEquals([summary.finished, summary.steps], [true, 2]);
    assertEquals(summary.stageHashesAgree, true);
  });
});

Deno.test("Settings: a run stopped before its first merge does not claim equal hashes", async () => {
  await withScratchFolder(async (folder) => {
    const corpus = await writeSmallCorpus(folder);
    const words = ["orchestrate", "--size", "toy", "--corpus", corpus, "--port", "0", "--data", `${folder}/run`];
    const hub = new IotaProcess([...words, "--json"]);
    await hub.lines.next("listening");
    hub.kill("SIGTERM");
    const { stdout } = await hub.ended;
    assertEquals(JSON.parse(stdout.trim().split("\n").at(-1)!).stageHashesAgree, null);
  });
});

testWhere(noGpuReason, "Preflight: a size beyond the adapter is refused before the swarm starts", async () => {
  await withScratchFolder(async (folder) => {
    const { code, stderr } = await iota(["swarm", "--size", "15b", "--stages", "1", "--data", `${folder}/run`]);
    assertEquals(code, 1);
    assertMatch(stderr, /Cannot train size 15b here: .* not fit/);
    assertStringIncludes(stderr, "Choose a smaller model with --size");
    assertEquals(await Deno.stat(`${folder}/run`).catch(() => null), null);
  });
});

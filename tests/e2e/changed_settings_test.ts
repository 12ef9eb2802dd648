/** A run resumed with other settings: applied and recorded, or refused by name. Real processes, one after another. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { JournalMark } from "../../cli/orchestrator/journal/journal_mark.ts";
import { iota, IotaProcess, type Line } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const begin = 'size = "toy"\n[train]\nsteps = 40\nlearningRate = 0.004\n';

interface Life {
  readonly changes: readonly string[];
  readonly host: string;
  readonly port: number;
  readonly steps: number;
}

/** One life that is stopped as soon as it listens. */
async function live(words: readonly string[]): Promise<Life> {
  const hub = new IotaProcess(["orchestrate", ...words, "--json"]);
  const { url } = await hub.lines.next("listening") as Line & { url: string };
  hub.kill("SIGTERM");
  const { code, stderr } = await hub.ended;
  assertEquals(code, 0, stderr);
  const { config } = hub.lines.all.find((line) => line.type === "config") as Line & {
    config: { train: { steps: number } };
  };
  const changed = hub.lines.all.filter((line) => line.type === "settingChanged");
  for (const { path, from, to } of changed) assert(stderr.includes(`Changed ${path}: ${from} → ${to}`), stderr);
  return {
    changes: changed.map(({ path, from, to }) => `${path} ${from} ${to}`),
    host: new URL(url).hostname,
    port: Number(new URL(url).port),
    steps: config.train.steps,
  };
}

Deno.test("Changed settings: a resumed run applies them by name, keeps them, and listens where it did", async () => {
  await withScratchFolder(async (folder) => {
    const file = `${folder}/run.toml`;
    const data = ["--data", `${folder}/run`];
    const given = ["--config", file, ...data];
    await Deno.writeTextFile(file, begin);
    const first = await live([...given, "--host", "127.0.0.2", "--port", "0"]);
    assertEquals([first.changes, first.host], [[], "127.0.0.2"]);
    const again = await live(given);
    assertEquals(again, first, "the same file changes nothing, and the host and port survive");

    await Deno.writeTextFile(file, begin.replace("40", "60").replace("0.004", "0.002") + "[limits]\nleaseMs = 50000\n");
    const changed = await live(given);
    assertEquals(changed.changes, [
      "train.steps 40 60",
      "train.learningRate 0.004 0.002",
      "limits.leaseMs 30000 50000",
    ]);
    const text = await Deno.readTextFile(`${folder}/run/run.toml`);
    assertMatch(text, /^learningRate = 0\.002 .*changed at step 0/m);
    assertMatch(text, /^# Changed at step 0: train\.steps: 40 → 60$/m);
    assertEquals(await live(data), { ...first, steps: 60 }, "what is not mentioned stays as it was changed");
    assertEquals((await live([...data, "--steps", "80"])).changes, ["train.steps 60 80"]);
    assertEquals((await live([...given, "--host", "127.0.0.3"])).host, "127.0.0.3");
  });
});

Deno.test("Changed settings: what must stay is refused with its line, and nothing of the run is touched", async () => {
  await withScratchFolder(async (folder) => {
    const file = `${folder}/run.toml`;
    const given = ["orchestrate", "--config", file, "--data", `${folder}/run`];
    await Deno.writeTextFile(file, begin);
    await live([...given.slice(1), "--port", "0"]);
    const saved = await Deno.readTextFile(`${folder}/run/run.json`);
    await Deno.writeTextFile(file, `${begin}[model]\nwidth = 64\n[chain]\nnetuid = 3\n[data]\ncorpus = "other.txt"\n`);
    const { code, stderr } = await iota(given);
    assertEquals(code, 1, stderr);
    assertMatch(
      stderr,
      /run\.toml:6: model\.width must stay 32 for the whole run, and is now 64/,
    );
    assertMatch(stderr, /run\.toml:8: chain\.netuid must stay 9 .* now 3/);
    assertMatch(stderr, /run\.toml:10: data\.corpus must stay "sotu" .* "other\.txt"/);
    assertMatch(stderr, /next {2}Undo that change, or begin another run, .*--data DIR.*--fresh/);
    const typed = await iota(["orchestrate", "--codec", "none", "--data", `${folder}/run`]);
    assertEquals([typed.code, /pipeline\.codec must stay "iota"/.test(typed.stderr)], [2, true]);
    await Deno.writeTextFile(file, `${begin}stepsPerRound = 50\n`);
    assertMatch((await iota(given)).stderr, /run\.toml:5: .*train\.stepsPerRound must not be larger than train\.steps/);
    assertEquals(await Deno.readTextFile(`${folder}/run/run.json`), saved);
    const none = await iota(["orchestrate", "--resume", "--data", `${folder}/empty`]);
    assertEquals([none.code, /Cannot resume: '.*\/empty' holds no run/.test(none.stderr)], [1, true]);
  });
});

Deno.test("Changed settings: a run is not given fewer steps than it has done, and only a line that sets steps is named", async () => {
  await withScratchFolder(async (folder) => {
    const data = ["--data", `${folder}/run`];
    await live(["--size", "toy", "--steps", "40", "--port", "0", ...data]);
    const mark = new JournalMark(`${folder}/run/journal.db.mark`);
    mark.write({ sequence: 900, round: 2, step: 12 });
    mark.close();
    const saved = await Deno.readTextFile(`${folder}/run/run.json`);
    const typed = await iota(["orchestrate", "--steps", "10", ...data]);
    assertEquals(typed.code, 2, typed.stderr);
    assertMatch(typed.stderr, /train\.steps is 10, but the run has already done 12 steps/);
    assertMatch(typed.stderr, /next {2}Pass more than 12: the run now has --steps 40/);
    await Deno.writeTextFile(`${folder}/run.toml`, "[train]\nsteps = 12\n");
    const inFile = await iota(["orchestrate", "--config", `${folder}/run.toml`, ...data]);
    assertMatch(inFile.stderr, /run\.toml:2: train\.steps is 12, but/);
    assertEquals(await Deno.readTextFile(`${folder}/run/run.json`), saved);
  });
});

Deno.test("Changed settings: a second orchestrator of a run is told that it is running, not that its port is", async () => {
  await withScratchFolder(async (folder) => {
    const words = ["orchestrate", "--size", "toy", "--data", `${folder}/run`];
    const hub = new IotaProcess([...words, "--port", "0", "--json"]);
    const { url } = await hub.lines.next("listening");
    const second = await iota(words);
    const third = await iota([...words, "--port", "0", "--set", "train.learningRate=0.001"]);
    hub.kill("SIGTERM");
    assertEquals([second.code, third.code, (await hub.ended).code], [1, 1, 0], second.stderr);
    const held = `it is in use by iota orchestrate, process ${hub.pid}, which listens at port ${
      new URL(String(url)).port
    }`;
    assertStringIncludes(second.stderr, held);
    assertStringIncludes(third.stderr, held);
    assert(third.stderr.startsWith("error "), "nothing is said to have changed");
  });
});

Deno.test("Changed settings: a text shorter than a sequence leaves no folder behind", async () => {
  await withScratchFolder(async (folder) => {
    const words = Array.from({ length: 120 }, (_, i) => `word${i * 7919} of ${i * i}`);
    await Deno.writeTextFile(`${folder}/small.txt`, `${words.join(" ")}\n\n${"x".repeat(3000)}\n\n${words.join(", ")}`);
    const own = ["--corpus", `${folder}/small.txt`, "--data", `${folder}/run`, "--port", "0"];
    const { code, stderr } = await iota([
      "orchestrate",
      "--size",
      "toy",
      "--set",
      "model.contextLength=8192",
      "--set",
      "model.vocabSize=320",
      ...own,
    ]);
    assertEquals(code, 1, stderr);
    assertMatch(
      stderr,
      /Cannot cut a sequence of 8192 tokens: the [a-z-]+ text needs at least 8193 tokens and has \d+/,
    );
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["small.txt"]);
  });
});

Deno.test("Changed settings: a run that could not begin leaves nothing to go on with", async () => {
  await withScratchFolder(async (folder) => {
    const words = ["--size", "toy", "--port", "0", "--data", `${folder}/run`];
    const failed = await iota(["orchestrate", ...words, "--corpus", `${folder}/missing.txt`]);
    assertEquals([failed.code, /missing\.txt/.test(failed.stderr)], [1, true], failed.stderr);
    assertEquals((await live(words)).changes, []);
  });
});

Deno.test("Changed settings: without --data a run is in the folder of its name, and is found there again", async () => {
  await withScratchFolder(async (folder) => {
    const env = { HOME: folder, XDG_DATA_HOME: `${folder}/data` };
    await Deno.writeTextFile(`${folder}/run.toml`, `name = "own"\n${begin}`);
    const words = ["orchestrate", "--config", `${folder}/run.toml`, "--port", "0", "--json"];
    for (const event of ["listening", "resumed"]) {
      const hub = new IotaProcess(words, env);
      await hub.lines.next(event);
      hub.kill("SIGTERM");
      assertEquals((await hub.ended).code, 0);
    }
    assertEquals(Array.from(Deno.readDirSync(`${folder}/data/iota/runs`), ({ name }) => name), ["own"]);
    const other = await iota([...words.slice(0, -1), "--set", "name=second", "--resume"], env);
    await Deno.writeTextFile(`${folder}/run.toml`, `name = "own"\n${begin}[model]\nwidth = 64\n`);
    const refused = await iota(words, env);
    assertMatch(
      refused.stderr,
      /'.*\/runs\/own': it is the folder of that name; change name in .*run\.toml:1, or .*--data DIR/,
    );
    assertMatch(other.stderr, /Cannot resume: '.*\/runs\/second' holds no run/);
  });
});

Deno.test("Changed settings: each file of config init names its own run", async () => {
  await withScratchFolder(async (folder) => {
    assertEquals((await iota(["config", "init", `${folder}/run.toml`, "--size", "toy"])).code, 0);
    assertMatch(await Deno.readTextFile(`${folder}/run.toml`), /^name = "toy-\d{8}-\d{6}"/m);
    const hub = new IotaProcess([
      ...["orchestrate", "--config", `${folder}/run.toml`, "--port", "0", "--data", `${folder}/d`],
    ]);
    await hub.printed.next(/^Run kept in .*\/d; begins$/);
    hub.kill("SIGTERM");
    assertEquals((await hub.ended).code, 0);
  });
});

Deno.test("Changed settings: a run whose run.toml was taken away is resumed, and has the file again", async () => {
  await withScratchFolder(async (folder) => {
    const data = ["--data", `${folder}/run`];
    const first = await live(["--size", "toy", "--steps", "7", "--port", "0", ...data]);
    await Deno.rename(`${folder}/run/run.toml`, `${folder}/next.toml`);
    assertEquals(await live(data), first);
    assertMatch(await Deno.readTextFile(`${folder}/run/run.toml`), /^steps = 7 .*restored/m);
    const kept = Array.from(Deno.readDirSync(`${folder}/run`), ({ name }) => name).filter((name) => /^put/.test(name));
    assertEquals(kept, []);
  });
});

Deno.test("Changed settings: a person's own run.toml in the run's folder is refused, and the command that moves it works", async () => {
  await withScratchFolder(async (folder) => {
    const own = `${folder}/own`;
    const file = `${own}/run.toml`;
    await Deno.mkdir(own);
    await Deno.writeTextFile(file, begin);
    const words = ["orchestrate", "--config", file, "--data", own];
    for (const more of [[], ["--fresh"]]) {
      const { code, stderr } = await iota([...words, ...more]);
      assertEquals(code, 1);
      assertMatch(stderr, /own' for a run: iota would overwrite its run\.toml/);
      assertEquals(await Deno.readTextFile(file), begin);
    }
    const { stderr } = await iota(words);
    const move = /mv \S+ \S+\.toml/.exec(stderr)![0];
    assertEquals((await new Deno.Command("sh", { args: ["-c", move] }).output()).success, true);
    assertEquals((await live(["--config", `${own}.toml`, "--port", "0", "--data", own])).steps, 40);
  });
});

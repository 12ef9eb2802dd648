/**
 * A run's folder after damage: the newest verifiable state among journal, mark and newest whole checkpoint wins, losses
 * are reported, and anything newer is kept.
 */

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { sha256Hex } from "../../../cli/files/file_entry.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { exists } from "../../../cli/files/run_folder.ts";
import { keyOf, nextBelow, openStream, type Stream } from "../../../core/prng.ts";
import { copyFolder, leaveRun, reopen } from "../../support/swarm/damaged_run.ts";
import { withMemoryFolder } from "../../support/scratch_folder.ts";
import { tinyConfig } from "../../support/tiny_model.ts";
import { isWhole } from "../../support/whole.ts";

const config = tinyConfig({
  model: { width: 32, contextLength: 8 },
  train: { steps: 40, stepsPerRound: 2, microbatchesPerStep: 2 },
  swarm: { replicas: 1, validators: 0 },
});
const longRounds = tinyConfig({ ...config, train: { ...config.train, stepsPerRound: 40 } });

/** Two rounds with checkpoints, and one step of the third round. */
async function withRun(
  body: (world: { left: { round: number; step: number }; again: (name: string) => Promise<string> }) => Promise<void>,
  options: { config?: typeof config; until?: { round: number; step: number } } = {},
): Promise<void> {
  const { until = { round: 2, step: 5 } } = options;
  await withMemoryFolder(async (root) => {
    const left = await leaveRun({
      config: options.config ?? config,
      folder: `${root}/run`,
      copy: `${root}/left`,
      isThere: ({ round, step, upload }) => round === until.round && step >= until.step && upload === null,
    });
    await body({
      left,
      again: async (name) => {
        await copyFolder(`${root}/left`, `${root}/${name}`);
        return `${root}/${name}`;
      },
    });
  });
}

/** Contents of every checkpoint file, anywhere below the checkpoints. */
async function checkpointHashes(folder: string): Promise<Set<string>> {
  const hashes = new Set<string>();
  for await (const { name } of Deno.readDir(`${folder}/checkpoints`)) {
    for await (const file of Deno.readDir(`${folder}/checkpoints/${name}`)) {
      hashes.add(sha256Hex(await Deno.readFile(`${folder}/checkpoints/${name}/${file.name}`)));
    }
  }
  return hashes;
}

const isBefore = (a: { round: number; step: number }, b: { round: number; step: number }) =>
  a.round < b.round || (a.round === b.round && a.step < b.step);

async function flip(path: string, { stream, count }: { stream: Stream; count: number }): Promise<void> {
  const bytes = await Deno.readFile(path);
  for (let i = 0; i < count; i++) bytes[nextBelow(stream, bytes.length)]! ^= 1 + nextBelow(stream, 255);
  await Deno.writeFile(path, bytes);
}

async function cut(path: string, share: number): Promise<void> {
  const { size } = await Deno.stat(path);
  await Deno.truncate(path, Math.floor(size * share));
}

/** What lay there is gone, in file and log. */
async function replaceJournal(folder: string, text: string): Promise<void> {
  await Deno.writeTextFile(`${folder}/journal.db`, text);
  if (await exists(`${folder}/journal.db-wal`)) await Deno.remove(`${folder}/journal.db-wal`);
}

const damages: readonly { name: string; damage: (journal: string, stream: Stream) => Promise<void> }[] = [
  {
    name: "three bytes of file and log",
    damage: async (journal, stream) => {
      await flip(journal, { stream, count: 3 });
      await flip(`${journal}-wal`, { stream, count: 3 });
    },
  },
  { name: "three bytes of the log", damage: (journal, stream) => flip(`${journal}-wal`, { stream, count: 3 }) },
  { name: "half a log", damage: (journal) => cut(`${journal}-wal`, 0.5) },
  { name: "some of the log", damage: (journal, stream) => cut(`${journal}-wal`, nextBelow(stream, 1000) / 1000) },
  { name: "no log", damage: (journal) => Deno.remove(`${journal}-wal`) },
  { name: "some of the file", damage: (journal, stream) => cut(journal, nextBelow(stream, 1000) / 1000) },
  { name: "no file", damage: (journal) => Deno.remove(journal) },
  {
    name: "nothing of the journal",
    damage: async (journal) => {
      await Deno.remove(journal);
      await Deno.remove(`${journal}-wal`);
    },
  },
];

const seedsEach = isWhole ? 12 : 3;

Deno.test("Damage: whatever is lost of a journal, the newest provable state wins, and it is said", async () => {
  await withRun(async ({ left, again }) => {
    assertEquals(left.round, 2);
    let silent = 0;
    let older = 0;
    for (const { name, damage } of damages) {
      for (let seed = 1; seed <= seedsEach; seed++) {
        const stream = openStream(keyOf(seed, name));
        const folder = await again(`${name} ${seed}`);
        const before = await checkpointHashes(folder);
        await damage(`${folder}/journal.db`, stream);
        const found = await reopen(folder, config);
        const what = `${name}, seed ${seed}: ${JSON.stringify(found)}`;
        assert(!isBefore(found, { round: 2, step: 4 }), `before the newest whole checkpoint: ${what}`);
        assert(found.warnings.length > 0 || !isBefore(found, left), `a loss in silence: ${what}`);
        const after = await checkpointHashes(folder);
        assertEquals([...before].filter((hash) => !after.has(hash)), [], what);
        if (isBefore(found, left)) older += 1;
        if (found.warnings.length === 0) silent += 1;
      }
    }
    assert(older > seedsEach && silent < 3 * seedsEach, `${older} older, ${silent} silent`);
  });
});

Deno.test("Damage: a journal that lost its tail says how much, and the run resumes from it if no checkpoint is newer", async () => {
  await withRun(async ({ again }) => {
    const folder = await again("half");
    await cut(`${folder}/journal.db-wal`, 0.7);
    const found = await reopen(folder, longRounds);
    assertEquals(found.round, 0);
    const text = found.warnings.find((warning) => /lost its last \d+ entries/.test(warning));
    assertStringIncludes(text ?? found.warnings.join("\n"), "the run was at round 0, step 5, and resumes from round 0");
  }, { config: longRounds, until: { round: 0, step: 5 } });
});

Deno.test("Damage: an older journal and its older mark are overtaken by a newer checkpoint", async () => {
  await withRun(async ({ again }) => {
    const folder = await again("both");
    await withRun(async (early) => { // a copy made in round 1 is put back
      const old = await early.again("old");
      await Deno.remove(`${folder}/journal.db-wal`);
      for (const suffix of ["", "-wal", ".mark"]) {
        await Deno.copyFile(`${old}/journal.db${suffix}`, `${folder}/journal.db${suffix}`);
      }
    }, { until: { round: 1, step: 4 } });
    const { round, step, warnings } = await reopen(folder, config);
    assertEquals([round, step], [2, 4]);
    assertStringIncludes(warnings.join("\n"), "is at round 1, step 4, which is before the newest whole checkpoint");
    assertStringIncludes(warnings.join("\n"), "kept as");
    assert((await Deno.stat(`${folder}/put-aside-1-journal.db`)).size > 0);
  });
});

Deno.test("Damage: every journal that is put aside gets its own name", async () => {
  await withRun(async ({ again }) => {
    const folder = await again("twice");
    for (const number of [1, 2, 3]) {
      await replaceJournal(folder, `no journal ${number}`);
      await reopen(folder, config);
    }
    for (const number of [1, 2, 3]) {
      const text = await Deno.readTextFile(`${folder}/put-aside-${number}-journal.db`);
      assertEquals(text, `no journal ${number}`);
    }
  });
});

Deno.test("Damage: a rotten newest checkpoint is passed over, kept, and never in the way of the next one", async () => {
  await withRun(async ({ left, again }) => {
    const folder = await again("rotten");
    const place = `${folder}/checkpoints/round-000002`;
    await flip(`${place}/stage-0.safetensors`, { stream: openStream(keyOf(1, "rot")), count: 3 });
    const rotten = await Deno.readFile(`${place}/stage-0.safetensors`);
    await replaceJournal(folder, "no journal");
    const { round, step, warnings } = await reopen(folder, config);
    assertEquals([round, step], [1, 2]);
    assertStringIncludes(warnings.join("\n"), `the run was at round 2, step ${left.step}`);
    assertStringIncludes(warnings.join("\n"), "resumes from the checkpoint of round 1, step 2");
    const kept = await Deno.readFile(`${folder}/checkpoints/put-aside-1-round-000002/stage-0.safetensors`);
    assertEquals(kept, rotten);
  });
});

Deno.test("Damage: with nothing left to go on from, nothing is touched and nothing is offered for deletion", async () => {
  await withRun(async ({ left, again }) => {
    const folder = await again("nothing");
    for (const round of [1, 2]) await cut(`${folder}/checkpoints/round-00000${round}/stage-1.safetensors`, 0.9);
    await replaceJournal(folder, "no journal");
    const error = await assertRejects(() => reopen(folder, config), UserError, "no whole checkpoint");
    assertStringIncludes(error.message, `the run was at round 2, step ${left.step}`);
    assert(!`${error.next}`.includes("--fresh"), error.next);
    assertEquals(await Deno.readTextFile(`${folder}/journal.db`), "no journal");
    assert((await Deno.stat(`${folder}/checkpoints/round-000002`)).isDirectory);
  });
});

Deno.test("Damage: a journal lost before the first checkpoint begins the run again, with a sentence", async () => {
  await withRun(async ({ again }) => {
    const folder = await again("young");
    await replaceJournal(folder, "no journal");
    const found = await reopen(folder, longRounds);
    assertEquals([found.round, found.step], [0, 0]);
    assertStringIncludes(found.warnings.join("\n"), "the run was at round 0, step 5");
    assertStringIncludes(found.warnings.join("\n"), "resumes from step 0: it had no checkpoint yet");
  }, { config: longRounds, until: { round: 0, step: 5 } });
});

Deno.test("Damage: a mark that is gone or torn is said, and costs nothing of the journal", async () => {
  await withRun(async ({ left, again }) => {
    const spoil = [
      (path: string) => Deno.remove(path),
      (path: string) => Deno.writeTextFile(path, ""),
      (path: string) => flip(path, { stream: openStream(keyOf(1, "mark")), count: 1 }),
    ];
    for (const [index, damage] of spoil.entries()) {
      const folder = await again(`${index}`);
      await damage(`${folder}/journal.db.mark`);
      const { round, step, warnings } = await reopen(folder, config);
      assertEquals([round, step], [left.round, left.step]);
      assertStringIncludes(warnings.join("\n"), "cannot be detected");
    }
  });
});

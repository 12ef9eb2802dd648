/** Checkpoints: written checkpoints read back; after a kill at any operation no corrupt one is ever used. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  checkpointName,
  type CheckpointState,
  latestCheckpoint,
  pruneCheckpoints,
  readMomentum,
  readStage,
  type StageVectors,
  writeCheckpoint,
} from "../../../cli/model/checkpoint/checkpoint.ts";
import { CheckpointError, readManifest } from "../../../cli/model/checkpoint/manifest.ts";
import { type Disk, realDisk } from "../../../cli/files/disk.ts";
import { sha256Hex } from "../../../cli/files/file_entry.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { initialParameters } from "../../../core/model/initial.ts";
import { parameterTable } from "../../../core/model/spec.ts";
import { failingDisk, Killed } from "../../support/failing_disk.ts";
import { withMemoryFolder } from "../../support/scratch_folder.ts";
import { specsOf, tinyConfig } from "../../support/tiny_model.ts";
import { slowTest } from "../../support/whole.ts";

const config = tinyConfig({ model: { width: 32 } });
const tables = specsOf(config).map(parameterTable);

function stateOf(round: number): CheckpointState {
  return {
    runId: "toy-1",
    round,
    step: round * 2,
    microbatch: round * 8,
    config,
    tokenizerHash: "a1".repeat(32),
    datasetHash: "b2".repeat(32),
  };
}

/** The stages after `round`: values that no other round has. */
function stagesOf(round: number, options: { momentum?: boolean } = {}): StageVectors[] {
  return tables.map((table, stage) => {
    const parameters = initialParameters(table, 100 * round + stage);
    return options.momentum
      ? { table, parameters, momentum: parameters.map((value) => value / 2) }
      : { table, parameters };
  });
}

const write = (folder: string, round: number) =>
  writeCheckpoint({ folder, state: stateOf(round), stages: stagesOf(round) });

async function latestRound(folder: string, warnings: string[] = []): Promise<number | null> {
  return (await latestCheckpoint(folder, (message) => warnings.push(message)))?.manifest.round ?? null;
}

async function assertHolds(folder: string, round: number): Promise<void> {
  for (const [stage, { table, parameters }] of stagesOf(round).entries()) {
    assertEquals(await readStage({ folder, stage, table }), parameters);
  }
}

Deno.test("Checkpoint: parameters, momentum and manifest read back", async () => {
  await withMemoryFolder(async (root) => {
    const stages = stagesOf(12, { momentum: true });
    const folder = await writeCheckpoint({ folder: root, state: stateOf(12), stages });
    assertEquals(folder, `${root}/round-000012`);
    const manifest = await readManifest(folder);
    for (const [stage, { table, parameters, momentum }] of stages.entries()) {
      assertEquals(await readStage({ folder, stage, table }), parameters);
      assertEquals(await readMomentum({ folder, stage, table }), momentum ?? null);
      assertEquals(manifest.parameterHashes[stage], sha256Hex(new Uint8Array(parameters.buffer)));
    }
    const { parameterHashes: _, momentumHashes, files, format, ...state } = manifest;
    assertEquals(state, stateOf(12));
    assertEquals([format, momentumHashes.length, files.length], ["iota-checkpoint-1", 3, 6]);
  });
});

Deno.test("Checkpoint: without outer momentum there is none to read, and a stage too many is refused", async () => {
  await withMemoryFolder(async (root) => {
    const folder = await write(root, 1);
    const table = tables[0]!;
    assertEquals(await readMomentum({ folder, stage: 0, table }), null);
    await assertRejects(() => readStage({ folder, stage: 3, table }), CheckpointError, "it has no stage 3");
    await assertRejects(() => readStage({ folder, stage: 1, table }), UserError, "must be in it");
  });
});

Deno.test("latestCheckpoint: the newest whole one; none in an empty or missing folder", async () => {
  await withMemoryFolder(async (root) => {
    assertEquals(await latestRound(`${root}/none`), null);
    assertEquals(await latestRound(root), null);
    for (const round of [2, 9, 10]) await write(root, round);
    await Deno.mkdir(`${root}/round-000011`);
    await Deno.mkdir(`${root}/notes`);
    const warnings: string[] = [];
    assertEquals(await latestRound(root, warnings), 10);
    assertEquals(warnings.length, 1);
    assert(warnings[0]?.includes("round-000011") && warnings[0].includes("manifest.json is missing"));
  });
});

Deno.test("latestCheckpoint: damage of any file is noticed, and the one before is used", async () => {
  await withMemoryFolder(async (root) => {
    await write(root, 1);
    const damage = async (name: string, change: (bytes: Uint8Array) => Uint8Array, warning: string) => {
      const path = `${await write(root, 2)}/${name}`;
      Deno.writeFileSync(path, change(Deno.readFileSync(path)));
      const warnings: string[] = [];
      assertEquals(await latestRound(root, warnings), 1);
      assert(warnings[0]?.includes(warning), warnings[0]);
    };
    const flip = (bytes: Uint8Array) => bytes.map((byte, i) => i === bytes.length - 9 ? byte ^ 4 : byte);
    const half = (bytes: Uint8Array) => bytes.slice(0, bytes.length / 2);
    await damage("stage-1.safetensors", flip, "stage-1.safetensors must have the hash");
    await damage("stage-2.safetensors", half, "stage-2.safetensors must have");
    await damage("manifest.json", half, "manifest.json is damaged");
    await damage("manifest.json", () => new TextEncoder().encode('{"format":"iota-checkpoint-0"}'), "damaged (format");
    await Deno.remove(`${await write(root, 2)}/stage-0.safetensors`);
    assertEquals(await latestRound(root), 1);
  });
});

Deno.test("latestCheckpoint: a folder copied to another number is none, and the newest one of its own name is used", async () => {
  await withMemoryFolder(async (root) => {
    const copyAs = async (from: string, name: string) => {
      await Deno.mkdir(`${root}/${name}`);
      for await (const file of Deno.readDir(from)) {
        await Deno.copyFile(`${from}/${file.name}`, `${root}/${name}/${file.name}`);
      }
    };
    const folder = await write(root, 1);
    await write(root, 2);
    await copyAs(folder, "round-000009");
    const warnings: string[] = [];
    assertEquals(await latestRound(root, warnings), 2);
    assert(warnings[0]?.includes("named for round 9, and its manifest.json is of round 1"), warnings[0]);
  });
});

Deno.test("readStage: values that do not have the manifest's hash are refused", async () => {
  await withMemoryFolder(async (root) => {
    const folder = await write(root, 1);
    const path = `${folder}/stage-0.safetensors`;
    const bytes = Deno.readFileSync(path);
    bytes[bytes.length - 3]! ^= 1;
    Deno.writeFileSync(path, bytes);
    await assertRejects(
      () => readStage({ folder, stage: 0, table: tables[0]! }),
      CheckpointError,
      "must have values of hash",
    );
  });
});

Deno.test("writeCheckpoint: a kill at any operation leaves the round before, or the whole new one", async () => {
  await withMemoryFolder(async (root) => {
    const counting = failingDisk(Infinity);
    const writeOn = (disk: ReturnType<typeof failingDisk>) =>
      writeCheckpoint({ folder: root, state: stateOf(2), stages: stagesOf(2), disk });
    const seen = new Map<number | null, number>();
    await write(root, 1);
    await writeOn(counting);
    for (let survives = 0; survives < counting.operations; survives++) {
      await realDisk.remove(`${root}/round-000002`);
      await assertRejects(() => writeOn(failingDisk(survives)), Killed);
      const round = await latestRound(root);
      assert(round === 1 || round === 2, `after ${survives} operations: ${round}`);
      await assertHolds(`${root}/${checkpointName(round)}`, round);
      seen.set(round, (seen.get(round) ?? 0) + 1);
    }
    assert(counting.operations > 20);
    assertEquals(seen.get(2), 2, "only after the folder's rename");
  });
});

slowTest("writeCheckpoint: a kill while a round is written again never mixes old and new stages", async () => {
  await withMemoryFolder(async (root) => {
    await write(root, 1);
    const again = (disk: ReturnType<typeof failingDisk>) =>
      writeCheckpoint({ folder: root, state: { ...stateOf(2), step: 99 }, stages: stagesOf(7), disk });
    const counting = failingDisk(Infinity);
    await again(counting);
    for (let survives = 0; survives < counting.operations; survives++) {
      const folder = await write(root, 2);
      await assertRejects(() => again(failingDisk(survives)), Killed);
      const found = await latestCheckpoint(root, () => {});
      assert(found !== null);
      if (found.manifest.round === 1) await assertHolds(found.folder, 1);
      else await assertHolds(folder, found.manifest.step === 99 ? 7 : 2);
    }
  });
});

Deno.test("writeCheckpoint: another checkpoint of the round is put aside and reported, an equal one stays", async () => {
  await withMemoryFolder(async (root) => {
    const warnings: string[] = [];
    const writeStages = (values: number) =>
      writeCheckpoint({
        folder: root,
        state: stateOf(2),
        stages: stagesOf(values),
        warn: (text) => warnings.push(text),
      });
    const folder = await writeStages(2);
    const { ino } = await Deno.stat(folder);
    assertEquals([await writeStages(2), (await Deno.stat(folder)).ino, warnings], [folder, ino, []]);
    await writeStages(7);
    await writeStages(8);
    await assertHolds(folder, 8);
    await assertHolds(`${root}/put-aside-1-round-000002`, 2);
    await assertHolds(`${root}/put-aside-2-round-000002`, 7);
    assertEquals(warnings.map((text) => /is another checkpoint of the same round; it is kept as/.test(text)), [
      true,
      true,
    ]);
    const names = Array.from(Deno.readDirSync(root), ({ name }) => name).sort();
    assertEquals(names, ["put-aside-1-round-000002", "put-aside-2-round-000002", "round-000002"]);
  });
});

Deno.test("writeCheckpoint: its files, its folder and the name of its folder are on the medium before it returns", async () => {
  await withMemoryFolder(async (root) => {
    const done: string[] = [];
    const short = (path: string) =>
      path.replace(root, "").replace(/stage-\d/, "stage").replace(/\.[0-9a-f]{12}\.partial$/, ".partial");
    const disk: Disk = {
      ...realDisk,
      async create(path) {
        const file = await realDisk.create(path);
        const sync = async () => {
          done.push(`sync ${short(path)}`);
          await file.sync();
        };
        return { ...file, sync };
      },
      async rename(from, to) {
        done.push(`rename ${short(to)}`);
        await realDisk.rename(from, to);
      },
      async syncFolder(path) {
        done.push(`sync ${short(path)}/`);
        await realDisk.syncFolder(path);
      },
    };
    await writeCheckpoint({ folder: `${root}/run/checkpoints`, state: stateOf(1), stages: stagesOf(1), disk });
    const partial = "/run/checkpoints/round-000001.partial";
    const file = (name: string) => [`sync ${partial}/${name}.partial`, `rename ${partial}/${name}`, `sync ${partial}/`];
    assertEquals(done, [
      ...tables.flatMap(() => file("stage.safetensors")),
      ...file("manifest.json"),
      "rename /run/checkpoints/round-000001",
      "sync /run/checkpoints/",
      "sync /run/",
    ]);
  });
});

Deno.test("pruneCheckpoints: newer checkpoints than the one just written are not its business", async () => {
  await withMemoryFolder(async (root) => {
    for (const round of [1, 2, 3, 8, 9]) await write(root, round);
    await pruneCheckpoints({ folder: root, keep: { newest: 1, everySteps: 0 }, round: 3 });
    const names = Array.from(Deno.readDirSync(root), ({ name }) => name).sort();
    assertEquals(names, ["round-000003", "round-000008", "round-000009"]);
  });
});

Deno.test("pruneCheckpoints: the newest stay, older ones and leftovers before them go", async () => {
  await withMemoryFolder(async (root) => {
    for (const round of [1, 2, 4, 5]) await write(root, round);
    await Deno.mkdir(`${root}/round-000003`);
    await Deno.mkdir(`${root}/round-000006`); // being written
    await pruneCheckpoints({ folder: root, keep: { newest: 2, everySteps: 0 }, round: 5 });
    const names = Array.from(Deno.readDirSync(root), ({ name }) => name).sort();
    assertEquals(names, ["round-000004", "round-000005", "round-000006"]);
    assertEquals(await latestRound(root), 5);
  });
});

Deno.test("pruneCheckpoints: a kill at any operation leaves only whole checkpoints and leftovers", async () => {
  await withMemoryFolder(async (root) => {
    for (let survives = 0; survives < 3; survives++) {
      for (const round of [1, 2]) await write(root, round);
      await assertRejects(
        () =>
          pruneCheckpoints({ folder: root, keep: { newest: 1, everySteps: 0 }, round: 2, disk: failingDisk(survives) }),
        Killed,
      );
      const warnings: string[] = [];
      assertEquals(await latestRound(root, warnings), 2);
      assertEquals(warnings, []);
      await pruneCheckpoints({ folder: root, keep: { newest: 1, everySteps: 0 }, round: 2 });
      assertEquals(Array.from(Deno.readDirSync(root), ({ name }) => name), ["round-000002"]);
    }
  });
});

Deno.test("pruneCheckpoints: the first checkpoint after each milestone stays for good", async () => {
  await withMemoryFolder(async (root) => {
    for (let round = 1; round <= 12; round++) {
      await write(root, round); // step 2 * round
      await pruneCheckpoints({ folder: root, keep: { newest: 2, everySteps: 7 }, round });
    }
    const names = Array.from(Deno.readDirSync(root), ({ name }) => Number(name.slice(6))).sort((a, b) => a - b);
    assertEquals(names, [4, 7, 11, 12]);
  });
});

/** What `iota bench --tune` keeps, and what is made of a file that somebody else wrote. */

import { assertEquals } from "@std/assert";
import type { OptionValues } from "../../../cli/terminal/command.ts";
import { command as swarm } from "../../../cli/commands/swarm.ts";
import type { Environment } from "../../../cli/program/paths.ts";
import { resolveRights } from "../../../cli/terminal/resolve_rights.ts";
import { keepTuning, readTuning, shareTuning } from "../../../cli/device/tuning_file.ts";
import { type GemmSettings, sameForAll } from "../../../gpu/webgpu/generate/gemm_settings.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

const direct: GemmSettings = { family: "direct", lanes: 8, rows: 16, columnVectors: 2 };
const shared: GemmSettings = { family: "shared", lanesX: 8, lanesY: 8, depth: 16, rows: 8, columnVectors: 2 };

Deno.test("Tuning file: what was kept is read, beside that of other adapters, and can be shared", () =>
  withScratchFolder(async (folder) => {
    assertEquals(await readTuning(folder), {});
    await keepTuning(`${folder}/data`, { adapter: "a", gemm: sameForAll(direct) });
    await keepTuning(`${folder}/data`, { adapter: "b", gemm: sameForAll(shared) });
    const both = { a: sameForAll(direct), b: sameForAll(shared) };
    assertEquals(await readTuning(`${folder}/data`), both);
    await shareTuning(`${folder}/data`, `${folder}/run`);
    assertEquals(await readTuning(`${folder}/run`), both);
  }));

Deno.test("Tuning file: damaged, of another version or with absurd numbers it counts as missing", () =>
  withScratchFolder(async (folder) => {
    const path = await keepTuning(folder, { adapter: "a", gemm: sameForAll(direct) });
    const text = await Deno.readTextFile(path);
    const changes: [from: string, to: string][] = [
      ['"runtime": "', '"runtime": "0.'],
      ['"generation": ', '"generation": -'],
      ['"rows": 16', '"rows": 17'],
      ['"lanes": 8', '"lanes": 1e9'],
      ['"columnVectors": 2', '"columnVectors": 0'],
      ['"family": "direct"', '"family": "other"'],
      ["}", ""],
    ];
    for (const [from, to] of changes) {
      await Deno.writeTextFile(path, text.replace(from, to));
      assertEquals(await readTuning(folder), {}, `${from} became ${to}`);
    }
  }));

Deno.test("Tuning file: a swarm in any folder may read the user's, and needs none where there is no home", () => {
  const readBy = (home: string | undefined) => {
    const environment: Environment = { system: "linux", get: (name) => name === "HOME" ? home : undefined };
    const options: OptionValues = {
      text: () => undefined,
      number: () => undefined,
      flag: () => false,
      given: () => false,
    };
    const about = { declares: () => false, dataFolder: () => "/runs/own", corpora: [], runs: [] };
    const { read } = resolveRights({
      ...{ rights: swarm.rights, options, environment, ...about },
      ...{ programFolders: [], executable: "iota" },
    });
    return read;
  };
  assertEquals(readBy("/people/ann"), ["/runs/own", "/people/ann/.local/share/iota/tuning.json"]);
  assertEquals(readBy(undefined), ["/runs/own"]);
});

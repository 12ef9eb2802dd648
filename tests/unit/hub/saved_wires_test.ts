/** The wires of a stopped orchestrator on disk: all of them come back, or those that are whole, and never another's. */

import { assertEquals } from "@std/assert";
import { saveWires, takeWires } from "../../../cli/orchestrator/hub/saved_wires.ts";
import { wiresFile } from "../../../cli/files/run_folder.ts";
import { keyOf, nextBelow, openStream } from "../../../core/prng.ts";
import { hashOf } from "../../../net/blob_hash.ts";
import { withMemoryFolder } from "../../support/scratch_folder.ts";
import { cases } from "../../support/whole.ts";

const wires = [1, 700, 40_000].map((length) => Uint8Array.from({ length }, (_, i) => (i * 7 + length) % 256));
const byHash = new Map(wires.map((bytes) => [hashOf(bytes), bytes]));

Deno.test("Saved wires: they come back once, by their names", () =>
  withMemoryFolder(async (folder) => {
    await saveWires(folder, wires);
    assertEquals(await takeWires(folder), byHash);
    assertEquals((await takeWires(folder)).size, 0, "they are of one life");
  }));

Deno.test("Saved wires: without any there is no file, and an old one goes", () =>
  withMemoryFolder(async (folder) => {
    await saveWires(folder, wires);
    await saveWires(folder, []);
    assertEquals([...Deno.readDirSync(folder)], []);
    assertEquals((await takeWires(folder)).size, 0);
  }));

Deno.test("Saved wires: of a damaged file only what is whole is named as it was, and nothing throws", () =>
  withMemoryFolder(async (folder) => {
    await saveWires(folder, wires);
    const path = `${folder}/${wiresFile}`;
    const whole = await Deno.readFile(path);
    let kept = 0;
    for (let seed = 1; seed <= cases(200); seed++) {
      const stream = openStream(keyOf(seed, "saved wires"));
      const damaged = whole.slice(0, nextBelow(stream, 3) === 0 ? nextBelow(stream, whole.length) : whole.length);
      for (let i = nextBelow(stream, 4); i > 0 && damaged.length > 0; i--) {
        damaged[nextBelow(stream, nextBelow(stream, 2) === 0 ? damaged.length : Math.min(20, damaged.length))]! ^= 1 +
          nextBelow(stream, 255);
      }
      await Deno.writeFile(path, damaged);
      const found = await takeWires(folder);
      for (const [hash, bytes] of found) assertEquals(hashOf(bytes), hash, `seed ${seed}`);
      kept += [...byHash.keys()].filter((hash) => found.has(hash)).length;
    }
    assertEquals(kept > cases(100), true, `${kept} wires survived`);
  }));

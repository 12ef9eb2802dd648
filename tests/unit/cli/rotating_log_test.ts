/** Logs that turn: bounded on disk, whole lines, and a full disk that costs lines and nothing else. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { type LogDisk, realLogDisk, RotatingLog } from "../../../cli/files/rotating_log.ts";
import { diskWithRoom } from "../../support/disk_with_room.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

const read = (path: string): string[] => Deno.readTextFileSync(path).trimEnd().split("\n");

function namesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

Deno.test("Rotating log: at its limit a file turns, the newest is .1 and the oldest goes", async () => {
  await withScratchFolder((folder) => {
    const log = new RotatingLog({ path: `${folder}/a.log`, bytes: 30, keep: 2 });
    for (let i = 0; i < 20; i++) log.write(`line ${String(i).padStart(4, "0")}`); // 10 bytes each: three a file
    log.close();
    assertEquals(namesIn(folder), ["a.log", "a.log.1", "a.log.2"]);
    assertEquals(read(`${folder}/a.log`), ["line 0018", "line 0019"]);
    assertEquals(read(`${folder}/a.log.1`), ["line 0015", "line 0016", "line 0017"]);
    assertEquals(read(`${folder}/a.log.2`), ["line 0012", "line 0013", "line 0014"]);
  });
});

Deno.test("Rotating log: a new process continues in the file, and rotates it in time", async () => {
  await withScratchFolder((folder) => {
    for (let i = 0; i < 5; i++) {
      const log = new RotatingLog({ path: `${folder}/a.log`, bytes: 30, keep: 0 });
      log.write(`line ${String(i).padStart(4, "0")}`);
      log.close();
    }
    assertEquals(namesIn(folder), ["a.log"]);
    assertEquals(read(`${folder}/a.log`), ["line 0003", "line 0004"]);
  });
});

Deno.test("Rotating log: a line that is longer than a file is kept whole", async () => {
  await withScratchFolder((folder) => {
    const log = new RotatingLog({ path: `${folder}/a.log`, bytes: 30, keep: 1 });
    for (const line of ["short", "x".repeat(100), "end"]) log.write(line);
    log.close();
    assertEquals([read(`${folder}/a.log.1`), read(`${folder}/a.log`)], [["x".repeat(100)], ["end"]]);
  });
});

Deno.test("Rotating log: a full disk costs lines, and the first line with room again says how many", async () => {
  await withScratchFolder((folder) => {
    const room = { bytes: 25 };
    const log = new RotatingLog({ path: `${folder}/a.log`, bytes: 1000, keep: 1, disk: diskWithRoom(room) });
    for (let i = 0; i < 6; i++) log.write(`line ${String(i).padStart(4, "0")}`);
    room.bytes = 1000;
    log.write("again");
    log.close();
    const lines = read(`${folder}/a.log`);
    assertEquals(lines.slice(0, 2), ["line 0000", "line 0001"]);
    assert("line 0002".startsWith(lines[2]!), "the torn line ends");
    assertEquals(lines.slice(3), ["4 lines missing here: the disk did not take more", "again"]);
  });
});

Deno.test("Rotating log: a folder that went away and came back is used again", async () => {
  await withScratchFolder((folder) => {
    const path = `${folder}/logs/a.log`;
    const log = new RotatingLog({ path, bytes: 1000, keep: 1 });
    log.write("lost");
    Deno.mkdirSync(`${folder}/logs`);
    log.write("kept");
    log.close();
    assertEquals(read(path), ["1 line missing here: the disk did not take more", "kept"]);
  });
});

Deno.test("Rotating log: after its file was moved or removed it begins a new one within a second", async () => {
  await withScratchFolder((folder) => {
    const path = `${folder}/a.log`;
    let nowMs = 0;
    const log = new RotatingLog({ path, bytes: 1000, keep: 1, steadyMs: () => nowMs });
    log.write("first");
    log.write("looked");
    Deno.renameSync(path, `${path}-moved`);
    nowMs += 999;
    log.write("still there");
    nowMs += 1;
    log.write("new file");
    Deno.removeSync(path);
    nowMs += 1_000;
    log.write("newer file");
    log.close();
    assertEquals([read(`${path}-moved`), read(path)], [["first", "looked", "still there"], ["newer file"]]);
  });
});

Deno.test("Rotating log: a file that cannot be turned stays within its limit, and lines are lost instead", async () => {
  await withScratchFolder((folder) => {
    const path = `${folder}/a.log`;
    const disk: LogDisk = {
      ...realLogDisk,
      rename: () => {
        throw new Deno.errors.PermissionDenied("read-only");
      },
    };
    const log = new RotatingLog({ path, bytes: 50, keep: 1, disk });
    for (let i = 0; i < 100; i++) log.write(`line ${String(i).padStart(4, "0")}`);
    log.close();
    assertEquals(read(path).length, 5);
  });
});

Deno.test("Rotating log: a mistake of ours is not taken for a full disk", () => {
  const disk: LogDisk = {
    ...realLogDisk,
    append: () => {
      throw new TypeError("ours");
    },
  };
  assertThrows(() => new RotatingLog({ path: "a", bytes: 1, keep: 0, disk }).write("x"), TypeError, "ours");
});

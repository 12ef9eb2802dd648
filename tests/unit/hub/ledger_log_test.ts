/** The signed log: what it says is recomputed, and every change to it is found at its line. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { chainLine, readLine, signedText } from "../../../cli/files/chain_line.ts";
import { diskWithRoom } from "../../support/disk_with_room.ts";
import { withMemoryFolder } from "../../support/scratch_folder.ts";

import {
  chainedFrom,
  entriesOf,
  headOf,
  hub,
  keyOf,
  linesIn,
  openLog,
  pathIn,
  replaceEntry,
  replaceUnchained,
  rewrite,
  roundEntry,
  stepEntry,
  stepsPerRound,
  typeOf,
  verified,
  write,
  wrongAfter,
} from "../../support/written_ledger.ts";
import { isWhole } from "../../support/whole.ts";

Deno.test("Ledger: a run's log is verified line by line, and all its scores are computed again", () =>
  withMemoryFolder(async (folder) => {
    await write(folder, { to: 6 });
    const found = await verified(folder);
    assertEquals(
      [found.wrong, found.lines, found.steps, found.rounds, found.verdicts, found.unprovenRounds],
      [null, 1 + 6 * (stepsPerRound + 4) + 2, 18, 6, 6, 0],
    );
    assertEquals(found.scores, 6 * 2 + 2); // the validator's own score of the one that failed, once work has vested: in rounds 4 and 5
    assertEquals(found.signedLine, found.lines - 1);
    assertEquals([found.run, found.hub], ["run", hub.address]);
  }));

Deno.test("Ledger: steps that a run trained once more are counted apart", () =>
  withMemoryFolder(async (folder) => {
    const { log } = await openLog(folder);
    for (const entries of [[stepEntry(0), stepEntry(1)], entriesOf({ to: 1 })]) {
      log.begin({ step: 0, round: 0, isJournaled: false });
      for (const entry of entries) log.take(entry);
    }
    log.end({ finished: true, reason: "all steps are done" });
    log.close();
    const { wrong, steps, repeatedSteps } = await verified(folder);
    assertEquals([wrong, steps, repeatedSteps], [null, stepsPerRound, 2]);
  }));

Deno.test("Ledger: the model that a run began with is in its first line, and stays the same", () =>
  withMemoryFolder(async (folder) => {
    const from = { name: "llama", parameters: "ab".repeat(32) };
    await write(folder, { to: 2 }, { from });
    await write(folder, { from: 2, to: 3 }, { from });
    const found = await verified(folder);
    assertEquals([found.wrong, found.from], [null, from]);
    const { length } = linesIn(folder);
    await write(folder, { from: 3, to: 4 }, { from: { ...from, parameters: "cd".repeat(32) } });
    const { wrong } = await verified(folder);
    assertEquals(wrong?.line, length + 1);
    assertMatch(wrong!.why, /^the run must have begun from llama, parameters (ab)+, not from llama, parameters (cd)+$/);
  }));

Deno.test("Ledger: a flipped bit is found at its line, wherever it is", () =>
  withMemoryFolder(async (folder) => {
    await write(folder, { to: 1 });
    const bytes = await Deno.readFile(pathIn(folder));
    for (let at = 0; at < bytes.length; at += isWhole ? 7 : 61) {
      const flipped = bytes.slice();
      flipped[at]! ^= 1 << (at % 7);
      const line = 1 + bytes.subarray(0, at).reduce((sum, byte) => sum + (byte === 10 ? 1 : 0), 0);
      await Deno.writeFile(pathIn(folder), flipped);
      assertEquals((await verified(folder)).wrong?.line, line, `byte ${at}`);
    }
  }));

Deno.test("Ledger: lines cut off its end are missed, as the head beside it signs them", () =>
  wrongAfter((lines) => {
    lines.length = 12;
    return 13;
  }));

Deno.test("Ledger: cut off at an older signature, with that as its head or with none, it does not say that the run is over", () =>
  withMemoryFolder(async (folder) => {
    await write(folder, { to: 3 });
    assertEquals((await verified(folder)).isEnded, true);
    const lines = linesIn(folder);
    const cut = lines.slice(0, 1 + lines.findIndex((line) => typeOf(line) === "signature"));
    const { content } = readLine(cut.at(-1)!)!;
    rewrite(folder, cut);
    Deno.writeTextFileSync(
      `${pathIn(folder)}.head`,
      JSON.stringify({ ...headOf(cut.at(-2)!), run: "run", ...content }),
    );
    const forged = await verified(folder);
    Deno.removeSync(`${pathIn(folder)}.head`);
    const headless = await verified(folder);
    for (const { wrong, isEnded, rounds } of [forged, headless]) {
      assertEquals([wrong, isEnded, rounds], [null, false, 1]);
    }
    rewrite(folder, lines.slice(0, -1));
    assertEquals((await verified(folder)).isEnded, false, "the orchestrator's signature must follow");
  }));

Deno.test("Ledger: a log whose lines are all gone is missed", () =>
  wrongAfter((lines) => {
    lines.length = 0;
    return 1;
  }));

Deno.test("Ledger: a line left out and lines in another order are found where they should be", async () => {
  await wrongAfter((lines) => {
    lines.splice(4, 1);
    return 5;
  });
  await wrongAfter((lines) => {
    [lines[4], lines[5]] = [lines[5]!, lines[4]!];
    return 5;
  });
});

Deno.test("Ledger: a replaced score is found at its line, with new hashes after it as well", async () => {
  const raised = (lines: string[]) => {
    const at = lines.findIndex((line) => typeOf(line) === "scores");
    replaceEntry(lines, at, (entry) => entry["scores"] = [18, 1000]);
    return at + 1;
  };
  await wrongAfter(raised);
  await wrongAfter((lines) => {
    const line = raised(lines);
    chainedFrom(lines, line);
    return line;
  });
});

Deno.test("Ledger: pay that the steps do not give is found at the report", () =>
  wrongAfter((lines) => {
    const at = lines.findIndex((line) => typeOf(line) === "round");
    replaceEntry(lines, at, (entry) => entry["units"] = [18, 90]);
    chainedFrom(lines, at + 1);
    return at + 1;
  }));

Deno.test("Ledger: a verdict against its own numbers is found", () =>
  wrongAfter((lines) => {
    const at = lines.findIndex((line) => typeOf(line) === "verdict");
    replaceEntry(lines, at, (entry) => entry["passed"] = false);
    chainedFrom(lines, at + 1);
    return at + 1;
  }));

Deno.test("Ledger: facts that nothing contradicts are found at the next signature", () =>
  wrongAfter((lines) => {
    const at = lines.findIndex((line) => typeOf(line) === "verdict");
    replaceEntry(lines, at, (entry) => entry["innovationError"] = 0.002);
    chainedFrom(lines, at + 1);
    return lines.findIndex((line) => typeOf(line) === "signature") + 1;
  }));

Deno.test("Ledger: a log without the orchestrator's signatures, with new hashes, is found at its last scores", () =>
  wrongAfter((lines, folder) => {
    lines.splice(0, lines.length, ...lines.filter((line) => typeOf(line) !== "signature"));
    const at = lines.findIndex((line) => typeOf(line) === "verdict");
    replaceUnchained(lines, at, (entry) => entry["innovationError"] = 0.002);
    chainedFrom(lines, 1);
    Deno.removeSync(`${pathIn(folder)}.head`);
    return lines.findLastIndex((line) => typeOf(line) === "scores") + 1;
  }));

Deno.test("Ledger: a round that is added without the orchestrator's key is found", () =>
  wrongAfter((lines) => {
    const rounds = lines.flatMap((line, at) => typeOf(line) === "step" ? [at] : []);
    const [first] = rounds;
    const last = lines.findLastIndex((line) => typeOf(line) === "scores");
    lines.push(...lines.slice(first!, first! + 1)); // any line that no signature follows, and scores
    lines.push(lines[last]!);
    replaceUnchained(lines, lines.length - 2, (entry) => entry["step"] = 9);
    chainedFrom(lines, lines.length - 1);
    return lines.length;
  }));

Deno.test("Ledger: lines that are said to be lost must be counted, and the numbers go on after them", async () => {
  await wrongAfter((lines) => {
    lines.splice(5, 0, '{"lost":0}');
    return 6;
  });
  await wrongAfter((lines) => {
    lines.splice(5, 3, '{"lost":3}');
    return 6;
  });
});

Deno.test("Ledger: another key's signature is found at its line", () =>
  wrongAfter((lines) => {
    const at = lines.findIndex((line) => typeOf(line) === "signature");
    const head = headOf(lines[at - 1]!);
    const other = keyOf(2);
    const signature = other.sign(signedText("run", head)).toHex();
    lines[at] = chainLine(head, { signer: hub.address, signature }).text;
    chainedFrom(lines, at + 2);
    return at + 1;
  }));

Deno.test("Ledger: a killed process leaves whole lines, and the next one goes on with what the journal makes again", () =>
  withMemoryFolder(async (folder) => {
    const { log, timers } = await openLog(folder);
    log.begin({ step: 0, round: 0, isJournaled: false });
    const entries = entriesOf({ to: 2 });
    for (const entry of entries.slice(0, 7)) log.take(entry);
    timers.advance(100);
    for (const entry of entries.slice(7)) log.take(entry); // not written: the process is killed here
    Deno.writeTextFileSync(pathIn(folder), '{"line":99,"ent', { append: true });
    const killed = await verified(folder);
    assertEquals([killed.wrong, killed.rounds, killed.tornBytes], [null, 1, 15]);
    assert(killed.signedLine > 0 && killed.signedLine < killed.lines);
    const next = await openLog(folder);
    for (const entry of entries.slice(3)) next.log.replay(entry); // from a snapshot before the log's end
    next.log.begin({ step: 6, round: 2, isJournaled: true });
    for (const entry of entriesOf({ from: 2, to: 3 })) next.log.take(entry);
    next.log.close();
    const found = await verified(folder);
    assertEquals([found.wrong, found.steps, found.rounds, found.unprovenRounds], [null, 9, 3, 0]);
    assertEquals(next.warnings, []);
  }));

Deno.test("Ledger: a round whose steps are lost with a process is counted as unproven, and no later one is", () =>
  withMemoryFolder(async (folder) => {
    const { log, timers } = await openLog(folder);
    log.begin({ step: 0, round: 0, isJournaled: false });
    log.take(stepEntry(0));
    timers.advance(100);
    const next = await openLog(folder);
    next.log.begin({ step: 2, round: 0, isJournaled: true });
    for (const entry of [stepEntry(2), roundEntry(0), ...entriesOf({ from: 1, to: 2 })]) next.log.take(entry);
    next.log.close();
    const found = await verified(folder);
    assertEquals([found.wrong, found.rounds, found.unprovenRounds], [null, 2, 1]);
  }));

Deno.test("Ledger: full files are kept beside it up to a bound, and what they carry on is checked", () =>
  withMemoryFolder(async (folder) => {
    const options = { fileBytes: 4000 };
    for (let round = 0; round < 12; round++) await write(folder, { from: round, to: round + 1 }, options);
    const found = await verified(folder);
    assertEquals([found.wrong, found.firstLine, found.rounds, found.unprovenRounds], [null, 1, 12, 0]);
    await Deno.remove(`${pathIn(folder)}.4`); // a file in the middle
    const { wrong } = await verified(folder);
    assertMatch(wrong!.why, /its number must be/);
    for (const { name } of [...Deno.readDirSync(folder)]) {
      if (Number(name.split(".")[2]) > 4) await Deno.remove(`${folder}/${name}`); // all older ones
    }
    const later = await verified(folder);
    assertEquals(later.wrong, null);
    assert(later.firstLine > 1);
  }));

Deno.test("Ledger: lines that a full disk refuses are counted, and the log goes on after them", () =>
  withMemoryFolder(async (folder) => {
    const room = { bytes: 3000 };
    const { log, timers, warnings } = await openLog(folder, { disk: diskWithRoom(room) });
    log.begin({ step: 0, round: 0, isJournaled: false });
    for (const entry of entriesOf({ to: 4 })) {
      log.take(entry);
      timers.advance(100);
    }
    room.bytes = 1e6;
    for (const entry of entriesOf({ from: 4, to: 6 })) {
      log.take(entry);
      timers.advance(100);
    }
    log.close();
    const found = await verified(folder);
    assertEquals(found.wrong, null);
    assert(found.lostLines > 0 && found.unprovenRounds <= 1);
    assertEquals(warnings.length, 2);
  }));

Deno.test("Ledger: wherever a full disk cuts a line, and cuts again, the log goes on and follows", () =>
  withMemoryFolder(async (folder) => {
    for (let bytes = 500; bytes < 6000; bytes += isWhole ? 61 : 307) {
      const own = `${folder}/${bytes}`;
      await Deno.mkdir(own);
      const room = { bytes };
      const { log, timers } = await openLog(own, { disk: diskWithRoom(room) });
      log.begin({ step: 0, round: 0, isJournaled: false });
      for (const [i, entry] of entriesOf({ to: 6 }).entries()) {
        if (i % 7 === 6) room.bytes += 40; // soon full again
        if (i === 22) room.bytes = 1e6;
        log.take(entry);
        timers.advance(i % 3 === 2 ? 100 : 10);
      }
      log.close();
      const { wrong, lostLines } = await verified(own);
      assertEquals([wrong, lostLines > 0 || bytes > 5000], [null, true], `room for ${bytes} bytes`);
    }
  }));

Deno.test("Ledger: a process whose run another one has taken over writes nothing more", () =>
  withMemoryFolder(async (folder) => {
    const { log, timers } = await openLog(folder);
    log.begin({ step: 0, round: 0, isJournaled: false });
    timers.advance(100);
    const before = linesIn(folder);
    log.take(stepEntry(0));
    log.close({ writes: false });
    timers.advance(1000);
    assertEquals(linesIn(folder), before);
  }));

/** The log's lines. */

import { assertEquals } from "@std/assert";
import { createLog, type LogLevel } from "../../../cli/terminal/output/log.ts";
import { createPaint } from "../../../cli/terminal/text/paint.ts";

function lines(least: LogLevel, withDate: boolean): string[] {
  const written: string[] = [];
  const now = () => new Date(2026, 0, 2, 3, 4, 5);
  const log = createLog({ least, withDate, now, paint: createPaint(false), write: (line) => written.push(line) });
  log.debug("d");
  log.info("i");
  log.warn("w");
  log.error("e");
  return written;
}

Deno.test("Log: a level includes itself and worse ones", () => {
  assertEquals(lines("debug", false).length, 4);
  assertEquals(lines("warn", false), ["03:04:05 warn  w", "03:04:05 error e"]);
});

Deno.test("Log: a file gets the date too", () => {
  assertEquals(lines("error", true), ["2026-01-02 03:04:05 error e"]);
});

Deno.test("Log: foreign text stays on one line and cannot steer the terminal", () => {
  const written: string[] = [];
  const now = () => new Date(2026, 0, 2, 3, 4, 5);
  const log = createLog({
    least: "info",
    withDate: false,
    now,
    paint: createPaint(false),
    write: (line) => written.push(line),
  });
  log.info("a\r\nb \x1b]0;title\x07 \u202e c");
  assertEquals(written, ["03:04:05 info  a · b \ufffd]0;title\ufffd \ufffd c"]);
});

Deno.test("Log: as JSON, a line has time, level and text, and is one line whatever the text", () => {
  const written: string[] = [];
  const now = () => new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 6));
  const write = (line: string) => written.push(line);
  const log = createLog({ least: "info", format: "json", withDate: false, now, paint: createPaint(true), write });
  log.debug("d");
  log.warn('a"\r\nb\x1b[2J');
  assertEquals(written, ['{"time":"2026-01-02T03:04:05.006Z","level":"warn","text":"a\\" · b\ufffd[2J"}']);
});

/** Foreign text of several lines: what stays, what goes, and how much. */

import { assert, assertEquals } from "@std/assert";
import { harmless } from "../../../cli/terminal/text/foreign_text.ts";
import { printable } from "../../../cli/terminal/text/format.ts";
import { prngOf } from "../../support/small_prng.ts";

Deno.test("harmless: what people write stays as it is", () => {
  const texts = [
    "The people,\n\nof the\tUnited States — 50 %",
    "naïve Ångström",
    "Größe 漢字 עברית हिन्दी",
    "a\u0301\u0323b 🙂",
  ];
  for (const text of texts) assertEquals(harmless(text, 100), text);
});

Deno.test("harmless: whatever moves a cursor, turns the direction or is half a character goes", () => {
  for (
    const code of [0x1b, 0x00, 0x07, 0x08, 0x9b, 0x7f, 0x200e, 0x202e, 0x2066, 0x061c, 0xfeff, 0xd800, 0xdfff, 0xe000]
  ) {
    assertEquals(harmless(`a${String.fromCharCode(code)}b`, 10), "a\ufffdb", code.toString(16));
  }
  assertEquals(harmless("a\r\nb\rc\u2028d\n\n\n\n\ne", 100), "a\nb\nc\nd\n\ne");
  assertEquals(harmless(`z${"\u0335".repeat(300)}!`, 100), `z${"\u0335".repeat(3)}!`);
  assertEquals(harmless("🙂".repeat(50), 7), "🙂".repeat(7));
  assertEquals(harmless("x".repeat(1e6), 5), "xxxxx");
  assertEquals(printable("a\ud800b"), "a\ufffdb");
});

Deno.test("harmless: any bytes give a bounded, well-formed text that stays as it is when it is shown again", () => {
  const pick = prngOf(7);
  for (let i = 0; i < 2_000; i++) {
    const text = String.fromCharCode(...Array.from({ length: pick(60) }, () => pick(pick(2) === 0 ? 0x10000 : 0x100)));
    const safe = harmless(text, 40);
    assert(safe.isWellFormed() && [...safe].length <= 40);
    assert(!/[^\P{C}\n\t]/u.test(safe));
    assertEquals(harmless(safe, 40), safe);
  }
});

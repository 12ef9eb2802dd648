/** SHA-256 of short texts against the platform's, at every length around a block's end. */

import { assertEquals, assertThrows } from "@std/assert";
import { createHash } from "node:crypto";
import { sha256 } from "../../../core/sha256.ts";

Deno.test("SHA-256: texts of every length up to four blocks have the platform's hash", () => {
  for (let length = 0; length <= 256; length++) {
    const text = Array.from({ length }, (_, i) => String.fromCharCode((7 * i + length) % 128)).join("");
    assertEquals(sha256(text), createHash("sha256").update(text).digest("hex"), `${length} characters`);
  }
});

Deno.test("SHA-256: a text that is not ASCII is refused, as its bytes would be ambiguous", () => {
  assertThrows(() => sha256("\u00e9"), Error, "ASCII");
});

/** Bytes as text: UTF-8, or UTF-16 with its byte order mark. Anything else is refused at its first byte. */

import { UserError } from "../../program/errors.ts";
import { encodingOf } from "./text_format.ts";

type Bytes = AsyncIterable<Uint8Array<ArrayBuffer>>;

const utf16 = [["utf-16le", 0xff, 0xfe], ["utf-16be", 0xfe, 0xff]] as const;

export async function* decoded(
  chunks: Bytes,
  { head, place }: { head: Uint8Array; place: string },
): AsyncGenerator<string> {
  const [wide = "utf-8"] = utf16.find(([, first, second]) => head[0] === first && head[1] === second) ?? [];
  const decoder = new TextDecoder(wide, { fatal: true });
  let done = 0;
  let last = new Uint8Array(0); // the end of the chunk before, where a character may have begun
  for await (const chunk of chunks) {
    if (wide === "utf-8" && chunk.includes(0)) throw zeroByte(place, done + chunk.indexOf(0));
    yield decode(decoder, chunk, () => damage({ wide, last, chunk, done, place }));
    done += chunk.length;
    last = chunk.slice(-longestCharacter);
  }
  yield decode(decoder, null, () => damage({ wide, last, chunk: new Uint8Array(0), done, place }));
}

const longestCharacter = 4; // bytes

function decode(decoder: TextDecoder, chunk: Uint8Array | null, problem: () => UserError): string {
  try {
    return chunk === null ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw problem();
  }
}

interface Damage {
  readonly wide: string;
  readonly last: Uint8Array;
  readonly chunk: Uint8Array;
  readonly done: number; // bytes before the chunk
  readonly place: string;
}

function damage({ wide, last, chunk, done, place }: Damage): UserError {
  if (wide !== "utf-8") {
    return new UserError(`'${place}' is damaged: it is no longer ${wide.toUpperCase()} about byte ${done}`, {
      next: "Get the file again",
    });
  }
  const both = new Uint8Array(last.length + chunk.length);
  both.set(last);
  both.set(chunk, last.length);
  const start = both.findIndex((byte) => byte < 0x80 || byte >= 0xc0); // of a whole character
  const bad = done - last.length + start + firstBadByte(both.subarray(start));
  const { found, next } = encodingOf(both, { bad, path: place });
  return new UserError(`Cannot read '${place}': it must be UTF-8 text, but ${found}`, { next });
}

/** Offset of the first byte that differs when the text is encoded again. */
function firstBadByte(bytes: Uint8Array): number {
  const again = new TextEncoder().encode(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
  const first = bytes.findIndex((byte, index) => byte !== again[index]);
  return first < 0 ? bytes.length : first;
}

const zeroByte = (place: string, at: number): UserError =>
  new UserError(`Cannot read '${place}': byte ${at} is zero, which no text contains`, {
    next: "Get the file again: part of it was not written. Or leave zero bytes out with tr -d '\\000'",
  });

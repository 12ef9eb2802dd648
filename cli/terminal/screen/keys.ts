/** From the bytes of a keyboard to keys: single characters; what arrows, function keys and pasted escapes send is left out. */

type Place = "text" | "escape" | "sequence" | "lone";

const escapeByte = 0x1b;

export class Keys {
  #place: Place = "text"; // a sequence may be cut between two reads

  /** The characters pressed, in lower case. */
  read(bytes: Uint8Array): string[] {
    const keys: string[] = [];
    for (const byte of bytes) {
      const key = this.#next(byte);
      if (key !== null) keys.push(key);
    }
    if (this.#place === "escape") this.#place = "text"; // the Escape key alone: a terminal sends its sequences whole
    return keys;
  }

  /** ECMA-48, 5.4: `ESC [`, parameters, then a final byte from @ on; `ESC O` and one more are a function key. */
  #next(byte: number): string | null {
    switch (this.#place) {
      case "escape":
        this.#place = byte === 0x5b ? "sequence" : byte === 0x4f ? "lone" : "text";
        return null;
      case "sequence":
        if (byte >= 0x40 && byte <= 0x7e) this.#place = "text";
        return null;
      case "lone":
        this.#place = "text";
        return null;
      case "text":
        if (byte === escapeByte) this.#place = "escape";
        return byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte).toLowerCase() : null;
    }
  }
}

/**
 * Reads the patterns that tokenizers split words with, written for Oniguruma (`tokenizers` uses it with Ruby's syntax),
 * as alternatives of parts. Each part becomes JavaScript of the same meaning: `\s` is Unicode's White_Space, `\d` any
 * decimal digit, `$` the end of a line. Syntax that is not here is refused, not approximated.
 */

/** A set of characters or a group with its count. */
export interface Part {
  readonly source: string; // JavaScript with the flag u, without its count
  readonly least: number;
  readonly most: number; // Infinity: as many as there are
  readonly keepsAll: boolean; // possessive: gives nothing back
  readonly kind: "set" | "group" | "notBeforeText" | "lineEnd"; // the last two are (?!\S) and $
}

export type Alternative = readonly Part[];

export const spaceSet = String.raw`\p{White_Space}`;

/** A problem says what stands in the way, with the place. */
export function readPattern(text: string): { alternatives: Alternative[] } | { problem: string } {
  const reader = new PatternReader(text);
  const alternatives = reader.alternatives();
  return reader.problem === null ? { alternatives } : { problem: reader.problem };
}

const longestPattern = 4096; // characters
const mostCount = 8;
const categories = "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp".split(" ");
const scripts = ["Han", "Hiragana", "Katakana", "Hangul", "Thai", "Lao", "Khmer", "Myanmar"];
const setOf: Readonly<Record<string, string>> = {
  s: spaceSet,
  S: String.raw`\P{White_Space}`,
  d: String.raw`\p{Nd}`,
  D: String.raw`\P{Nd}`,
  r: String.raw`\r`,
  n: String.raw`\n`,
  t: String.raw`\t`,
};
/**
 * Folding case may match other lengths (ß is "ss"). These do not, and JavaScript folds their letters as Oniguruma does:
 * 's also matches 'ſ.
 */
const foldedWords = "'s 't 're 've 'm 'll 'd s t re ve m ll d [sdmt] [sdtm]".split(" ");

class PatternReader {
  readonly #characters: readonly string[];
  #at = 0;
  problem: string | null = null;

  constructor(text: string) {
    this.#characters = [...text];
    if (this.#characters.length > longestPattern) this.#refuse(`more than ${longestPattern} characters`);
  }

  alternatives(): Alternative[] {
    const found: Part[][] = [[]];
    while (this.#at < this.#characters.length && this.problem === null) {
      if (this.#takes("|")) found.push([]);
      else found.at(-1)!.push(this.#part());
    }
    return found;
  }

  #part(): Part {
    if (this.#takes(String.raw`(?!\S)`)) return this.#mark("notBeforeText", `(?!\\P{White_Space})`);
    if (this.#takes("$")) return this.#mark("lineEnd", "(?=\\n|$)");
    const isGroup = this.#peek() === "(";
    const source = isGroup ? this.#group() : this.#set();
    const counted = this.#count();
    if (isGroup && counted.most > 1) this.#refuse("a group that repeats");
    return { source, ...counted, kind: isGroup ? "group" : "set" };
  }

  #mark(kind: "notBeforeText" | "lineEnd", source: string): Part {
    return { source, least: 0, most: 0, keepsAll: false, kind };
  }

  #count(): { least: number; most: number; keepsAll: boolean } {
    const counted = this.#countOnly();
    const keepsAll = counted.sign !== "{" && counted.sign !== "" && this.#takes("+");
    if (counted.sign !== "" && /^[?*+{]$/.test(this.#peek())) this.#refuse(`'${this.#peek()}' behind a count`);
    return { least: counted.least, most: counted.most, keepsAll };
  }

  #countOnly(): { least: number; most: number; sign: string } {
    if (this.#takes("?")) return { least: 0, most: 1, sign: "?" };
    if (this.#takes("*")) return { least: 0, most: Infinity, sign: "*" };
    if (this.#takes("+")) return { least: 1, most: Infinity, sign: "+" };
    if (this.#peek() !== "{") return { least: 1, most: 1, sign: "" };
    const written = /^\{(\d{1,3})(,(\d{1,3}))?\}/.exec(this.#rest(12));
    if (written === null) return this.#refuse("a count", { least: 1, most: 1, sign: "{" });
    this.#at += written[0].length;
    const least = Number(written[1]);
    const most = Number(written[3] ?? written[1]);
    if (most > mostCount || least > most || most === 0) this.#refuse(`the count ${written[0]}`);
    return { least, most, sign: "{" };
  }

  /** `(?:…)` of words, or `(?i:…)` of known ones. */
  #group(): string {
    const isFolded = this.#takes("(?i:");
    if (!isFolded && !this.#takes("(?:")) return this.#refuse("a group that is neither (?:…) nor a known (?i:…)", "");
    const words: string[] = [];
    let [word, from] = ["", this.#at];
    for (;;) {
      const next = this.#peek();
      if (this.problem !== null || next === "") return this.#refuse("a group without an end", "");
      if (next === "|" || next === ")") {
        const written = this.#characters.slice(from, this.#at).join("");
        if (word === "" || (isFolded && !foldedWords.includes(written))) this.#refuse(`'${written}' in a group`);
        words.push(word);
        this.#at += 1;
        [word, from] = ["", this.#at];
        if (next === ")") return `${isFolded ? "(?i:" : "(?:"}${words.join("|")})`;
      } else word += this.#set();
    }
  }

  #set(): string {
    const character = this.#take();
    if (character === "[") return this.#brackets();
    if (character === ".") return String.raw`[^\n]`;
    if (character === "\\") return this.#escape();
    return /[\^$*+?(){}\]|]/.test(character) ? this.#refuse(`'${character}'`, "") : literal(character);
  }

  #brackets(): string {
    const isNegated = this.#takes("^");
    let members = "";
    for (;;) {
      const character = this.#take();
      if (this.problem !== null) return "";
      if (character === "]") break;
      if (character === "[" || (character === "&" && this.#peek() === "&")) return this.#refuse("a set in a set", "");
      const isBare = character !== "\\";
      const first = isBare ? literal(character) : this.#escape();
      if (this.#peek() !== "-" || this.#rest(2) === "-]") {
        members += first;
        continue;
      }
      this.#take();
      const end = this.#take();
      const last = end === "\\" ? this.#escape() : end === "[" ? this.#refuse("a set in a set", "") : literal(end);
      if (isSetName(first) || isSetName(last)) this.#refuse("a range that ends in a set");
      members += `${first}-${last}`;
    }
    return members === "" ? this.#refuse("an empty set", "") : `[${isNegated ? "^" : ""}${members}]`;
  }

  /** Behind the backslash. */
  #escape(): string {
    const character = this.#take();
    if (character === "p" || character === "P") return this.#property(character);
    const known = setOf[character];
    if (known !== undefined) return known;
    return /[a-zA-Z0-9]/.test(character) ? this.#refuse(`'\\${character}'`, "") : literal(character);
  }

  #property(sign: "p" | "P"): string {
    const [written, name = ""] = /^\{(\w+)\}/.exec(this.#rest(16)) ?? [];
    this.#at += written?.length ?? 0;
    if (categories.includes(name)) return `\\${sign}{${name}}`;
    return scripts.includes(name)
      ? `\\${sign}{Script=${name}}`
      : this.#refuse(`'\\${sign}${written ?? this.#rest(8)}'`, "");
  }

  #peek(): string {
    return this.#characters[this.#at] ?? "";
  }

  #rest(length: number): string {
    return this.#characters.slice(this.#at, this.#at + length).join("");
  }

  #take(): string {
    const character = this.#characters[this.#at];
    this.#at += 1;
    return character ?? this.#refuse("an end in the middle", "");
  }

  #takes(text: string): boolean {
    const isNext = this.#rest(text.length) === text;
    if (isNext) this.#at += text.length;
    return isNext;
  }

  #refuse<T>(what: string, instead: T): T;
  #refuse(what: string): void;
  #refuse<T>(what: string, instead?: T): T | undefined {
    this.problem ??= `it has ${what} before character ${this.#at}`;
    return instead;
  }
}

const isSetName = (source: string): boolean => /^\\[pP]/.test(source);

function literal(character: string): string {
  return /^[A-Za-z0-9]$/.test(character) ? character : `\\u{${character.codePointAt(0)?.toString(16) ?? "0"}}`;
}

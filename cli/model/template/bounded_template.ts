/**
 * Runs a stranger's Jinja template. The library gives it no way to the outside; here it also gets limits: on its length, on
 * the work that it does, and on the size of every value that it makes. All are counted, so that the same template always
 * gives the same text or the same refusal.
 */

import { Environment, Interpreter, parse, tokenize } from "@huggingface/jinja";

const mostCharacters = 100_000; // of a template; the longest known ones have a third of it
const longestGap = 1_000; // white space in a row, where the library's patterns take the square of it
const mostWork = 2 ** 20; // nodes evaluated and members of lists passed on: 3 seconds at the slowest measured
const charactersOfWork = 64; // so many are as much work as one node
const mostSize = 2 ** 23; // characters and members of a value, with all that is inside
const longestRange = 10_000;

/** What is wrong with a template, or what it says about its input. */
export class TemplateProblem extends Error {
  override name = "TemplateProblem";
}

type Evaluated = ReturnType<Interpreter["evaluate"]>;

class BoundedInterpreter extends Interpreter {
  #work = mostWork;
  readonly #sizes = new WeakMap<Evaluated, number>();

  override evaluate(...node: Parameters<Interpreter["evaluate"]>): Evaluated {
    const found = super.evaluate(...node);
    const { value } = found as { value: unknown };
    const size = this.#sizeOf(found);
    if (size > mostSize) throw new TemplateProblem("it makes a text or list that is too long");
    const members = Array.isArray(value) ? value.length : value instanceof Map ? value.size : 0;
    this.#work -= 1 + members + size / charactersOfWork;
    if (this.#work < 0) throw new TemplateProblem("it takes too many steps");
    return found;
  }

  #sizeOf(found: Evaluated): number {
    const { value } = found as { value: unknown };
    if (typeof value === "string") return value.length;
    if (!Array.isArray(value) && !(value instanceof Map)) return 1;
    const known = this.#sizes.get(found);
    if (known !== undefined) return known;
    this.#sizes.set(found, 1); // a namespace may hold itself
    let size = 1;
    for (const member of value.values()) size += this.#sizeOf(member as Evaluated);
    if (value instanceof Map) { for (const key of value.keys()) size += String(key).length; }
    this.#sizes.set(found, size);
    return size;
  }
}

type Program = ReturnType<typeof parse>;

export class BoundedTemplate {
  readonly #program: Program;

  /** Throws a `TemplateProblem`. */
  constructor(text: string) {
    if (text.length > mostCharacters) {
      throw new TemplateProblem(`it has ${text.length} characters, of at most ${mostCharacters}`);
    }
    if (new RegExp(`\\s{${longestGap}}`).test(text)) {
      throw new TemplateProblem(`it has ${longestGap} or more spaces or line breaks in a row`);
    }
    this.#program = problemsOf(() => parse(tokenize(text, { lstrip_blocks: true, trim_blocks: true })));
  }

  /** `date`: what the template takes for now. */
  render(variables: Readonly<Record<string, unknown>>, date: Date): string {
    return problemsOf(() => {
      const environment = new Environment();
      const all = { ...constants, range, raise_exception: refuse, strftime_now: dateIn(date), ...variables };
      for (const [name, value] of Object.entries(all)) environment.set(name, value);
      return String(new BoundedInterpreter(environment).run(this.#program).value);
    });
  }
}

const constants = { true: true, false: false, none: null, True: true, False: false, None: null };

function problemsOf<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof TemplateProblem) throw error;
    // The library throws plain errors about a template, and the engine a RangeError where it nests too deep.
    const message = error instanceof RangeError ? "it nests too deep" : error instanceof Error ? error.message : "";
    throw new TemplateProblem(message.length > 300 ? `${message.slice(0, 300)}…` : message, { cause: error });
  }
}

function refuse(reason: unknown): never {
  throw new TemplateProblem(String(reason).slice(0, 300));
}

function range(first: number, end?: number, step = 1): number[] {
  const [from, to] = end === undefined ? [0, first] : [first, end];
  const length = Math.max(0, Math.ceil((to - from) / step));
  if (!(length <= longestRange)) {
    throw new TemplateProblem(`it asks for a range of ${length}, of at most ${longestRange}`);
  }
  return Array.from({ length }, (_, i) => from + i * step);
}

const two = (value: number): string => String(value).padStart(2, "0");
const word = (date: Date, options: Intl.DateTimeFormatOptions): string => date.toLocaleDateString("en-US", options);

/** The codes of Python's strftime that templates use. */
const codes: Readonly<Record<string, (date: Date) => string>> = {
  a: (date) => word(date, { weekday: "short" }),
  A: (date) => word(date, { weekday: "long" }),
  b: (date) => word(date, { month: "short" }),
  B: (date) => word(date, { month: "long" }),
  d: (date) => two(date.getDate()),
  m: (date) => two(date.getMonth() + 1),
  y: (date) => two(date.getFullYear() % 100),
  Y: (date) => String(date.getFullYear()),
  H: (date) => two(date.getHours()),
  I: (date) => two(date.getHours() % 12 || 12),
  M: (date) => two(date.getMinutes()),
  S: (date) => two(date.getSeconds()),
  p: (date) => date.getHours() < 12 ? "AM" : "PM",
};

const dateIn = (date: Date) => (format: unknown): string =>
  String(format).slice(0, 200).replace(
    /%(.)/g,
    (whole, code: string) =>
      code === "%" ? "%" : Object.hasOwn(codes, code) ? codes[code]!(date) : refuse(`it formats a date with ${whole}`),
  );

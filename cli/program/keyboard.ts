/**
 * The keys that a person presses while a live screen shows, not echoed. Ctrl-C, Ctrl-Z and Ctrl-\ stay signals.
 *
 * A program in the background would be stopped if it read from its terminal, so `askKeyboard` comes first, while
 * programs may still be started. Windows' terminals have no such mode.
 */

export const keyboardVariable = "IOTA_KEYBOARD";

export interface KeyboardListener {
  onBytes(bytes: Uint8Array): void;
  onResize(): void;
  /** Others have written to the terminal. */
  onContinue(): void;
}

/** As far as the system tells. */
export function askKeyboard(): boolean {
  if (Deno.build.os === "windows" || !Deno.stdin.isTerminal() || !Deno.stdout.isTerminal()) return false;
  try {
    return Deno.build.os === "linux" ? isForeground(run("cat", ["/proc/self/stat"])) : hasPlus();
  } catch {
    return false;
  }
}

/** A child is in its parent's process group; the terminal's foreground group is the third field after that one. */
export function isForeground(stat: string): boolean {
  const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return group !== undefined && group === foreground;
}

/** `ps` marks the foreground group of a terminal. */
const hasPlus = (): boolean => run("ps", ["-o", "stat=", "-p", String(Deno.pid)]).includes("+");

function run(program: string, args: string[]): string {
  const { stdout } = new Deno.Command(program, { args, stdin: "null", stderr: "null" }).outputSync();
  return new TextDecoder().decode(stdout);
}

let listener: ((bytes: Uint8Array) => void) | null = null; // a process has one keyboard
let isReading = false;

/** A read that a closed screen left pending serves the next one, which would otherwise miss its first key. */
async function readKeys(): Promise<void> {
  if (isReading) return;
  isReading = true;
  const buffer = new Uint8Array(64);
  while (listener !== null) {
    const count = await Deno.stdin.read(buffer).catch(() => null);
    if (count === null) break;
    listener?.(buffer.slice(0, count));
  }
  isReading = false;
}

export function openKeyboard({ onBytes, onResize, onContinue }: KeyboardListener): () => void {
  let isOpen = true;
  const take = () => Deno.stdin.setRaw(true, { cbreak: true });
  const goOn = () => {
    take(); // the shell has set the terminal to its own mode meanwhile
    onContinue();
  };
  take();
  Deno.addSignalListener("SIGCONT", goOn);
  Deno.addSignalListener("SIGWINCH", onResize);
  listener = onBytes;
  void readKeys();
  return () => {
    if (!isOpen) return;
    isOpen = false;
    listener = null;
    Deno.removeSignalListener("SIGCONT", goOn);
    Deno.removeSignalListener("SIGWINCH", onResize);
    try {
      Deno.stdin.setRaw(false);
    } catch {
      // the terminal was closed
    }
  };
}

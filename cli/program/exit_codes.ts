/** The exit codes of iota. Scripts rely on these numbers: they do not change. */

export const exitFine = 0;
export const exitFailed = 1;
export const exitUsage = 2;
export const exitTooSoon = 75; // EX_TEMPFAIL of sysexits.h
export const exitInterrupted = 130; // 128 + SIGINT, the shell convention

export const exitCodes: readonly { readonly code: number; readonly meaning: string }[] = [
  { code: exitFine, meaning: "done; for status, doctor and check: nothing is wrong" },
  {
    code: exitFailed,
    meaning: "not done, or something is wrong; the last lines of stderr give the reason and the next step",
  },
  { code: exitUsage, meaning: "the command line is wrong; nothing was started" },
  { code: exitTooSoon, meaning: "not done yet: the same command works later; the last lines of stderr say when" },
  { code: exitInterrupted, meaning: "exited at once after a second Ctrl-C" },
];

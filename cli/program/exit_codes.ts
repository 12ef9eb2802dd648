/** The exit codes of iota. Scripts rely on these numbers: they do not change. */

export const exitFine = 0;
export const exitFailed = 1;
export const exitUsage = 2;
export const exitTooSoon = 75; // EX_TEMPFAIL of sysexits.h
export const exitInterrupted = 130; // 128 + SIGINT, the shell convention

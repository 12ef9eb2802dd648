/** The files of a run's record log: `records.jsonl` and, beside it, the full ones, `.1` the newest. */

const name = "records.jsonl";
export const keptFiles = 3; // full ones

export const recordPath = (folder: string): string => `${folder}/${name}`;

export const recordFileNames: readonly string[] = [
  name,
  ...Array.from({ length: keptFiles }, (_, i) => `${name}.${i + 1}`),
];

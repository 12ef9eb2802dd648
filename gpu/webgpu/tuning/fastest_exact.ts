/**
 * The fastest of several settings that gives right results.
 *
 * A setting's time is the sum of its shortest runs at all places (shapes). One that takes twice as long as the best so far at the
 * first place is not measured at the others. Whatever is fastest must be exact, or the next one is tried: drivers have bugs. The
 * first setting, the default, stays unless another one is faster by more than runs differ.
 */

export interface Fastest<Settings> {
  readonly best: Settings;
  readonly defaultMs: number; // of all places
  readonly bestMs: number;
  readonly tried: number;
  readonly wrong: number; // faster ones that were not exact
}

export interface Trials<Settings> {
  readonly places: number; // at least one
  milliseconds(settings: Settings, place: number): Promise<number>;
  isExact(settings: Settings): Promise<boolean>;
}

const leastGain = 0.03;
const hopeless = 2; // times the best at the first place

export async function fastestExact<Settings>(
  [standard, ...others]: readonly Settings[],
  trials: Trials<Settings>,
): Promise<Fastest<Settings>> {
  if (standard === undefined) throw new Error("The default setting is among the candidates");
  const defaultTimes = await timesOf(standard, trials, Infinity);
  const defaultMs = defaultTimes.all;
  let bestFirstMs = defaultTimes.first;
  const faster: { settings: Settings; ms: number }[] = [];
  for (const settings of others) {
    const { first, all } = await timesOf(settings, trials, hopeless * bestFirstMs);
    bestFirstMs = Math.min(bestFirstMs, first);
    if (all < (1 - leastGain) * defaultMs) faster.push({ settings, ms: all });
  }
  const tried = 1 + others.length;
  let wrong = 0;
  for (const { settings, ms } of faster.toSorted((a, b) => a.ms - b.ms)) {
    if (await trials.isExact(settings)) return { best: settings, defaultMs, bestMs: ms, tried, wrong };
    wrong += 1;
  }
  return { best: standard, defaultMs, bestMs: defaultMs, tried, wrong };
}

/** `all`: infinite if the first place took too long. */
async function timesOf<Settings>(
  settings: Settings,
  { places, milliseconds }: Trials<Settings>,
  mostFirstMs: number,
): Promise<{ first: number; all: number }> {
  const first = await milliseconds(settings, 0);
  if (first > mostFirstMs) return { first, all: Infinity };
  let all = first;
  for (let place = 1; place < places; place++) all += await milliseconds(settings, place);
  return { first, all };
}

/** Count, mean and spread of numbers that arrive one at a time, in constant memory (Welford's update). */

export interface Moments {
  count: number;
  mean: number;
  squares: number; // sum of squared distances from the mean
}

export function noMoments(): Moments {
  return { count: 0, mean: 0, squares: 0 };
}

export function addTo(moments: Moments, value: number): void {
  moments.count += 1;
  const before = value - moments.mean;
  moments.mean += before / moments.count;
  moments.squares += before * (value - moments.mean);
}

/** With fewer, errors of many standard errors are common; with these, one of 4.65 has a chance of 1 in 30,000. */
export const fewestDegrees = 30;

/** Variance within the groups, pooled: each group has its own mean. Null: too few values. */
export function pooledVariance(groups: readonly Moments[]): number | null {
  let squares = 0, degrees = 0;
  for (const group of groups) {
    squares += group.squares;
    degrees += Math.max(0, group.count - 1);
  }
  return degrees < fewestDegrees ? null : squares / degrees;
}

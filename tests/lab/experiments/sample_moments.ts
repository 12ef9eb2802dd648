/** Mean, deviation and standard error of a sample of measurements. */

export const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

export function deviationOf(values: readonly number[]): number {
  const middle = meanOf(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1));
}

/** Of the mean; null: one value has none. */
export const standardErrorOf = (values: readonly number[]): number | null =>
  values.length < 2 ? null : deviationOf(values) / Math.sqrt(values.length);

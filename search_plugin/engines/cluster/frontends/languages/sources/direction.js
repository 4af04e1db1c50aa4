/** Return the direction of the sum of vectors, a vector of length 1. */
export function directionOf(vectors) {
  const sum = (vectors[0] ?? []).map((_, at) => vectors.reduce((total, vector) => total + vector[at], 0));
  const length = Math.hypot(...sum);
  if (!length) throw new Error("Nothing gives these words a vector.");
  return sum.map((value) => value / length);
}

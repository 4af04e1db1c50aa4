/** Return the id of the paper of a hit. */
export const idOf = (hit) => hit.fields?.id?.[0] ?? hit._id;

const bestFirst = (one, other) => other.score - one.score || (one.id < other.id ? -1 : 1);

const closenessOf = {
  l2: (score) => -Math.sqrt(Math.max(1 / score - 1, 0)),
  dot: (score) => (score >= 1 ? score - 1 : 1 - 1 / score),
};

/**
 * Return the papers of all legs with their scores, the best first, as ses joins them: the scores of a leg are scaled to
 * 0..1, weighted and added up; with a `constant`, weight / (constant + rank) is. The first `window` papers of each reply
 * count, equal scores in the order of the ids. `measures` are those of the vectors: cosine, dot or l2, or null for words.
 */
export function joinLegs(replies, weights, measures, window, constant = 0) {
  const total = new Map();
  replies.forEach((reply, leg) => {
    const closeness = closenessOf[measures[leg]] ?? ((score) => score);
    const hits = reply.hits.hits.map((hit) => ({id: idOf(hit), score: closeness(hit._score)}));
    const best = hits.sort(bestFirst).slice(0, window);
    const [high, low] = [best[0]?.score, best[best.length - 1]?.score];
    best.forEach(({id, score}, rank) => {
      const scaled = high > low ? (score - low) / (high - low) : 1;
      total.set(id, (total.get(id) ?? 0) + weights[leg] * (constant ? 1 / (constant + rank + 1) : scaled));
    });
  });
  return [...total].map(([id, score]) => ({id, score})).sort(bestFirst);
}

// A hybrid search ranked as ses ranks it.

/** Weights of words and of a vector by a table or by words of the cluster; by a model, both are .5. */
export const TABLE_WEIGHTS = [0.6, 0.4];

/** How neighbours count by default, among the best papers (`pool`): their weight, and what else the function takes. */
export const NEIGHBOURS = {"weight": 0.3, "pool": 50, "nearest": 5, "first": 0.3333333333333333};

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

/** Return the vectors of papers by id, from a reply with their numbers in a field. */
export function paperVectors(reply, field) {
  const held = reply.hits.hits.filter((hit) => hit.fields?.[field]);
  return new Map(held.map((hit) => [idOf(hit), hit.fields[field].flat()]));
}

/**
 * Return a ranking in which neighbours count: papers rise whose nearest papers rank high, and papers like the first one.
 * `vectors` are those of the best papers, by id.
 */
export function withNeighbours(ranking, vectors, weight, nearest, first, largest) {
  if (ranking.length < 2) return ranking;
  const best = ranking.filter(({id}) => vectors.has(id));
  const rows = best.map(({id}) => {
    const length = Math.hypot(...vectors.get(id)) || 1;
    return vectors.get(id).map((value) => value / length);
  });
  const cosines = rows.map((row) => rows.map((other) => row.reduce((sum, value, at) => sum + value * other[at], 0)));
  const toFirst = (cosines[0] ?? []).map((cosine) => cosine - Math.min(...cosines[0]));
  const most = Math.max(...toFirst) || 1;
  const given = new Map();
  for (let at = 0; at < best.length && best.length > 1; at += 1) {
    const others = best.map(({score}, other) => ({score, cosine: cosines[at][other]})).filter((_, other) => other !== at);
    const near = others.sort((one, other) => other.cosine - one.cosine).slice(0, nearest);
    const total = near.reduce((sum, {cosine}) => sum + Math.max(cosine, 0), 0) || 1;
    const mean = near.reduce((sum, {score, cosine}) => sum + Math.max(cosine, 0) * score, 0) / total;
    given.set(best[at].id, (1 - first) * mean + (first * largest * toFirst[at]) / most);
  }
  const mixed = ranking.map(({id, score}) => ({id, score: (1 - weight) * score + weight * (given.get(id) ?? 0)}));
  return mixed.sort((one, other) => other.score - one.score || (one.id < other.id ? -1 : 1));
}

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

# Return the vectors of papers by id, from a reply with their numbers in a field.
def paper_vectors(reply, field)
  held = reply["hits"]["hits"].select { |hit| hit.dig("fields", field) }
  held.to_h { |hit| [id_of(hit), hit["fields"][field].flatten] }
end

# Return a ranking in which neighbours count: papers rise whose nearest papers rank high, and papers like the first one.
# `vectors` are those of the best papers, by id.
def with_neighbours(ranking, vectors, weight, nearest, first, largest)
  return ranking if ranking.size < 2
  best = ranking.select { |id, _| vectors.key?(id) }
  rows = best.map do |id, _|
    length = Math.sqrt(vectors[id].sum { |value| value * value })
    length.zero? ? vectors[id] : vectors[id].map { |value| value / length }
  end
  cosines = rows.map { |row| rows.map { |other| row.each_index.sum { |at| row[at] * other[at] } } }
  to_first = (cosines[0] || []).map { |cosine| cosine - cosines[0].min }
  most = to_first.max.to_f.zero? ? 1 : to_first.max
  given = {}
  (best.size > 1 ? best : []).each_with_index do |(id, _), at|
    others = best.each_with_index.reject { |_, other| other == at }
    others = others.map { |(_, score), other| [[cosines[at][other], 0].max, score, other] }
    near = others.sort_by { |cosine, _, other| [-cosine, other] }.first(nearest)
    total = near.sum { |cosine,| cosine }
    mean = near.sum { |cosine, score| cosine * score } / (total.zero? ? 1 : total)
    given[id] = (1 - first) * mean + first * largest * to_first[at] / most
  end
  mixed = ranking.map { |id, score| [id, (1 - weight) * score + weight * given.fetch(id, 0)] }
  mixed.sort_by { |id, score| [-score, id] }
end

# Return the id of the paper of a hit.
def id_of(hit)
  hit.dig("fields", "id", 0) || hit["_id"]
end

# Return the papers of all legs as pairs of id and score, the best first, as ses joins them: the scores of a leg are
# scaled to 0..1, weighted and added up; with a constant, weight / (constant + rank) is. The first `window` papers of
# each reply count, equal scores in the order of the ids. `measures` are those of the vectors: cosine, dot or l2, or nil
# for words.
def join_legs(replies, weights, measures, window, constant = 0)
  closeness = {
    "l2" => ->(score) { -Math.sqrt([1 / score - 1, 0].max) },
    "dot" => ->(score) { score >= 1 ? score - 1 : 1 - 1 / score },
  }
  total = Hash.new(0.0)
  replies.each_with_index do |reply, leg|
    near = closeness.fetch(measures[leg], ->(score) { score })
    hits = reply["hits"]["hits"].map { |hit| [id_of(hit), near.call(hit["_score"])] }
    hits = hits.sort_by { |id, score| [-score, id] }.first(window)
    hits.each_with_index do |(id, score), rank|
      high, low = hits.first[1], hits.last[1]
      scaled = high > low ? (score - low) / (high - low) : 1
      total[id] += weights[leg] * (constant.zero? ? scaled : 1.0 / (constant + rank + 1))
    end
  end
  total.sort_by { |id, score| [-score, id] }
end

/** Return the id of the paper of a hit. */
function id_of(array $hit): string
{
    return $hit['fields']['id'][0] ?? $hit['_id'];
}

function best_first(array $one, array $other): int
{
    return $other[1] <=> $one[1] ?: strcmp($one[0], $other[0]);
}

/**
 * Return the papers of all legs as pairs of id and score, the best first, as ses joins them: the scores of a leg are
 * scaled to 0..1, weighted and added up; with a `$constant`, weight / (constant + rank) is. The first `$window` papers
 * of each reply count, equal scores in the order of the ids. `$measures` are those of the vectors: cosine, dot or l2,
 * or null for words.
 */
function join_legs(array $replies, array $weights, array $measures, int $window, int $constant = 0): array
{
    $total = [];
    foreach ($replies as $leg => $reply) {
        $closeness = match ($measures[$leg]) {
            'l2' => fn($score) => -sqrt(max(1 / $score - 1, 0)),
            'dot' => fn($score) => $score >= 1 ? $score - 1 : 1 - 1 / $score,
            default => fn($score) => $score,
        };
        $hits = array_map(fn($hit) => [id_of($hit), $closeness($hit['_score'])], $reply['hits']['hits']);
        usort($hits, best_first(...));
        $hits = array_slice($hits, 0, $window);
        [$high, $low] = [$hits[0][1] ?? 0, $hits[count($hits) - 1][1] ?? 0];
        foreach ($hits as $rank => [$id, $score]) {
            $scaled = $high > $low ? ($score - $low) / ($high - $low) : 1;
            // A key that looks like a number would become one.
            $before = $total["id $id"][1] ?? 0;
            $total["id $id"] = [$id, $before + $weights[$leg] * ($constant ? 1 / ($constant + $rank + 1) : $scaled)];
        }
    }
    $ranking = array_values($total);
    usort($ranking, best_first(...));
    return $ranking;
}

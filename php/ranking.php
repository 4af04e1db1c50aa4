<?php

namespace SesScholar;

/** Weights of words and of a vector by a table or by words of the cluster; by a model, both are .5. */
const TABLE_WEIGHTS = [0.6, 0.4];

/** How neighbours count by default, among the best papers (`pool`): their weight, and what else the function takes. */
const NEIGHBOURS = ["weight" => 0.3, "pool" => 50, "nearest" => 5, "first" => 0.3333333333333333];

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

/**
 * Return the vectors of papers, from a reply with their numbers in a field. The keys are the ids after "id ", since a
 * key that looks like a number would become one.
 */
function paper_vectors(array $reply, string $field): array
{
    $vectors = [];
    foreach ($reply['hits']['hits'] as $hit) {
        if ($values = $hit['fields'][$field] ?? []) {
            $vectors['id ' . id_of($hit)] = is_array($values[0]) ? array_merge(...$values) : $values;
        }
    }
    return $vectors;
}

/**
 * Return a ranking in which neighbours count: papers rise whose nearest papers rank high, and papers like the first one.
 * `$vectors` are those of the best papers, by id.
 */
function with_neighbours(array $ranking, array $vectors, float $weight, int $nearest, float $first, float $largest): array
{
    if (count($ranking) < 2) {
        return $ranking;
    }
    $best = array_values(array_filter($ranking, fn($one) => isset($vectors["id $one[0]"])));
    $rows = [];
    foreach ($best as [$id]) {
        $length = sqrt(array_sum(array_map(fn($value) => $value * $value, $vectors["id $id"]))) ?: 1;
        $rows[] = array_map(fn($value) => $value / $length, $vectors["id $id"]);
    }
    $cosines = [];
    foreach ($rows as $at => $row) {
        foreach ($rows as $other => $values) {
            $sum = 0;
            foreach ($row as $place => $value) {
                $sum += $value * $values[$place];
            }
            $cosines[$at][$other] = $sum;
        }
    }
    $given = [];
    foreach (count($best) > 1 ? $best : [] as $at => [$id]) {
        $near = $cosines[$at];
        unset($near[$at]);
        arsort($near);
        [$total, $sum] = [0, 0];
        foreach (array_slice($near, 0, $nearest, true) as $other => $cosine) {
            $total += max($cosine, 0);
            $sum += max($cosine, 0) * $best[$other][1];
        }
        $least = min($cosines[0]);
        $to_first = ($cosines[0][$at] - $least) / (max($cosines[0]) - $least ?: 1);
        $given["id $id"] = (1 - $first) * $sum / ($total ?: 1) + $first * $largest * $to_first;
    }
    $mixed = [];
    foreach ($ranking as [$id, $score]) {
        $mixed[] = [$id, (1 - $weight) * $score + $weight * ($given["id $id"] ?? 0)];
    }
    usort($mixed, fn($one, $other) => $other[1] <=> $one[1] ?: strcmp($one[0], $other[0]));
    return $mixed;
}

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

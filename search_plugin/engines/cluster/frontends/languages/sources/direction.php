/** Return the direction of the sum of vectors, a vector of length 1. */
function direction_of(array $vectors): array
{
    $sum = count($vectors) > 1 ? array_map(fn(...$values) => array_sum($values), ...$vectors) : $vectors[0] ?? [];
    $length = sqrt(array_sum(array_map(fn($value) => $value * $value, $sum)));
    if (!$length) {
        throw new \RuntimeException('Nothing gives these words a vector.');
    }
    return array_map(fn($value) => $value / $length, $sum);
}

/** Return the words of a text as the cluster names them: in small letters, without accents; a sign is a word too. */
function words_of(string $text): array
{
    $alone = '\p{P}$+<=>^`|~\x{3400}-\x{4dbf}\x{4e00}-\x{9fff}\x{f900}-\x{faff}\x{20000}-\x{2ceaf}';
    $plain = \Normalizer::normalize(mb_scrub($text, 'UTF-8'), \Normalizer::FORM_D);
    $plain = preg_replace('/[\p{Mn}\p{Cf}\p{Co}\x{fffd}]|(?![\t\n\r])\p{Cc}/u', '', $plain);
    $plain = mb_convert_case($plain, MB_CASE_LOWER_SIMPLE, 'UTF-8');
    preg_match_all("/[$alone]|[^$alone\\p{Z}\\t\\n\\r]+/u", $plain, $found);
    return $found[0];
}

/** Return all pieces that a word may have; those that continue it begin with ##. */
function candidates_of(string $word): array
{
    [$signs, $found] = [mb_str_split($word, 1, 'UTF-8'), []];
    for ($start = 0; count($signs) <= 100 && $start < count($signs); $start++) {
        $piece = $start ? '##' : '';
        foreach (array_slice($signs, $start, 24) as $sign) {
            $found[] = $piece .= $sign;
        }
    }
    return $found;
}

/** Return the pieces of a word, always the longest that is known, or one that stands for a word without pieces. */
function pieces_of(string $word, array $known): array
{
    [$signs, $found] = [mb_str_split($word, 1, 'UTF-8'), []];
    for ($start = 0; $start < count($signs); $start = $end) {
        for ($end = min($start + 24, count($signs)); $end > $start; $end--) {
            $piece = ($start ? '##' : '') . implode('', array_slice($signs, $start, $end - $start));
            if (isset($known[$piece]['piece'])) {
                break;
            }
        }
        if ($end === $start || count($signs) > 100) {
            return ['[UNK]'];
        }
        $found[] = $piece;
    }
    return $found;
}

/**
 * Return the vectors of the words of a text; `$mget` sends ids, and returns the reply of the cluster's `_mget`.
 * What the cluster knows of each word is put into `$known`.
 */
function vectors_of(string $text, callable $mget, array &$known = []): array
{
    $words = words_of($text);
    $look = function (array $ids) use ($mget, &$known): void {
        foreach ($ids ? $mget(array_values(array_unique($ids, SORT_STRING)))['docs'] ?? [] : [] as $document) {
            if (isset($document['_source'])) {
                $known[$document['_id']] = $document['_source'];
            }
        }
    };
    $look($words);
    $others = array_filter($words, fn($word) => !isset($known[$word]));
    $look($others ? [...array_merge(...array_map(candidates_of(...), array_values($others))), '[UNK]'] : []);
    $parts = array_map(fn($word) => isset($known[$word]) ? [$word] : pieces_of($word, $known), $words);
    $parts = array_filter(array_merge(...$parts), fn($part) => isset($known[$part]));
    return array_map(fn($part) => $known[$part]['vector'], array_values($parts));
}

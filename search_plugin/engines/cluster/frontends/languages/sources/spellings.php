const GREEK = [
    'alpha' => 'α', 'beta' => 'β', 'gamma' => 'γ', 'delta' => 'δ', 'epsilon' => 'ε', 'zeta' => 'ζ', 'eta' => 'η',
    'theta' => 'θ', 'iota' => 'ι', 'kappa' => 'κ', 'lambda' => 'λ', 'mu' => 'μ', 'nu' => 'ν', 'xi' => 'ξ',
    'omicron' => 'ο', 'pi' => 'π', 'rho' => 'ρ', 'sigma' => 'σ', 'tau' => 'τ', 'upsilon' => 'υ', 'phi' => 'φ',
    'chi' => 'χ', 'psi' => 'ψ', 'omega' => 'ω',
];

/** Return the name of a Greek letter, and other texts in small letters. */
function name_of(string $part): string
{
    $small = mb_strtolower($part, 'UTF-8');
    return (array_flip(GREEK) + ["\u{b5}" => 'mu', "\u{3c2}" => 'sigma', "\u{3d5}" => 'phi'])[$small] ?? $small;
}

/** Return the letters, digits and Greek letters of a word apart, in small letters; Greek ones by name. */
function parts_of(string $word): array
{
    $glued = implode('|', array_filter(array_keys(GREEK), fn($name) => strlen($name) > 3));
    $word = preg_replace("/^([A-Z0-9]+|[a-z]{2,}(?=(?:$glued)\\d*\$))($glued)([A-Z]?\\d*)\$/D", '$1 $2 $3', $word);
    $greek = '\x{370}-\x{3ff}\x{b5}';
    preg_match_all("/\\p{Nd}+|[$greek]|(?:(?![\\p{Nd}$greek])[\\p{L}\\p{N}])+/u", $word, $found);
    return array_map(name_of(...), $found[0]);
}

/** Return the other spellings of a word of several parts, such as TNF-alpha, IL6 and non-smokers. */
function compounds_of(array $words): array
{
    $parts = array_merge(...array_map(parts_of(...), $words));
    if ($parts && in_array($parts[0], ['nf', 'nfkb'], true) && in_array(end($parts), ['kb', 'nfkb'], true)) {
        $parts = ['nf', 'kappa', 'b'];
    }
    if (count($parts) < 2) {
        return [];
    }
    $special = array_filter($parts, fn($part) => isset(GREEK[$part]) || preg_match('/^\p{Nd}+$/uD', $part));
    if (count($parts) > 4 || (count($words) > 1 && !$special)) {
        return array_map(fn($gap) => mb_strtolower(implode($gap, $words), 'UTF-8'), [' ', '']);
    }
    $found = [''];
    foreach ($parts as $part) {
        $forms = array_filter([$part, GREEK[$part] ?? '', $part === 'kappa' ? 'k' : ''], strlen(...));
        $longer = [];
        foreach ($found as $one) {
            foreach ($one === '' ? [''] : [' ', ''] as $gap) {
                array_push($longer, ...array_map(fn($form) => $one . $gap . $form, $forms));
            }
        }
        $found = $longer;
    }
    return $found;
}

/** Return whether two words are parts of one: by a hyphen, before a Greek letter, or a number after an acronym. */
function continues(string $word, string $after, string $gap): bool
{
    $greek = fn($one) => isset(GREEK[name_of($one)]);
    if ($gap !== ' ') {
        return in_array($gap, ['-', "\u{2010}", "\u{2011}", "\u{2012}", "\u{2013}", "\u{2212}", '/-', '-/'], true);
    }
    if ($greek($after)) {
        return mb_strlen($word, 'UTF-8') > 1;
    }
    if ($greek($word)) {
        return (bool) preg_match('/^\p{Lu}$/uD', $after);
    }
    return preg_match('/^\p{Nd}+$/uD', $after) && preg_match('/^\p{L}{1,5}$/uD', $word)
        && (preg_match('/\p{Lu}/u', $word) || !preg_match('/\p{Ll}/u', $word));
}

/** Return the words of a text: first those without other spellings, then each of the others with its spellings. */
function spelled_of(string $text, array $known = []): array
{
    $text = mb_scrub($text, 'UTF-8');
    preg_match_all('/[\p{L}\p{N}]+(?:[\x{300}-\x{36f}][\p{L}\p{N}]*)*/u', $text, $found, PREG_OFFSET_CAPTURE);
    [$tokens, $plain, $spelled] = [$found[0], [], []];
    $left = count(preg_split('/\s+/u', trim($text))) > 40 ? 0 : 200;
    $end_of = fn($token) => $token[1] + strlen($token[0]);
    for ($start = 0; $start < count($tokens); $start = $end) {
        for ($end = $start + 1; $end < count($tokens); $end++) {
            [$one, $after] = [$tokens[$end - 1], $tokens[$end]];
            if (!continues($one[0], $after[0], substr($text, $end_of($one), $after[1] - $end_of($one)))) {
                break;
            }
        }
        $typed = substr($text, $tokens[$start][1], $end_of($tokens[$end - 1]) - $tokens[$start][1]);
        $small = mb_strtolower($typed, 'UTF-8');
        $compounds = compounds_of(array_column(array_slice($tokens, $start, $end - $start), 0));
        $others = array_unique([...$compounds, ...$known[$small]['spellings'] ?? []], SORT_STRING);
        $others = array_slice(array_values(array_diff($others, [$small])), 0, $left);
        $left -= count($others);
        $others ? $spelled[] = [$typed, ...$others] : $plain[] = $typed;
    }
    return $spelled ? [[implode(' ', $plain)], ...$spelled] : [[$text]];
}

/** Return the query for the words of a text in fields; of a word's spellings, the one that matches best counts. */
function matching(array $spelled, array $fields, float $boost): array
{
    $given = ['fields' => $fields, 'boost' => $boost];
    $ask = fn($text, $type) => ['multi_match' => ['query' => $text, 'type' => $type] + $given];
    $types = fn($texts) => array_pad(['most_fields'], count($texts), 'phrase');
    $best = fn($texts) => ['dis_max' => ['queries' => array_map($ask, $texts, $types($texts))]];
    return ['bool' => ['should' => array_map($best, $spelled)]];
}

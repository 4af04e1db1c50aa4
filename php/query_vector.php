<?php

namespace SesScholar;

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

/** A table that makes the vectors of queries, from the file that `ses models table` writes. */
final class QueryTable
{
    private string $codes, $centroids, $weights, $folding;
    private array $vocabulary, $ranges, $none;
    private int $parts;

    public function __construct(string $path)
    {
        $bytes = file_get_contents($path);
        $begin = 8 + unpack('P', $bytes)[1];
        $header = json_decode(substr($bytes, 8, $begin - 8), true, 512, JSON_THROW_ON_ERROR);
        $part = function (string $name) use ($bytes, $begin, $header): string {
            [$first, $end] = $header[$name]['data_offsets'];
            return substr($bytes, $begin + $first, $end - $first);
        };
        [$this->codes, $this->centroids, $this->weights] = [$part('codes'), $part('centroids'), $part('weights')];
        [$this->none, $this->parts] = [array_values(unpack('g*', $part('none'))), $header['codes']['shape'][1]];
        $this->vocabulary = array_flip(explode("\n", $part('vocabulary')));
        $this->folding = "\n" . $part('folding') . "\n";
        $this->ranges = array_map(fn($line) => explode("\t", $line), explode("\n", $part('ranges')));
    }

    /** The character as the tokenizer reads it: folded, removed, or with spaces around where it is a word of its own. */
    private function fold(string $sign): string
    {
        if (preg_match('/^[a-z0-9 ]$/D', $sign)) {
            return $sign;
        }
        $code = mb_ord($sign, 'UTF-8');
        foreach ($this->ranges as [$first, $last, $text]) {
            if ($code >= $first && $code <= $last) {
                return str_replace('&', $sign, $text);
            }
        }
        $at = strpos($this->folding, "\n$sign\t");
        $from = $at + strlen($sign) + 2;
        return $at === false ? $sign : substr($this->folding, $from, strpos($this->folding, "\n", $from) - $from);
    }

    /** The numbers of the pieces of a text. */
    public function pieces(string $text): array
    {
        $found = [];
        $parts = preg_split('/(\[(?:PAD|UNK|CLS|SEP|MASK)\])/', mb_scrub($text, 'UTF-8'), -1, PREG_SPLIT_DELIM_CAPTURE);
        foreach ($parts as $at => $part) {
            $words = $at % 2 ? [] : explode(' ', implode('', array_map($this->fold(...), mb_str_split($part, 1, 'UTF-8'))));
            array_push($found, ...($at % 2 ? [$this->vocabulary[$part]] : array_merge(...array_map($this->split(...), $words))));
        }
        return $found;
    }

    /** The numbers of the pieces of a word: always the longest that the vocabulary has. */
    private function split(string $word): array
    {
        [$signs, $found] = [mb_str_split($word, 1, 'UTF-8'), []];
        if (count($signs) > 100) {
            return [$this->vocabulary['[UNK]']];
        }
        for ($start = 0; $start < count($signs); $start = $end) {
            for ($end = count($signs); $end > $start; $end--) {
                $piece = ($start ? '##' : '') . implode('', array_slice($signs, $start, $end - $start));
                if (isset($this->vocabulary[$piece])) {
                    break;
                }
            }
            if ($end === $start) {
                return [$this->vocabulary['[UNK]']];
            }
            $found[] = $this->vocabulary[$piece];
        }
        return $found;
    }

    /** The vector of a text, of length 1. */
    public function vector(string $text): array
    {
        $size = intdiv(count($this->none), $this->parts);
        $sum = array_fill(0, count($this->none), 0.0);
        foreach ($this->pieces($text) as $id) {
            $weight = unpack('g', $this->weights, 4 * $id)[1];
            for ($part = 0; $part < $this->parts; $part++) {
                $centroid = $part * 256 + ord($this->codes[$id * $this->parts + $part]);
                foreach (unpack("g$size", $this->centroids, 4 * $size * $centroid) as $at => $value) {
                    $sum[$part * $size + $at - 1] += $weight * $value;
                }
            }
        }
        $length = sqrt(array_sum(array_map(fn($value) => $value * $value, $sum)));
        return $length ? array_map(fn($value) => $value / $length, $sum) : $this->none;
    }
}

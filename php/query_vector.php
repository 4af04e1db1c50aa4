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

/** Return the vectors of the words of a text; `$mget` sends ids, and returns the reply of the cluster's `_mget`. */
function vectors_of(string $text, callable $mget): array
{
    [$words, $known] = [words_of($text), []];
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

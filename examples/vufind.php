<?php
// A search of an index of ses in the way of VuFind: it takes the parameters of VuFind's search page and its API, sends
// one request to the cluster, and answers in the form of VuFind's API (GET /api/v1/search). Try it:
//
//   SES_CLUSTER=http://127.0.0.1:9200 SES_INDEX=papers php -S 127.0.0.1:8000 examples/vufind.php
//   curl -g 'http://127.0.0.1:8000/?lookfor=masks&filter[]=author_facet:"Kim"&facet[]=language&sort=year&page=2'
//
// SES_ENCODE, the address of ses serve with /v1/encode, ranks by meaning too; SES_KEY is its API key. SES_AUTHORIZATION
// is the header that the cluster asks for.

const SETTINGS = ['SES_CLUSTER' => 'http://127.0.0.1:9200', 'SES_INDEX' => 'papers', 'SES_PRODUCT' => 'opensearch',
    'SES_ENCODE' => '', 'SES_KEY' => '', 'SES_AUTHORIZATION' => '', 'SES_VECTOR' => 'vector_prx'];
// VuFind's names of facets, and the fields of ses.
const FACETS = ['author_facet' => 'authors', 'topic_facet' => 'fields', 'publishDate' => 'year', 'format' => 'types',
    'language' => 'language', 'container_title' => 'venue', 'id' => 'id'];
const TYPES = ['AllFields' => ['title_abstract', 'authors.analyzed'], 'Title' => ['title'],
    'Author' => ['authors.analyzed'], 'Subject' => ['fields'], 'JournalTitle' => ['venue']];
const SORTS = ['relevance' => [], 'year' => [['year' => 'desc']], 'year asc' => [['year' => 'asc']],
    'title' => [['title_order' => 'asc']], 'author' => [['authors' => 'asc']]];
const WINDOW = 100; // papers that each way of ranking contributes
const LONGEST = 2000; // bytes of a parameter

class BadRequest extends Exception {}

function setting(string $name): string
{
    return getenv($name) ?: SETTINGS[$name];
}

/** Send JSON, and return the JSON of the answer. */
function post(string $url, array $body, array $headers): array
{
    $asked = curl_init($url);
    curl_setopt_array($asked, [CURLOPT_POSTFIELDS => json_encode($body, JSON_THROW_ON_ERROR), CURLOPT_TIMEOUT => 10,
        CURLOPT_RETURNTRANSFER => true, CURLOPT_HTTPHEADER => ['Content-Type: application/json', ...$headers]]);
    $answer = curl_exec($asked);
    $status = curl_getinfo($asked, CURLINFO_RESPONSE_CODE);
    if ($answer === false || $status !== 200) {
        error_log($answer === false ? curl_error($asked) : $answer);
        throw new RuntimeException("The search is not available ($status).");
    }
    return json_decode($answer, true, 100, JSON_THROW_ON_ERROR);
}

/** A parameter that is one text. */
function text(array $given, string $name, string $default = ''): string
{
    $value = $given[$name] ?? $default;
    if (!is_string($value) || strlen($value) > LONGEST || !preg_match('//u', $value)) {
        throw new BadRequest("$name should be a text in UTF-8 of at most " . LONGEST . ' bytes.');
    }
    return $value;
}

/** A parameter that is a list of texts, such as filter[]. */
function texts(array $given, string $name): array
{
    return array_map(fn ($one) => text([$name => $one], $name), array_values((array) ($given[$name] ?? [])));
}

function number(array $given, string $name, int $default, int $most): int
{
    $value = filter_var(text($given, $name, (string) $default), FILTER_VALIDATE_INT);
    return $value === false ? $default : max(0, min($most, $value));
}

/** What a name stands for among those that there are, such as a facet's field in the index. */
function one_of(string $name, array $known): mixed
{
    return $known[$name] ?? throw new BadRequest("$name is none of " . implode(', ', array_keys($known)) . '.');
}

/** The conditions of filter[]: `field:"value"` must hold, with `-` before it must not, with `~` is one of several. */
function conditions(array $given): array
{
    [$filter, $excluded, $either] = [[], [], []];
    $form = '/^([-~]?)(\w+):(?:"(.*)"|\[(\d+|\*) TO (\d+|\*)\]|(.*))$/su';
    foreach (texts($given, 'filter') as $one) {
        if (!preg_match($form, $one, $part, PREG_UNMATCHED_AS_NULL)) {
            throw new BadRequest("A filter is written field:\"value\", not $one");
        }
        [, $sign, $name, $quoted, $from, $to, $bare] = $part;
        $range = array_filter(['gte' => $from, 'lte' => $to], fn ($year) => $year !== null && $year !== '*');
        $field = one_of($name, FACETS);
        $term = $from === null ? ['term' => [$field => $quoted ?? $bare]] : ['range' => [$field => (object) $range]];
        match ($sign) {
            '-' => $excluded[] = $term,
            '~' => $either[$field][] = $term,
            default => $filter[] = $term,
        };
    }
    foreach ($either as $terms) {
        $filter[] = ['bool' => ['should' => $terms]];
    }
    return ['filter' => $filter, 'must_not' => $excluded];
}

/** The part of the request that ranks: by words, and by meaning where there is a vector. */
function ranking(string $words, string $type, array $conditions, bool $isSorted): array
{
    $match = ['multi_match' => ['query' => $words, 'fields' => one_of($type, TYPES), 'type' => 'most_fields']];
    $found = ['bool' => ['must' => $words === '' ? [['match_all' => (object) []]] : [$match]] + $conditions];
    if ($words === '' || $isSorted || $type !== 'AllFields' || setting('SES_ENCODE') === '') {
        return ['query' => $found];
    }
    $key = setting('SES_KEY') === '' ? [] : ['X-API-Key: ' . setting('SES_KEY')];
    $vector = post(setting('SES_ENCODE'), ['texts' => [$words], 'index' => setting('SES_INDEX')], $key)['vectors'][0];
    [$field, $where] = [setting('SES_VECTOR'), ['k' => WINDOW, 'filter' => ['bool' => $conditions]]];
    if (setting('SES_PRODUCT') !== 'opensearch') {
        $knn = ['field' => $field, 'query_vector' => $vector, 'num_candidates' => 2 * WINDOW] + $where;
        return ['query' => ['bool' => ['should' => [$found, ['knn' => $knn]]]]];
    }
    $nearest = ['knn' => [$field => ['vector' => $vector] + $where]];
    $join = ['normalization' => ['technique' => 'min_max'], 'combination' => ['technique' => 'arithmetic_mean']];
    return ['query' => ['hybrid' => ['queries' => [$found, $nearest], 'pagination_depth' => WINDOW]],
        'search_pipeline' => ['phase_results_processors' => [['normalization-processor' => $join]]]];
}

/** The answer to a search. */
function answer(array $given): array
{
    $order = one_of(text($given, 'sort', 'relevance'), SORTS);
    [$limit, $page] = [number($given, 'limit', 20, 100), max(1, number($given, 'page', 1, 500))];
    $facets = array_combine($names = texts($given, 'facet'), array_map(fn ($name) => one_of($name, FACETS), $names));
    $words = trim(text($given, 'lookfor'));
    $body = ranking($words, text($given, 'type', 'AllFields') ?: 'AllFields', conditions($given), $order !== [])
        + ['_source' => ['id', 'title', 'authors', 'year', 'venue', 'types', 'language', 'url']]
        + ($order ? ['sort' => [...$order, ['id' => 'asc']]] : []);
    $counts = (object) array_map(fn ($one) => ['terms' => ['field' => $one, 'size' => 30]], $facets);
    // A `hybrid` query itself counts only papers that may be among its best.
    $found = ['bool' => ['should' => $body['query']['hybrid']['queries'] ?? [$body['query']]]];
    $body['aggs']['all'] = ['global' => (object) [], 'aggs' => ['matches' => ['filter' => $found, 'aggs' => $counts]]];
    $headers = setting('SES_AUTHORIZATION') === '' ? [] : ['Authorization: ' . setting('SES_AUTHORIZATION')];
    $reached = isset($body['query']['hybrid']) ? WINDOW : 10000;
    [$from, $size] = [min(($page - 1) * $limit, $reached - 1), min($limit, max(0, $reached - ($page - 1) * $limit))];
    $address = setting('SES_CLUSTER') . '/' . rawurlencode(setting('SES_INDEX')) . '/_search';
    $reply = post($address, ['from' => $from, 'size' => $size] + $body, $headers);
    $matches = $reply['aggregations']['all']['matches'];
    $value = fn (array $one) => ['value' => $one['key'], 'translated' => "{$one['key']}", 'count' => $one['doc_count']];
    $counted = array_intersect_key($matches, $facets);
    return ['resultCount' => min($matches['doc_count'], $reached),
        'records' => array_map(fn ($hit) => ['id' => $hit['_id']] + $hit['_source'], $reply['hits']['hits']),
        'facets' => (object) array_map(fn ($one) => array_map($value, $one['buckets']), $counted),
        'status' => 'OK'];
}

header('Content-Type: application/json');
header('X-Content-Type-Options: nosniff');
try {
    echo json_encode(answer($_GET), JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE);
} catch (BadRequest | RuntimeException $error) {
    http_response_code($error instanceof BadRequest ? 400 : 503);
    echo json_encode(['status' => 'ERROR', 'statusMessage' => $error->getMessage()]);
}

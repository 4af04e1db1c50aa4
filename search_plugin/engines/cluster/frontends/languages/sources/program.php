//= ask

function ask(string $method, string $path, ...$lines): array
{
    global $client;
    $body = implode('', array_map(fn($line) => json_encode($line, JSON_THROW_ON_ERROR) . "\n", $lines));
    $type = count($lines) > 1 ? 'application/x-ndjson' : 'application/json';
    $reply = $client->request($method, $path, ['body' => $body, 'headers' => ['Content-Type' => $type]]);
    $read = json_decode((string) $reply->getBody(), true, 512, JSON_THROW_ON_ERROR);
    foreach ($read['responses'] ?? [] as $part) {
        if (isset($part['error'])) {
            throw new RuntimeException(json_encode($part['error']));
        }
    }
    return $read;
}

//= ApiKey
'ApiKey ' . getenv('SES_ENGINE_API_KEY')
//= Bearer
'Bearer ' . getenv('SES_ENGINE_TOKEN')
//= Basic
'Basic ' . base64_encode(getenv('SES_ENGINE_USERNAME') . ':' . getenv('SES_ENGINE_PASSWORD'))
//= variable
$@name@ = @value@;
//= argument
$words = $argv[1] ?? @value@;
//= vector
json_decode(file_get_contents("vector.json"))
//= call
ask(@method@, @path@, @lines@)
//= page

$page = @call@;
//= counts
$matches = $page['aggregations']['all']['matches'];
$page['hits']['total'] = ['value' => $matches['doc_count'], 'relation' => 'eq'];
unset($matches['doc_count']);
$page['aggregations'] = $matches ?: new stdClass();
//= begin
$legs = [];
//= legs
$legs = array_merge($legs, @call@["responses"]);
//= rank
$ranking = join_legs($legs, @weights@, @measures@, @window@, @constant@);
//= best
$ranking[0][1] ?? 1
//= neighbours
$near = array_column(array_slice($ranking, 0, @pool@), 0);
$vectors = paper_vectors(@call@, @field@);
$ranking = with_neighbours($ranking, $vectors, @weight@, @nearest@, @first@, @largest@);
//= show
$found = array_column($ranking, 0);
$shown = array_slice($ranking, @offset@, @size@);
$ids = array_column($shown, 0);
$replies = @call@['responses'];
$papers = [];
foreach ($replies as $reply) {
    foreach ($reply['hits']['hits'] as $hit) {
        $papers['id ' . id_of($hit)] = $hit;
    }
}
$hits = [];
foreach ($shown as [$id, $score]) {
    if (isset($papers["id $id"])) {
        $hits[] = ['_score' => $score] + $papers["id $id"];
    }
}
$counts = end($replies);
$found = ['total' => $counts['hits']['total'], 'hits' => $hits];
$page = ['hits' => $found, 'aggregations' => ($counts['aggregations'] ?? []) ?: new stdClass()];
//= end
echo json_encode($page, JSON_PRETTY_PRINT | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES), "\n";
//= words
$known = [];
$vector = direction_of(vectors_of($words, fn($terms) => @call@, $known));
//= table
$vector = (new QueryTable(@file@))->vector($words);
//= feedback
$first = [];
foreach (@call@['hits']['hits'] as $hit) {
    if (isset($hit['fields'])) {
        $values = $hit['fields'][@field@];
        $first[] = direction_of([is_array($values[0]) ? array_merge(...$values) : $values]);
    }
}
$vector = direction_of($first);
//= service
$service = new GuzzleHttp\Client(['base_uri' => getenv('SES_SERVICE') ?: 'http://127.0.0.1:8765']);
$encoded = $service->request('POST', '@path@', ['json' => @body@]);
$vector = json_decode((string) $encoded->getBody(), true, 512, JSON_THROW_ON_ERROR)['vectors'][0];
//= spelled
$spelled = spelled_of($words, @known@);
//= unknown
[]

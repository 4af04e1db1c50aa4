//= fetch

async function send(method, path, body, type) {
  const headers = {"Content-Type": type@authorization@};
  const reply = await fetch(@url@ + path, {method, headers, body});
  if (!reply.ok) throw new Error(await reply.text());
  return reply.json();
}
//= client

const client = new Client({node: @url@@headers@});

async function send(method, path, body, type) {
  const [pathname, querystring] = path.split("?");
  const headers = {"content-type": type, accept: "application/json"};
  const reply = await client.transport.request({method, path: pathname, querystring, body}, {headers});
  return reply@body@;
}
//= ask

async function ask(method, path, ...lines) {
  const type = lines.length > 1 ? "application/x-ndjson" : "application/json";
  const body = lines.map((line) => JSON.stringify(line) + "\n").join("");
  const reply = await send(method, path, body, type);
  for (const part of reply.responses ?? []) {
    if (part.error) throw new Error(JSON.stringify(part.error));
  }
  return reply;
}

//= ApiKey
`ApiKey ${process.env.SES_ENGINE_API_KEY}`
//= Bearer
`Bearer ${process.env.SES_ENGINE_TOKEN}`
//= Basic
`Basic ${Buffer.from(`${process.env.SES_ENGINE_USERNAME}:${process.env.SES_ENGINE_PASSWORD}`).toString("base64")}`
//= variable
const @name@ = @value@;
//= argument
const words = process.argv[2] ?? @value@;
//= vector
JSON.parse(readFileSync("vector.json", "utf8"))
//= call
await ask(@method@, @path@, @lines@)
//= page

const page = @call@;
//= counts
const {doc_count: value, ...counts} = page.aggregations.all.matches;
page.hits.total = {value, relation: "eq"};
page.aggregations = counts;
//= begin
const legs = [];
//= legs
legs.push(...(@call@).responses);
//= rank
let ranking = joinLegs(legs, @weights@, @measures@, @window@, @constant@);
//= best
ranking[0]?.score
//= neighbours
const near = ranking.slice(0, @pool@).map(({id}) => id);
const vectors = paperVectors(@call@, @field@);
ranking = withNeighbours(ranking, vectors, @weight@, @nearest@, @first@, @largest@);
//= show
const found = ranking.map(({id}) => id);
const shown = ranking.slice(@offset@, @end@);
const ids = shown.map(({id}) => id);
const replies = (@call@).responses;
const papers = new Map(replies.flatMap((reply) => reply.hits.hits).map((hit) => [idOf(hit), hit]));
const hits = shown.filter(({id}) => papers.has(id)).map(({id, score}) => ({...papers.get(id), _score: score}));
const counts = replies[replies.length - 1];
const page = {hits: {total: counts.hits.total, hits}, aggregations: counts.aggregations ?? {}};
//= end
console.log(JSON.stringify(page, null, 2));
//= words
const known = new Map();
const vector = directionOf(await vectorsOf(words, async (terms) => @call@, known));
//= table
const vector = new QueryTable(readFileSync(@file@)).vector(words);
//= feedback
const best = (@call@).hits.hits.filter((hit) => hit.fields);
const vector = directionOf(best.map((hit) => directionOf([hit.fields[@field@].flat()])));
//= service
const service = process.env.SES_SERVICE ?? "http://127.0.0.1:8765";
const asked = @body@;
const headers = {"Content-Type": "application/json"};
const encoded = await fetch(service + "@path@", {method: "POST", headers, body: JSON.stringify(asked)});
if (!encoded.ok) throw new Error(await encoded.text());
const [vector] = (await encoded.json()).vectors;
//= spelled
const spelled = spelledOf(words, @known@);
//= unknown
new Map()

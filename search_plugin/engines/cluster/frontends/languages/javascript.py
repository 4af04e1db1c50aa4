"""A page as a JavaScript module, by fetch or by the product's own client."""

from __future__ import annotations

from search_plugin.engines.cluster.frontends.languages.parts import explained
from search_plugin.engines.cluster.frontends.languages.program import OUTPUT, TITLE, Program
from search_plugin.engines.cluster.frontends.literals import Notation, json_string
from search_plugin.engines.cluster.frontends.script import VECTOR, PageScript


def _text(text: str) -> str:
    # A script in a page of HTML ends at its closing tag, also inside a text.
    return json_string(text).replace("<", "\\u003c")


_AUTHORIZATION = {
    "ApiKey": "`ApiKey ${process.env.SES_ENGINE_API_KEY}`",
    "Bearer": "`Bearer ${process.env.SES_ENGINE_TOKEN}`",
    "Basic": "`Basic ${Buffer.from("
    '`${process.env.SES_ENGINE_USERNAME}:${process.env.SES_ENGINE_PASSWORD}`).toString("base64")}`',
}
_CLIENTS = {
    "opensearch": ('import {Client} from "@opensearch-project/opensearch";', ".body"),
    "elasticsearch": ('import {Client} from "@elastic/elasticsearch";', ""),
}

_FETCH = """
async function send(method, path, body, type) {{
  const headers = {{"Content-Type": type{authorization}}};
  const reply = await fetch({url} + path, {{method, headers, body}});
  if (!reply.ok) throw new Error(await reply.text());
  return reply.json();
}}
"""
_CLIENT = """
const client = new Client({{node: {url}{headers}}});

async function send(method, path, body, type) {{
  const [pathname, querystring] = path.split("?");
  const headers = {{"content-type": type, accept: "application/json"}};
  const reply = await client.transport.request({{method, path: pathname, querystring, body}}, {{headers}});
  return reply{body};
}}
"""
_ASK = """
async function ask(method, path, ...lines) {
  const type = lines.length > 1 ? "application/x-ndjson" : "application/json";
  const body = lines.map((line) => JSON.stringify(line) + "\\n").join("");
  const reply = await send(method, path, body, type);
  for (const part of reply.responses ?? []) {
    if (part.error) throw new Error(JSON.stringify(part.error));
  }
  return reply;
}

"""

NOTATION = Notation(text=_text)
"""How JavaScript writes JSON."""

_PROGRAM = Program(
    notation=NOTATION,
    comment="//",
    vector='JSON.parse(readFileSync("vector.json", "utf8"))',
    variable="const {name} = {value};\n",
    call="await ask({method}, {path}, {lines})",
    page="\nconst page = {call};\n",
    counts="""const {doc_count: value, ...counts} = page.aggregations.all.matches;
page.hits.total = {value, relation: "eq"};
page.aggregations = counts;
""",
    begin="const legs = [];\n",
    legs="legs.push(...({call}).responses);\n",
    rank="let ranking = joinLegs(legs, {weights}, {measures}, {window}, {constant});\n",
    neighbours="""const near = ranking.slice(0, {pool}).map(({{id}}) => id);
const vectors = paperVectors({call}, {field});
ranking = withNeighbours(ranking, vectors, {weight}, {nearest}, {first}, {largest});
""",
    show="""const found = ranking.map(({{id}}) => id);
const shown = ranking.slice({offset}, {end});
const ids = shown.map(({{id}}) => id);
const replies = ({call}).responses;
const papers = new Map(replies.flatMap((reply) => reply.hits.hits).map((hit) => [idOf(hit), hit]));
const hits = shown.filter(({{id}}) => papers.has(id)).map(({{id, score}}) => ({{...papers.get(id), _score: score}}));
const counts = replies[replies.length - 1];
const page = {{hits: {{total: counts.hits.total, hits}}, aggregations: counts.aggregations ?? {{}}}};
""",
    end="console.log(JSON.stringify(page, null, 2));\n",
    between="\n",
    ending="js",
    best="ranking[0]?.score",
    argument="const words = process.argv[2] ?? {value};\n",
    vectors={
        "words": """const known = new Map();
const vector = directionOf(await vectorsOf(words, async (terms) => {call}, known));
""",
        "table": "const vector = new QueryTable(readFileSync({file})).vector(words);\n",
        "feedback": """const best = ({call}).hits.hits.filter((hit) => hit.fields);
const vector = directionOf(best.map((hit) => directionOf([hit.fields[{field}].flat()])));
""",
        "service": """const service = process.env.SES_SERVICE ?? "http://127.0.0.1:8765";
const asked = {body};
const headers = {{"Content-Type": "application/json"}};
const encoded = await fetch(service + "{path}", {{method: "POST", headers, body: JSON.stringify(asked)}});
if (!encoded.ok) throw new Error(await encoded.text());
const [vector] = (await encoded.json()).vectors;
""",
    },
    spelled="const spelled = spelledOf(words, {known});\n",
    unknown="new Map()",
)


def write(script: PageScript) -> str:
    """Return the script with fetch, which prints the page as JSON."""
    authorization = f", Authorization: {_AUTHORIZATION[script.scheme]}" if script.scheme else ""
    return _written(script, [], _FETCH.format(url=_text(script.url), authorization=authorization))


def write_with_client(script: PageScript) -> str:
    """Return the script with the product's own client, which prints the page as JSON."""
    imported, body = _CLIENTS[script.product]
    headers = f", headers: {{authorization: {_AUTHORIZATION[script.scheme]}}}" if script.scheme else ""
    return _written(script, [imported], _CLIENT.format(url=_text(script.url), headers=headers, body=body))


def _written(script: PageScript, imports: list[str], sending: str) -> str:
    if VECTOR in script.parameters and not (script.query_vector and script.query_vector.way != "table"):
        imports = ['import {readFileSync} from "node:fs";', *imports]
    said = [*explained(script), OUTPUT]
    if script.certificates:
        said.append("Node reads that file only if NODE_EXTRA_CA_CERTS names it too.")
    comments = _PROGRAM.comments(TITLE.format(index=script.index), *said)
    return _PROGRAM.write(script, comments + "".join(f"{line}\n" for line in imports) + sending + _ASK)

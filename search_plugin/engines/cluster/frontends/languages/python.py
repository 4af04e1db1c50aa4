"""A page as a Python script that uses the product's own client."""

from __future__ import annotations

from collections.abc import Mapping

from search_plugin.engines.cluster.frontends.languages.parts import explained
from search_plugin.engines.cluster.frontends.languages.program import OUTPUT, TITLE, Program
from search_plugin.engines.cluster.frontends.literals import Notation
from search_plugin.engines.cluster.frontends.script import PageScript, VectorWay

_AUTHORIZATION = {
    "ApiKey": '"ApiKey " + os.environ["SES_ENGINE_API_KEY"]',
    "Bearer": '"Bearer " + os.environ["SES_ENGINE_TOKEN"]',
    "Basic": '"Basic " + base64.b64encode('
    '":".join([os.environ["SES_ENGINE_USERNAME"], os.environ["SES_ENGINE_PASSWORD"]]).encode()).decode()',
}
_CLIENTS = {
    "opensearch": ("from opensearchpy import OpenSearch", "OpenSearch", "client.transport.perform_request", ""),
    "elasticsearch": ("from elasticsearch import Elasticsearch", "Elasticsearch", "client.perform_request", ".body"),
}
_MODULES: Mapping[VectorWay, tuple[str, ...]] = {
    "words": ("re", "unicodedata"),
    "table": ("re", "struct"),
    "feedback": (),
    "service": ("urllib.request",),
}

_ASK = """

def ask(method, path, *lines):
    body = "".join(json.dumps(line) + "\\n" for line in lines)
    kind = "application/x-ndjson" if len(lines) > 1 else "application/json"
    reply = {send}(method, path, headers={{"content-type": kind, "accept": "application/json"}}, body=body){body}
    for part in reply.get("responses", []):
        if "error" in part:
            raise RuntimeError(part["error"])
    return reply


"""

_PROGRAM = Program(
    notation=Notation(text=repr, constants=("None", "True", "False"), last_comma=","),
    comment="#",
    vector='json.load(open("vector.json"))',
    variable="{name} = {value}\n",
    call="ask({method}, {path}, {lines})",
    page="\npage = {call}\n",
    counts="""matches = page["aggregations"]["all"]["matches"]
page["hits"]["total"] = {"value": matches.pop("doc_count"), "relation": "eq"}
page["aggregations"] = matches
""",
    begin="legs = []\n",
    legs='legs += {call}["responses"]\n',
    rank="ranking = join_legs(legs, {weights}, {measures}, {window}, {constant})\n",
    neighbours="""near = [id_ for id_, _ in ranking[:{pool}]]
vectors = paper_vectors({call}, {field})
ranking = with_neighbours(ranking, vectors, {weight}, {nearest}, {first}, {largest})
""",
    show="""found = [id_ for id_, _ in ranking]
ids = found[{offset}:{end}]
replies = {call}["responses"]
papers = {{id_of(hit): hit for reply in replies for hit in reply["hits"]["hits"]}}
hits = [{{**papers[id_], "_score": score}} for id_, score in ranking if id_ in ids and id_ in papers]
counts = replies[-1]
page = {{"hits": {{"total": counts["hits"]["total"], "hits": hits}}, "aggregations": counts.get("aggregations", {{}})}}
""",
    end="print(json.dumps(page, indent=2))\n",
    between="\n\n",
    ending="py.txt",
    best="(ranking[0][1] if ranking else 1)",
    argument="words = sys.argv[1] if len(sys.argv) > 1 else {value}\n",
    vectors={
        "words": """known = {{}}
vector = direction_of(vectors_of(words, lambda terms: {call}, known))
""",
        "table": "vector = QueryTable({file}).vector(words)\n",
        "feedback": """first = [hit["fields"][{field}] for hit in {call}["hits"]["hits"] if "fields" in hit]
first = [sum(one, []) if isinstance(one[0], list) else one for one in first]
vector = direction_of([direction_of([one]) for one in first])
""",
        "service": """service = os.environ.get("SES_SERVICE", "http://127.0.0.1:8765")
asked = json.dumps({body}).encode()
encoded = urllib.request.Request(service + "{path}", asked, {{"Content-Type": "application/json"}})
vector = json.load(urllib.request.urlopen(encoded))["vectors"][0]
""",
    },
    spelled="spelled = spelled_of(words, {known})\n",
    unknown="{}",
)


def write(script: PageScript) -> str:
    """Return the script, which prints the page as JSON."""
    imported, client, send, body = _CLIENTS[script.product]
    options = [repr(script.url)]
    if script.scheme:
        options.append(f'headers={{"authorization": {_AUTHORIZATION[script.scheme]}}}')
    if script.certificates:
        options.append('ca_certs=os.environ["SES_ENGINE_CA"]')
    title = _PROGRAM.comments(TITLE.format(index=script.index))
    comments = _PROGRAM.comments(*explained(script), OUTPUT)
    made = f"client = {client}({', '.join(options)})"
    modules = {"base64", "json", "os"}
    if script.query_vector:
        modules |= {*_MODULES[script.query_vector.way], "sys"}
    if script.spelled:
        modules.add("re")
    if script.neighbours:
        modules.add("operator")
    needed = "".join(f"import {name}\n" for name in sorted(modules))
    head = f"{title}{needed}\n{imported}\n\n{comments}{made}\n"
    return _PROGRAM.write(script, head + _ASK.format(send=send, body=body))

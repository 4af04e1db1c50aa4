"""The pages that are tested in a browser, by name: a new page is a line here."""

PAGES = {
    "home": "/",
    "search": "/?query=viruss+lung&facets=venue",
    "filtered": "/?query=virus&only=venue:Nature&only=venue:The+Lancet&year_from=1995&size=10&offset=10",
    "listing": "/?query=&view=compact&sort=title",
    "hostile": "/?query=%3Cscript%3Ealert(1)%3C/script%3E+masks&mode=lexical",
    "nothing": "/?query=xyzzy&mode=lexical&only=venue:%3Ci%3E",
    "wrong filter": "/?query=virus&filter=yaer=2000",
    "paper": "/papers/p00001",
    "similar": "/similar/p00001",
    "manuscript": "/similar",
    "docs": "/docs",
    "no page": "/nowhere",
    "map": "/map?query=virus&size=40",
    "feeds": "/feeds",
    "feed to build": "/feeds/new?query=virus&id=p00001&not=p00002&title=Mine",
    "help": "/help",
    "tags": "/tags",
    "saved": "/saved",
    "history": "/history",
    "unknown index": "/?query=virus&index=zz",
}

"""The pages that are tested in a browser, by name: a new page is a line here."""

PAGES = {
    "home": "/",
    "search": "/?query=viruss+lung&facets=venue",
    "filtered": "/?query=virus&only=venue:Nature&only=venue:The+Lancet&year_from=1995&size=10&offset=10",
    "listing": "/?query=&view=compact&sort=title",
    "hostile": "/?query=%3Cscript%3Ealert(1)%3C/script%3E+masks&mode=lexical",
    "nothing": "/?query=xyzzy&mode=lexical&only=venue:%3Ci%3E",
    "wrong filter": "/?query=virus&filter=yaer=2000",
    "unknown index": "/?query=virus&index=zz",
}

/** Return the words of a text as the cluster names them: in small letters, without accents; a sign is a word too. */
export function wordsOf(text) {
  const alone = "\\p{P}$+<=>^`|~\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2ceaf}";
  const dropped = /[\p{Mn}\p{Cf}\p{Co}\p{Cs}\ufffd]|(?![\t\n\r])\p{Cc}/gu;
  const plain = text.normalize("NFD").replace(dropped, "").replace(/./gsu, (sign) => sign.toLowerCase());
  return plain.match(new RegExp(`[${alone}]|[^${alone}\\p{Z}\\t\\n\\r]+`, "gu")) ?? [];
}

/** Return all pieces that a word may have; those that continue it begin with ##. */
function candidatesOf(word) {
  const signs = [...word];
  return signs.length > 100 ? [] : signs.flatMap((_, start) => signs.slice(start, start + 24)
    .map((_, more) => (start ? "##" : "") + signs.slice(start, start + more + 1).join("")));
}

/** Return the pieces of a word, always the longest that is known, or one that stands for a word without pieces. */
function piecesOf(word, known) {
  const [signs, found] = [[...word], []];
  for (let start = 0, end; start < signs.length; start = end) {
    const piece = () => (start ? "##" : "") + signs.slice(start, end).join("");
    for (end = Math.min(start + 24, signs.length); end > start && !known.get(piece())?.piece; end--);
    if (end === start || signs.length > 100) return ["[UNK]"];
    found.push(piece());
  }
  return found;
}

/**
 * Return the vectors of the words of a text; `mget` sends ids, and returns the reply of the cluster's `_mget`.
 * What the cluster knows of each word is put into `known`.
 */
export async function vectorsOf(text, mget, known = new Map()) {
  const words = wordsOf(text);
  const look = async (ids) => {
    const { docs = [] } = ids.length ? await mget([...new Set(ids)]) : {};
    docs.forEach(({ _id, _source }) => _source && known.set(_id, _source));
  };
  await look(words);
  const others = words.filter((word) => !known.has(word));
  await look(others.length ? [...others.flatMap(candidatesOf), "[UNK]"] : []);
  const parts = words.flatMap((word) => (known.has(word) ? [word] : piecesOf(word, known)));
  return parts.filter((part) => known.has(part)).map((part) => known.get(part).vector);
}

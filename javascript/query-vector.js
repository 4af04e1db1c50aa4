// Vectors of queries: by the words in a cluster, or by a table in a file.

/** Return the direction of the sum of vectors, a vector of length 1. */
export function directionOf(vectors) {
  const sum = (vectors[0] ?? []).map((_, at) => vectors.reduce((total, vector) => total + vector[at], 0));
  const length = Math.hypot(...sum);
  if (!length) throw new Error("Nothing gives these words a vector.");
  return sum.map((value) => value / length);
}

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

const NAMES = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau";
// The seventeen letters up to rho are followed by a final sigma.
const GREEK = new Map(`${NAMES} upsilon phi chi psi omega`.split(" ")
  .map((name, at) => [name, String.fromCodePoint(0x3b1 + at + (at > 16))]));
const NAMED = new Map([["µ", "mu"], ["ς", "sigma"], ["ϕ", "phi"], ...[...GREEK].map(([name, letter]) => [letter, name])]);
const GLUED = [...GREEK.keys()].filter((name) => name.length > 3).join("|");
const NUMBER = /^\p{Nd}+$/u;

/** Return the letters, digits and Greek letters of a word apart, in small letters; Greek ones by name. */
function partsOf(word) {
  const named = new RegExp(`^([A-Z0-9]+|[a-z]{2,}(?=(?:${GLUED})\\d*$))(${GLUED})([A-Z]?\\d*)$`);
  const kinds = /\p{Nd}+|[\u0370-\u03ffµ]|(?:(?![\p{Nd}\u0370-\u03ffµ])[\p{L}\p{N}])+/gu;
  const parts = word.replace(named, "$1 $2 $3").match(kinds) ?? [];
  return parts.map((part) => part.toLowerCase()).map((part) => NAMED.get(part) ?? part);
}

/** Return the other spellings of a word of several parts, such as TNF-alpha, IL6 and non-smokers. */
function compoundsOf(words) {
  let parts = words.flatMap(partsOf);
  if (/^nf(kb)?$/.test(parts[0]) && /^(nf)?kb$/.test(parts[parts.length - 1])) parts = ["nf", "kappa", "b"];
  if (parts.length < 2) return [];
  const special = parts.some((part) => GREEK.has(part) || NUMBER.test(part));
  if (parts.length > 4 || (words.length > 1 && !special)) return [" ", ""].map((gap) => words.join(gap).toLowerCase());
  return parts.reduce((found, part) => {
    const forms = [part, ...(GREEK.has(part) ? [GREEK.get(part)] : []), ...(part === "kappa" ? ["k"] : [])];
    return found.flatMap((one) => (one ? [" ", ""] : [""]).flatMap((gap) => forms.map((form) => one + gap + form)));
  }, [""]);
}

/** Return whether two words are parts of one: by a hyphen, before a Greek letter, or a number after an acronym. */
function continues(word, after, gap) {
  const greek = (one) => GREEK.has(one.toLowerCase()) || NAMED.has(one.toLowerCase());
  if (gap !== " ") return ["-", "\u2010", "\u2011", "\u2012", "\u2013", "\u2212", "/-", "-/"].includes(gap);
  if (greek(after)) return [...word].length > 1;
  if (greek(word)) return /^\p{Lu}$/u.test(after);
  return NUMBER.test(after) && /^\p{L}{1,5}$/u.test(word) && (/\p{Lu}/u.test(word) || !/\p{Ll}/u.test(word));
}

/** Return the words of a text: first those without other spellings, then each of the others with its spellings. */
export function spelledOf(text, known = new Map()) {
  const tokens = [...text.matchAll(/[\p{L}\p{N}]+(?:[\u0300-\u036f][\p{L}\p{N}]*)*/gu)];
  const endOf = (token) => token.index + token[0].length;
  const gapOf = (one, after) => text.slice(endOf(one), after.index);
  const goesOn = (one, after) => after && continues(one[0], after[0], gapOf(one, after));
  const [plain, spelled] = [[], []];
  let left = text.trim().split(/\s+/u).length > 40 ? 0 : 200;
  for (let start = 0, end; start < tokens.length; start = end) {
    for (end = start + 1; goesOn(tokens[end - 1], tokens[end]); end++);
    const typed = text.slice(tokens[start].index, endOf(tokens[end - 1]));
    const words = tokens.slice(start, end).map(([word]) => word);
    const others = new Set([...compoundsOf(words), ...(known.get(typed.toLowerCase())?.spellings ?? [])]);
    others.delete(typed.toLowerCase());
    const kept = [...others].slice(0, left);
    (kept.length ? spelled : plain).push([typed, ...kept]);
    left -= kept.length;
  }
  return spelled.length ? [[plain.join(" ")], ...spelled] : [[text]];
}

/** Return the query for the words of a text in fields; of a word's spellings, the one that matches best counts. */
export function matching(spelled, fields, boost) {
  const ask = (query, type) => ({ multi_match: { query, fields, type, boost } });
  const best = spelled.map((texts) => texts.map((text, place) => ask(text, place ? "phrase" : "most_fields")));
  return { bool: { should: best.map((queries) => ({ dis_max: { queries } })) } };
}

/** A table that makes the vectors of queries: the file that `ses models table` writes, as an ArrayBuffer or Buffer. */
export class QueryTable {
  constructor(file) {
    const bytes = new Uint8Array(file.buffer ?? file, file.byteOffset ?? 0, file.byteLength);
    const begin = 8 + Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, begin)));
    const part = (name) => bytes.slice(...header[name].data_offsets.map((at) => begin + at));
    const floats = (name) => new Float32Array(part(name).buffer);
    const lines = (name) => new TextDecoder().decode(part(name)).split("\n");
    [this.codes, this.centroids, this.weights] = [part("codes"), floats("centroids"), floats("weights")];
    [this.none, this.parts] = [floats("none"), header.codes.shape[1]];
    this.vocabulary = new Map(lines("vocabulary").map((piece, id) => [piece, id]));
    this.folded = new Map(lines("folding").map((line) => line.split("\t")));
    this.ranges = lines("ranges").map((line) => line.split("\t"));
    this.special = /(\[(?:PAD|UNK|CLS|SEP|MASK)\])/;
  }

  /** The character as the tokenizer reads it: folded, removed, or with spaces around where it is a word of its own. */
  fold(sign) {
    if (/[a-z0-9 ]/.test(sign)) return sign;
    const code = sign.codePointAt(0);
    const range = this.ranges.find(([first, last]) => code >= first && code <= last);
    return range ? range[2].replace("&", () => sign) : this.folded.get(sign) ?? sign;
  }

  /** The numbers of the pieces of a text. */
  pieces(text) {
    return text.split(this.special).flatMap((part, at) => at % 2 ? [this.vocabulary.get(part)]
      : [...part].map((sign) => this.fold(sign)).join("").split(" ").filter(Boolean).flatMap((word) => this.split(word)));
  }

  /** The numbers of the pieces of a word: always the longest that the vocabulary has. */
  split(word) {
    const [signs, found] = [[...word], []];
    const unknown = [this.vocabulary.get("[UNK]")];
    if (signs.length > 100) return unknown;
    for (let start = 0, end = signs.length; start < signs.length; end = signs.length) {
      const piece = () => (start ? "##" : "") + signs.slice(start, end).join("");
      while (end > start && !this.vocabulary.has(piece())) end--;
      if (end === start) return unknown;
      found.push(this.vocabulary.get(piece()));
      start = end;
    }
    return found;
  }

  /** The vector of a text, of length 1. */
  vector(text) {
    const size = this.none.length / this.parts;
    const sum = new Array(this.none.length).fill(0);
    for (const id of this.pieces(text)) {
      for (let at = 0; at < sum.length; at++) {
        const part = Math.floor(at / size);
        const code = this.codes[id * this.parts + part];
        sum[at] += this.weights[id] * this.centroids[(part * 256 + code) * size + (at % size)];
      }
    }
    const length = Math.hypot(...sum);
    return length ? sum.map((value) => value / length) : [...this.none];
  }
}

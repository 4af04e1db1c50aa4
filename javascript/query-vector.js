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

/** Return the vectors of the words of a text; `mget` sends ids, and returns the reply of the cluster's `_mget`. */
export async function vectorsOf(text, mget) {
  const [words, known] = [wordsOf(text), new Map()];
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

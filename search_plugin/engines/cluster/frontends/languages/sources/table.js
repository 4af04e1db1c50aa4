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

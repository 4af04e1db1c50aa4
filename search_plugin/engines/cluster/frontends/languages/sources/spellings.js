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

/** Return the words of a text as the cluster names them: in lower case, without accents, letters and digits alone. */
export function wordsOf(text) {
  return text.normalize("NFD").replace(/\p{Mn}/gu, "").toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

# Return the words of a text as the cluster names them: in small letters, without accents; a sign is a word too.
def words_of(text)
  alone = '\p{P}$+<=>^`|~\u{3400}-\u{4dbf}\u{4e00}-\u{9fff}\u{f900}-\u{faff}\u{20000}-\u{2ceaf}'
  plain = text.scrub.unicode_normalize(:nfd).gsub(/[\p{Mn}\p{Cf}\p{Co}\u{fffd}]|(?![\t\n\r])\p{Cc}/, "")
  plain.downcase.scan(Regexp.new("[#{alone}]|[^#{alone}\\p{Z}\\t\\n\\r]+"))
end

# Return all pieces that a word may have; those that continue it begin with ##.
def candidates_of(word)
  return [] if word.length > 100
  word.length.times.flat_map do |start|
    (1..[24, word.length - start].min).map { |size| (start.zero? ? "" : "##") + word[start, size] }
  end
end

# Return the pieces of a word, always the longest that is known, or one that stands for a word without pieces.
def pieces_of(word, known)
  start, found = 0, []
  while start < word.length
    size = [24, word.length - start].min.downto(1).find do |size|
      known.dig((start.zero? ? "" : "##") + word[start, size], "piece")
    end
    return ["[UNK]"] if size.nil? || word.length > 100
    found << (start.zero? ? "" : "##") + word[start, size]
    start += size
  end
  found
end

# Return the vectors of the words of a text; the block sends ids, and returns the reply of the cluster's `_mget`.
# What the cluster knows of each word is put into `known`.
def vectors_of(text, known = {}, &mget)
  words = words_of(text)
  look = lambda do |ids|
    found = ids.empty? ? [] : mget.call(ids.uniq)["docs"] || []
    found.each { |document| known[document["_id"]] = document["_source"] if document["_source"] }
  end
  look.call(words)
  others = words.reject { |word| known.key?(word) }
  look.call(others.empty? ? [] : others.flat_map { |word| candidates_of(word) } + ["[UNK]"])
  parts = words.flat_map { |word| known.key?(word) ? [word] : pieces_of(word, known) }
  parts.filter_map { |part| known.dig(part, "vector") }
end

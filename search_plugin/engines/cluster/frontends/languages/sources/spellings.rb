# The seventeen letters up to rho are followed by a final sigma.
GREEK = ("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon " +
  "phi chi psi omega").split.each_with_index.to_h { |name, at| [name, [0x3b1 + at + (at > 16 ? 1 : 0)].pack("U")] }
NAMED = GREEK.invert.merge("\u00b5" => "mu", "\u03c2" => "sigma", "\u03d5" => "phi")
GLUED = GREEK.keys.select { |name| name.length > 3 }.join("|")

# Return the letters, digits and Greek letters of a word apart, in small letters; Greek ones by name.
def parts_of(word)
  word = word.sub(/\A([A-Z0-9]+|[a-z]{2,}(?=(?:#{GLUED})\d*\z))(#{GLUED})([A-Z]?\d*)\z/, '\1 \2 \3')
  parts = word.scan(/\p{Nd}+|[\u0370-\u03ff\u00b5]|(?:(?![\p{Nd}\u0370-\u03ff\u00b5])[\p{L}\p{N}])+/)
  parts.map { |part| NAMED.fetch(part.downcase, part.downcase) }
end

# Return the other spellings of a word of several parts, such as TNF-alpha, IL6 and non-smokers.
def compounds_of(words)
  parts = words.flat_map { |word| parts_of(word) }
  parts = %w[nf kappa b] if %w[nf nfkb].include?(parts.first) && %w[kb nfkb].include?(parts.last)
  return [] if parts.length < 2
  special = parts.any? { |part| GREEK.key?(part) || part.match?(/\A\p{Nd}+\z/) }
  return [" ", ""].map { |gap| words.join(gap).downcase } if parts.length > 4 || (words.length > 1 && !special)
  parts.reduce([""]) do |found, part|
    forms = [part, GREEK[part], part == "kappa" ? "k" : nil].compact
    found.flat_map { |one| (one.empty? ? [""] : [" ", ""]).product(forms).map { |gap, form| one + gap + form } }
  end
end

# Return whether two words are parts of one: by a hyphen, before a Greek letter, or a number after an acronym.
def continues?(word, after, gap)
  greek = ->(one) { GREEK.key?(one.downcase) || NAMED.key?(one.downcase) }
  return ["-", "\u2010", "\u2011", "\u2012", "\u2013", "\u2212", "/-", "-/"].include?(gap) if gap != " "
  return word.length > 1 if greek.call(after)
  return after.match?(/\A\p{Lu}\z/) if greek.call(word)
  after.match?(/\A\p{Nd}+\z/) && word.match?(/\A\p{L}{1,5}\z/) && (word.match?(/\p{Lu}/) || !word.match?(/\p{Ll}/))
end

# Return the words of a text: first those without other spellings, then each of the others with its spellings.
def spelled_of(text, known)
  text = text.scrub
  tokens, left = [], text.split.length > 40 ? 0 : 200
  text.scan(/[\p{L}\p{N}]+(?:[\u0300-\u036f][\p{L}\p{N}]*)*/) { tokens << $~ }
  runs = tokens.slice_when { |one, after| !continues?(one[0], after[0], text[one.end(0)...after.begin(0)]) }
  plain, spelled = runs.map do |run|
    typed = text[run.first.begin(0)...run.last.end(0)]
    others = compounds_of(run.map { |token| token[0] }) + (known.dig(typed.downcase, "spellings") || [])
    others = (others.uniq - [typed.downcase]).first(left)
    left -= others.length
    [typed, *others]
  end.partition { |one| one.length == 1 }
  spelled.empty? ? [[text]] : [[plain.join(" ")], *spelled]
end

# Return the query for the words of a text in fields; of a word's spellings, the one that matches best counts.
def matching(spelled, fields, boost)
  ask = ->(query, type) { {"multi_match" => {"query" => query, "fields" => fields, "type" => type, "boost" => boost}} }
  best = spelled.map { |typed, *rest| [ask.call(typed, "most_fields"), *rest.map { |one| ask.call(one, "phrase") }] }
  {"bool" => {"should" => best.map { |queries| {"dis_max" => {"queries" => queries}} }}}
end

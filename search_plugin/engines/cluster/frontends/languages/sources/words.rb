# Return the words of a text as the cluster names them: in lower case, without accents, letters and digits alone.
def words_of(text)
  text.scrub.unicode_normalize(:nfd).gsub(/\p{Mn}/, "").downcase.scan(/[\p{L}\p{N}]+/)
end

# A table that makes the vectors of queries, from the file that `ses models table` writes.
class QueryTable
  def initialize(path)
    bytes = File.binread(path)
    start = 8 + bytes.unpack1("Q<")
    header = JSON.parse(bytes[8...start])
    part = ->(name) { bytes[(start + header[name]["data_offsets"][0])...(start + header[name]["data_offsets"][1])] }
    lines = ->(name) { part.call(name).force_encoding(Encoding::UTF_8).split("\n", -1) }
    @codes, @centroids, @weights = part.call("codes"), part.call("centroids").unpack("e*"), part.call("weights").unpack("e*")
    @none, @parts = part.call("none").unpack("e*"), header["codes"]["shape"][1]
    @vocabulary = lines.call("vocabulary").each_with_index.to_h
    @folded = lines.call("folding").to_h { |line| line.split("\t", -1) }
    @ranges = lines.call("ranges").map { |line| line.split("\t", -1) }.map { |first, last, text| [first.to_i..last.to_i, text] }
  end

  # The character as the tokenizer reads it: folded, removed, or with spaces around where it is a word of its own.
  def fold(sign)
    return sign if sign.match?(/\A[a-z0-9 ]\z/)
    _, text = @ranges.find { |range, _| range.cover?(sign.ord) }
    text ? text.gsub("&") { sign } : @folded.fetch(sign, sign)
  end

  # The numbers of the pieces of a text.
  def pieces(text)
    text.scrub.split(/(\[(?:PAD|UNK|CLS|SEP|MASK)\])/).each_with_index.flat_map do |part, at|
      next [@vocabulary[part]] if at.odd?
      part.each_char.map { |sign| fold(sign) }.join.split(" ").flat_map { |word| split(word) }
    end
  end

  # The numbers of the pieces of a word: always the longest that the vocabulary has.
  def split(word)
    found, start = [], 0
    return [@vocabulary["[UNK]"]] if word.length > 100
    while start < word.length
      piece = ->(last) { (start.zero? ? "" : "##") + word[start..last] }
      last = (word.length - 1).downto(start).find { |at| @vocabulary.key?(piece.call(at)) }
      return [@vocabulary["[UNK]"]] unless last
      found << @vocabulary[piece.call(last)]
      start = last + 1
    end
    found
  end

  # The vector of a text, of length 1.
  def vector(text)
    size = @none.length / @parts
    sum = Array.new(@none.length, 0.0)
    pieces(text).each do |id|
      @parts.times do |part|
        code = @codes.getbyte(id * @parts + part)
        size.times { |at| sum[part * size + at] += @weights[id] * @centroids[(part * 256 + code) * size + at] }
      end
    end
    length = Math.sqrt(sum.sum { |value| value * value })
    length.zero? ? @none : sum.map { |value| value / length }
  end
end

# Return the direction of the sum of vectors, a vector of length 1.
def direction_of(vectors)
  sum = vectors.empty? ? [] : vectors.transpose.map(&:sum)
  length = Math.sqrt(sum.sum { |value| value * value })
  raise "Nothing gives these words a vector." if length.zero?
  sum.map { |value| value / length }
end
